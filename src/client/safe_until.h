/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instant until which a holder may rely on its lease, on lk_clock_now_us(). Any thread may read
 * and change it, without blocking. Once it is over it stays over, for every reader.
 */
#ifndef LK_CLIENT_SAFE_UNTIL_H
#define LK_CLIENT_SAFE_UNTIL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/*
 * Two clocks that both count time since boot run at rates that differ by less than this: 500 ppm is
 * as fast as time services slew a clock, and several times what a quartz is off by itself.
 */
enum { LK_CLOCK_DRIFT_PPM = 500 };

/*
 * When a holder stops relying on a lease that its store ends `span_ms` after the call that was sent
 * at `sent_us`. Earlier by what the clocks may have drifted apart by then: the margin grows with
 * the time since the store answered (R11).
 */
static inline int64_t lk_safe_until_end_us(int64_t sent_us, int64_t span_ms) {
    return sent_us + span_ms * 1000 - span_ms * LK_CLOCK_DRIFT_PPM / 1000;
}

struct lk_safe_until {
    _Atomic int64_t until_us; /* LK_SAFE_UNTIL_OVER: for good */
};

#define LK_SAFE_UNTIL_OVER INT64_MIN

static inline void lk_safe_until_make(struct lk_safe_until *safe_until, int64_t until_us) {
    atomic_init(&safe_until->until_us, until_us);
}

/* The store has answered that the lease is lost. */
static inline void lk_safe_until_break(struct lk_safe_until *safe_until) {
    atomic_store(&safe_until->until_us, LK_SAFE_UNTIL_OVER);
}

/* The instant, or LK_SAFE_UNTIL_OVER; the instant may have passed. */
static inline int64_t lk_safe_until_until_us(const struct lk_safe_until *safe_until) {
    return atomic_load(&safe_until->until_us);
}

static inline bool lk_safe_until_is_over(struct lk_safe_until *safe_until) {
    int64_t until_us = atomic_load(&safe_until->until_us);

    while (until_us != LK_SAFE_UNTIL_OVER && lk_clock_now_us() >= until_us) {
        if (atomic_compare_exchange_weak(&safe_until->until_us, &until_us, LK_SAFE_UNTIL_OVER)) {
            return true;
        }
    }
    return until_us == LK_SAFE_UNTIL_OVER;
}

/* Returns whether it is extended; one that is over is not revived. */
static inline bool lk_safe_until_extend(struct lk_safe_until *safe_until, int64_t until_us) {
    int64_t former_us = atomic_load(&safe_until->until_us);

    while (former_us != LK_SAFE_UNTIL_OVER) {
        bool is_over = lk_clock_now_us() >= former_us;

        if (atomic_compare_exchange_weak(&safe_until->until_us, &former_us,
                                         is_over ? LK_SAFE_UNTIL_OVER : until_us)) {
            return !is_over;
        }
    }
    return false;
}

#endif
