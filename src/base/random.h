/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers for jitter and for names that must differ. No secret is made from them. */
#ifndef LK_BASE_RANDOM_H
#define LK_BASE_RANDOM_H

#include <stdint.h>

/* 64 bits from the kernel: unlike any other process's, also after fork(). */
uint64_t lk_random_draw(void);

/* A small generator (splitmix64). Any state is a good one; tests set it, others draw it. */
struct lk_random {
    uint64_t state;
};

uint64_t lk_random_next(struct lk_random *random);

/* Evenly from low to high, both included; low <= high. */
int64_t lk_random_between(struct lk_random *random, int64_t low, int64_t high);

/* ---- the delay before a try is repeated ------------------------------------------------------ */

/*
 * The delay after `retries` retries (0 before the first), in the unit of `first` and `max`, which
 * are positive. It doubles from `first` with each retry up to `max`, and is cut at random by up to
 * a half, so that callers that failed together do not come back together. Does not sleep.
 */
int64_t lk_backoff_delay(int64_t first, int64_t max, uint32_t retries);

#endif
