/* SPDX-License-Identifier: Apache-2.0 */
/* How long things took: counted in narrow buckets, so that any number of them takes one size. */
#ifndef LK_CLI_BENCH_HISTOGRAM_H
#define LK_CLI_BENCH_HISTOGRAM_H

#include <stdint.h>

enum {
    LK_HISTOGRAM_STEPS = 32, /* buckets for each doubling */
    LK_HISTOGRAM_DOUBLINGS = 36,
    LK_HISTOGRAM_BUCKETS = LK_HISTOGRAM_STEPS * LK_HISTOGRAM_DOUBLINGS,
};

/* Zeroed it is empty. */
struct lk_histogram {
    uint64_t counts[LK_HISTOGRAM_BUCKETS];
    uint64_t count;
    int64_t max;
};

void lk_histogram_add(struct lk_histogram *histogram, int64_t value);
void lk_histogram_merge(struct lk_histogram *histogram, const struct lk_histogram *other);

/* What `share` (0 to 1) of all are at or below, up to a bucket's width above; 0: there is none. */
int64_t lk_histogram_at(const struct lk_histogram *histogram, double share);

#endif
