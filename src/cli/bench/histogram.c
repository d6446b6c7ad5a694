/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets of equal relative width. Values below LK_HISTOGRAM_STEPS have a bucket each. */
#include "cli/bench/histogram.h"

static unsigned bucket_of(int64_t value) {
    uint64_t bits = value > 0 ? (uint64_t)value : 0;
    unsigned shift = 0;
    unsigned bucket;

    while (bits >> shift >= 2 * LK_HISTOGRAM_STEPS) {
        shift++;
    }
    /* From here on bits >> shift is below two times the steps, and from the first shift on it is
     * at least once the steps. */
    bucket = shift * LK_HISTOGRAM_STEPS + (unsigned)(bits >> shift);
    return bucket < LK_HISTOGRAM_BUCKETS ? bucket : LK_HISTOGRAM_BUCKETS - 1;
}

/* The greatest value that falls into it. */
static int64_t top_of(unsigned bucket) {
    unsigned shift = bucket < 2 * LK_HISTOGRAM_STEPS ? 0 : bucket / LK_HISTOGRAM_STEPS - 1;
    uint64_t first = bucket - shift * LK_HISTOGRAM_STEPS;

    return (int64_t)(((first + 1) << shift) - 1);
}

void lk_histogram_add(struct lk_histogram *histogram, int64_t value) {
    histogram->counts[bucket_of(value)]++;
    histogram->count++;
    if (value > histogram->max) {
        histogram->max = value;
    }
}

void lk_histogram_merge(struct lk_histogram *histogram, const struct lk_histogram *other) {
    for (unsigned i = 0; i < LK_HISTOGRAM_BUCKETS; i++) {
        histogram->counts[i] += other->counts[i];
    }
    histogram->count += other->count;
    if (other->max > histogram->max) {
        histogram->max = other->max;
    }
}

int64_t lk_histogram_at(const struct lk_histogram *histogram, double share) {
    uint64_t wanted = (uint64_t)(share * (double)histogram->count);
    uint64_t seen = 0;

    for (unsigned i = 0; i < LK_HISTOGRAM_BUCKETS; i++) {
        seen += histogram->counts[i];
        if (seen > wanted) {
            int64_t top = top_of(i);
            return top < histogram->max ? top : histogram->max;
        }
    }
    return histogram->max;
}
