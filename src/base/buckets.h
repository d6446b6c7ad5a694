/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long things took, counted in a few buckets whose bounds are fixed: what a monitoring system
 * adds up over time. Adding takes constant time, and the size does not grow.
 */
#ifndef LK_BASE_BUCKETS_H
#define LK_BASE_BUCKETS_H

#include <stddef.h>
#include <stdint.h>

enum { LK_BUCKETS_MAX = 16 };

struct lk_buckets {
    const int64_t *bounds_us;            /* rising; static */
    size_t count;                        /* of the bounds */
    uint64_t counts[LK_BUCKETS_MAX + 1]; /* at or below this bound and above the one before; the
                                         * last one: above all bounds */
    uint64_t sum_us;
};

/* A time below 0, as a clock that is read twice may give, counts as 0. */
static inline void lk_buckets_add(struct lk_buckets *buckets, int64_t took_us, uint64_t times) {
    size_t at = 0;

    took_us = took_us > 0 ? took_us : 0;
    while (at < buckets->count && took_us > buckets->bounds_us[at]) {
        at++;
    }
    buckets->counts[at] += times;
    buckets->sum_us += (uint64_t)took_us * times;
}

#endif
