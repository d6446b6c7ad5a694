/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on the monotonic clock. */
#include "base/condition.h"

#include <time.h>

#define DURATION_US_MAX (INT64_C(24) * 60 * 60 * 1000000)

bool lk_condition_init(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    bool made;

    if (pthread_condattr_init(&attributes) != 0) {
        return false;
    }
    made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0
           && pthread_cond_init(condition, &attributes) == 0;
    (void)pthread_condattr_destroy(&attributes);
    return made;
}

struct timespec lk_condition_instant(int64_t duration_us) {
    struct timespec instant = {0, 0};

    if (duration_us < 0) {
        duration_us = 0;
    } else if (duration_us > DURATION_US_MAX) {
        duration_us = DURATION_US_MAX;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &instant);
    instant.tv_sec += (time_t)(duration_us / 1000000);
    instant.tv_nsec += (long)(duration_us % 1000000) * 1000;
    if (instant.tv_nsec >= 1000000000) {
        instant.tv_sec++;
        instant.tv_nsec -= 1000000000;
    }
    return instant;
}
