/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools: doubling chunks, and a free list threaded through the first bytes of free items. Short
 * strings.
 */
#include "model/pool.h"

#include <string.h>

static uint32_t chunk_items(uint32_t chunk) {
    return 1u << (chunk + LK_POOL_FIRST_LOG2);
}

void lk_pool_init(struct lk_pool *pool, const struct lk_allocator *allocator, size_t item_size) {
    assert(item_size >= sizeof(lk_id));
    memset(pool, 0, sizeof *pool);
    pool->allocator = allocator;
    pool->item_size = item_size;
    pool->next_fresh = 1;
}

void lk_pool_done(struct lk_pool *pool) {
    for (uint32_t i = 0; i < pool->chunk_count; i++) {
        pool->allocator->resize(pool->allocator->context, pool->chunks[i], 0);
    }
    pool->chunk_count = 0;
}

bool lk_pool_reserve(struct lk_pool *pool, uint32_t count) {
    while (pool->free_count + (pool->capacity - (pool->next_fresh - 1)) < count) {
        uint32_t items = chunk_items(pool->chunk_count);
        unsigned char *chunk;
        if (pool->chunk_count == LK_POOL_CHUNKS_MAX) {
            return false;
        }
        chunk = pool->allocator->resize(pool->allocator->context, NULL, items * pool->item_size);
        if (chunk == NULL) {
            return false;
        }
        pool->chunks[pool->chunk_count++] = chunk;
        pool->capacity += items;
    }
    return true;
}

lk_id lk_pool_take(struct lk_pool *pool) {
    lk_id id = pool->free_head;
    void *item;

    if (id != 0) {
        item = lk_pool_at(pool, id);
        memcpy(&pool->free_head, item, sizeof pool->free_head);
        pool->free_count--;
    } else {
        assert(pool->next_fresh <= pool->capacity);
        id = pool->next_fresh++;
        item = lk_pool_at(pool, id);
    }
    memset(item, 0, pool->item_size);
    return id;
}

void lk_pool_give(struct lk_pool *pool, lk_id id) {
    memcpy(lk_pool_at(pool, id), &pool->free_head, sizeof pool->free_head);
    pool->free_head = id;
    pool->free_count++;
}

uint64_t lk_pool_bytes(const struct lk_pool *pool) {
    return (uint64_t)(pool->next_fresh - 1) * pool->item_size;
}

/* ---- names ---- */

_Static_assert(LK_NAME_POINTER_AT + sizeof(char *) <= LK_NAME_INLINE_MAX, "the pointer fits");

bool lk_name_set(struct lk_name *name, const struct lk_allocator *allocator, struct lk_slice text) {
    char *far_bytes;

    assert(text.size <= UINT8_MAX);
    if (text.size <= LK_NAME_INLINE_MAX) {
        if (text.size > 0) {
            memcpy(name->bytes, text.bytes, text.size);
        }
        name->size = (uint8_t)text.size;
        return true;
    }
    far_bytes = allocator->resize(allocator->context, NULL, text.size);
    if (far_bytes == NULL) {
        return false;
    }
    memcpy(far_bytes, text.bytes, text.size);
    memcpy(name->bytes + LK_NAME_POINTER_AT, &far_bytes, sizeof far_bytes);
    name->size = (uint8_t)text.size;
    return true;
}

void lk_name_done(struct lk_name *name, const struct lk_allocator *allocator) {
    if (name->size > LK_NAME_INLINE_MAX) {
        char *far_bytes;
        memcpy(&far_bytes, name->bytes + LK_NAME_POINTER_AT, sizeof far_bytes);
        allocator->resize(allocator->context, far_bytes, 0);
    }
    name->size = 0;
}
