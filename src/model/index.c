/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash index. Up to two items a bucket on average: half the memory of one, for a small part of
 * a cache miss more.
 */
#include "model/index.h"

#include <string.h>

enum { BUCKETS_MIN = 16, ITEMS_PER_BUCKET_MAX = 2 };

static struct lk_indexed *indexed(const struct lk_index *index, lk_id id) {
    return lk_pool_at(index->pool, id);
}

void lk_index_init(struct lk_index *index, const struct lk_pool *pool) {
    *index = (struct lk_index){.pool = pool};
}

void lk_index_done(struct lk_index *index) {
    const struct lk_allocator *allocator = index->pool->allocator;
    allocator->resize(allocator->context, index->buckets, 0);
    index->buckets = NULL;
}

static void move_all(struct lk_index *index, lk_id *buckets, uint32_t bucket_count) {
    for (uint32_t i = 0; i < index->bucket_count; i++) {
        lk_id id = index->buckets[i];
        while (id != 0) {
            struct lk_indexed *item = indexed(index, id);
            lk_id next = item->chain;
            lk_id *bucket = &buckets[item->hash & (bucket_count - 1)];
            item->chain = *bucket;
            *bucket = id;
            id = next;
        }
    }
}

bool lk_index_reserve(struct lk_index *index, uint32_t count) {
    const struct lk_allocator *allocator = index->pool->allocator;
    uint32_t wanted = index->bucket_count < BUCKETS_MIN ? BUCKETS_MIN : index->bucket_count;
    lk_id *buckets;

    while (wanted * ITEMS_PER_BUCKET_MAX < index->count + count) {
        wanted *= 2;
    }
    if (wanted == index->bucket_count) {
        return true;
    }
    buckets = allocator->resize(allocator->context, NULL, wanted * sizeof *buckets);
    if (buckets == NULL) {
        return false;
    }
    memset(buckets, 0, wanted * sizeof *buckets);
    move_all(index, buckets, wanted);
    allocator->resize(allocator->context, index->buckets, 0);
    index->buckets = buckets;
    index->bucket_count = wanted;
    return true;
}

void lk_index_add(struct lk_index *index, lk_id id, uint32_t hash) {
    struct lk_indexed *item = indexed(index, id);
    lk_id *bucket = &index->buckets[hash & (index->bucket_count - 1)];

    assert(index->count < index->bucket_count * ITEMS_PER_BUCKET_MAX);
    item->hash = hash;
    item->chain = *bucket;
    *bucket = id;
    index->count++;
}

void lk_index_remove(struct lk_index *index, lk_id id) {
    struct lk_indexed *item = indexed(index, id);
    lk_id *link = &index->buckets[item->hash & (index->bucket_count - 1)];

    while (*link != id) {
        assert(*link != 0);
        link = &indexed(index, *link)->chain;
    }
    *link = item->chain;
    item->chain = 0;
    index->count--;
}

uint64_t lk_index_bytes(const struct lk_index *index) {
    return (uint64_t)index->bucket_count * sizeof *index->buckets;
}
