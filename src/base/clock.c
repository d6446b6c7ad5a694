/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's clocks. */
#include "base/clock.h"

#include <stddef.h>
#include <time.h>

static int64_t read_us(clockid_t clock) {
    struct timespec reading = {0, 0};

    /* Cannot fail: both clocks exist on every Linux this is built for. */
    (void)clock_gettime(clock, &reading);
    return (int64_t)reading.tv_sec * 1000000 + reading.tv_nsec / 1000;
}

int64_t lk_clock_now_us(void) {
    return read_us(CLOCK_BOOTTIME);
}

int64_t lk_clock_wall_us(void) {
    return read_us(CLOCK_REALTIME);
}

static int64_t system_now_us(void *context) {
    (void)context;
    return lk_clock_now_us();
}

static int64_t system_wall_us(void *context) {
    (void)context;
    return lk_clock_wall_us();
}

const struct lk_time_source lk_time_source_system = {
    .now_us = system_now_us,
    .wall_us = system_wall_us,
    .context = NULL,
};
