/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools: doubling chunks, and a free list threaded through the first bytes of free items. Short
 * strings. Hash indexes.
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

/* ---- indexes --------------------------------------------------------------------------------- */

/*
 * The hash index. At most three quarters full; removal moves later items of the run back (Knuth,
 * The Art of Computer Programming, volume 3, section 6.4, algorithm R), so that there are no
 * tombstones and a run ends where it ends.
 */

enum { SLOTS_MIN = 16, DOUBLED_BELOW = 1024 };

void lk_index_init(struct lk_index *index, const struct lk_allocator *allocator) {
    *index = (struct lk_index){.allocator = allocator};
}

void lk_index_done(struct lk_index *index) {
    index->allocator->resize(index->allocator->context, index->slots, 0);
    index->slots = NULL;
    index->slot_count = 0;
}

static uint32_t home_of(uint32_t slot_count, uint32_t hash) {
    return (uint32_t)((uint64_t)hash * slot_count >> 32);
}

static uint32_t next_slot(uint32_t slot_count, uint32_t at) {
    return at + 1 == slot_count ? 0 : at + 1;
}

static void put(struct lk_slot *slots, uint32_t slot_count, struct lk_slot item) {
    uint32_t at = home_of(slot_count, item.hash);

    while (slots[at].id != 0) {
        at = next_slot(slot_count, at);
    }
    slots[at] = item;
}

static bool has_room(uint32_t slot_count, uint64_t count) {
    return count <= slot_count / 4 * (uint64_t)3;
}

bool lk_index_reserve(struct lk_index *index, uint32_t count) {
    uint32_t wanted = index->slot_count < SLOTS_MIN ? SLOTS_MIN : index->slot_count;
    struct lk_slot *slots;

    while (!has_room(wanted, (uint64_t)index->count + count)) {
        if (wanted > UINT32_MAX / 2) {
            return false;
        }
        wanted += wanted < DOUBLED_BELOW ? wanted : wanted / 10;
    }
    if (wanted == index->slot_count) {
        return true;
    }
    slots = index->allocator->resize(index->allocator->context, NULL, wanted * sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    memset(slots, 0, wanted * sizeof *slots);
    for (uint32_t i = 0; i < index->slot_count; i++) {
        if (index->slots[i].id != 0) {
            put(slots, wanted, index->slots[i]);
        }
    }
    index->allocator->resize(index->allocator->context, index->slots, 0);
    index->slots = slots;
    index->slot_count = wanted;
    return true;
}

void lk_index_add(struct lk_index *index, lk_id id, uint32_t hash) {
    assert(has_room(index->slot_count, (uint64_t)index->count + 1));
    put(index->slots, index->slot_count, (struct lk_slot){hash, id});
    index->count++;
}

/* How many slots `at` is behind `from`, the last slot being followed by the first. */
static uint32_t distance(uint32_t slot_count, uint32_t from, uint32_t at) {
    return at >= from ? at - from : at + (slot_count - from);
}

/* Whether an item that belongs at `home` and is at `at` may move back into the hole. */
static bool may_fill(uint32_t slot_count, uint32_t hole, uint32_t home, uint32_t at) {
    return distance(slot_count, home, at) >= distance(slot_count, hole, at);
}

void lk_index_remove(struct lk_index *index, lk_id id, uint32_t hash) {
    uint32_t slot_count = index->slot_count;
    uint32_t hole = home_of(slot_count, hash);
    uint32_t at;

    while (index->slots[hole].id != id) {
        assert(index->slots[hole].id != 0);
        hole = next_slot(slot_count, hole);
    }
    for (at = next_slot(slot_count, hole); index->slots[at].id != 0;
         at = next_slot(slot_count, at)) {
        if (may_fill(slot_count, hole, home_of(slot_count, index->slots[at].hash), at)) {
            index->slots[hole] = index->slots[at];
            hole = at;
        }
    }
    index->slots[hole].id = 0;
    index->count--;
}

uint64_t lk_index_bytes(const struct lk_index *index) {
    return (uint64_t)index->slot_count * sizeof *index->slots;
}
