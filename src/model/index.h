/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash index over the items of a pool: buckets of 32-bit ids, chained through the items.
 *
 * Every indexed item begins with a struct lk_indexed. The caller walks a bucket itself and
 * compares, so that no comparison function is called through a pointer.
 */
#ifndef LK_MODEL_INDEX_H
#define LK_MODEL_INDEX_H

#include "model/pool.h"

struct lk_indexed {
    lk_id chain; /* the next item of the bucket */
    uint32_t hash;
};

struct lk_index {
    const struct lk_pool *pool;
    lk_id *buckets;
    uint32_t bucket_count; /* 0, or a power of two */
    uint32_t count;
};

void lk_index_init(struct lk_index *index, const struct lk_pool *pool);
void lk_index_done(struct lk_index *index);

/* Makes room for `count` more items. false: memory is exhausted, nothing has changed. */
bool lk_index_reserve(struct lk_index *index, uint32_t count);
void lk_index_add(struct lk_index *index, lk_id id, uint32_t hash);
void lk_index_remove(struct lk_index *index, lk_id id);
uint64_t lk_index_bytes(const struct lk_index *index);

/* The first item of the bucket of `hash`; go on with its `chain`. */
static inline lk_id lk_index_first(const struct lk_index *index, uint32_t hash) {
    return index->bucket_count == 0 ? 0 : index->buckets[hash & (index->bucket_count - 1)];
}

#endif
