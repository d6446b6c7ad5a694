/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Until when the store has promised a lease, on lk_clock_now_us(). Read and changed by any thread
 * without waiting. Once it is over it stays over: whoever was told so cannot be told otherwise.
 */
#ifndef LK_KEEPER_PROMISE_H
#define LK_KEEPER_PROMISE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct lk_promise {
    _Atomic int64_t until_us; /* LK_PROMISE_OVER: for good */
};

#define LK_PROMISE_OVER INT64_MIN

static inline void lk_promise_make(struct lk_promise *promise, int64_t until_us) {
    atomic_init(&promise->until_us, until_us);
}

/* The store said that it is over. */
static inline void lk_promise_break(struct lk_promise *promise) {
    atomic_store(&promise->until_us, LK_PROMISE_OVER);
}

/* The instant, or LK_PROMISE_OVER; the instant may have passed. */
static inline int64_t lk_promise_until_us(const struct lk_promise *promise) {
    return atomic_load(&promise->until_us);
}

static inline bool lk_promise_is_over(struct lk_promise *promise) {
    int64_t until_us = atomic_load(&promise->until_us);

    while (until_us != LK_PROMISE_OVER && lk_clock_now_us() >= until_us) {
        if (atomic_compare_exchange_weak(&promise->until_us, &until_us, LK_PROMISE_OVER)) {
            return true;
        }
    }
    return until_us == LK_PROMISE_OVER;
}

/* Returns whether it holds; one that is over is not revived. */
static inline bool lk_promise_extend(struct lk_promise *promise, int64_t until_us) {
    int64_t former_us = atomic_load(&promise->until_us);

    while (former_us != LK_PROMISE_OVER) {
        bool is_over = lk_clock_now_us() >= former_us;

        if (atomic_compare_exchange_weak(&promise->until_us, &former_us,
                                         is_over ? LK_PROMISE_OVER : until_us)) {
            return !is_over;
        }
    }
    return false;
}

#endif
