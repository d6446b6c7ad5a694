/* SPDX-License-Identifier: Apache-2.0 */
/* A readers-writer lock: to be inside is to read. Readers go first, so nesting is safe. */
#include "base/critical.h"

#include <pthread.h>
#include <time.h>

#include "base/clock.h"

static pthread_rwlock_t sections = PTHREAD_RWLOCK_INITIALIZER;

void lk_critical_enter(void) {
    (void)pthread_rwlock_rdlock(&sections);
}

void lk_critical_leave(void) {
    (void)pthread_rwlock_unlock(&sections);
}

bool lk_critical_close(int64_t patience_us) {
    const struct timespec breath = {.tv_nsec = 1000000};
    int64_t until_us = lk_clock_now_us() + patience_us;

    while (pthread_rwlock_trywrlock(&sections) != 0) {
        if (lk_clock_now_us() >= until_us) {
            return false;
        }
        (void)nanosleep(&breath, NULL);
    }
    return true;
}

void lk_critical_open(void) {
    (void)pthread_rwlock_unlock(&sections);
}
