/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of items of one size, named by 32-bit ids that are half as large as pointers.
 *
 * Chunks double in size and never move, so a pointer to an item stays valid until the item is
 * given back. Taking cannot fail after a reservation: reserve first, then change state.
 *
 * And the short strings that items have in place, and hash indexes of items.
 */
#ifndef LK_MODEL_POOL_H
#define LK_MODEL_POOL_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/allocator.h"
#include "base/slice.h"

typedef uint32_t lk_id; /* 0: none */

enum { LK_POOL_FIRST_LOG2 = 4, LK_POOL_CHUNKS_MAX = 27 };

struct lk_pool {
    const struct lk_allocator *allocator;
    size_t item_size; /* at least 4 */
    uint32_t chunk_count;
    uint32_t capacity;
    uint32_t next_fresh; /* the id after the greatest ever taken */
    lk_id free_head;
    uint32_t free_count;
    unsigned char *chunks[LK_POOL_CHUNKS_MAX];
};

void lk_pool_init(struct lk_pool *pool, const struct lk_allocator *allocator, size_t item_size);
void lk_pool_done(struct lk_pool *pool);

/* Makes sure that `count` items can be taken. false: memory is exhausted, nothing has changed. */
bool lk_pool_reserve(struct lk_pool *pool, uint32_t count);

/* A zeroed item. Asserts that it was reserved. */
lk_id lk_pool_take(struct lk_pool *pool);
void lk_pool_give(struct lk_pool *pool, lk_id id);

/* Bytes of the items that are or have been taken; unused room of a chunk costs no memory. */
uint64_t lk_pool_bytes(const struct lk_pool *pool);

static inline void *lk_pool_at(const struct lk_pool *pool, lk_id id) {
    uint32_t position = id - 1 + (1u << LK_POOL_FIRST_LOG2);
    unsigned chunk = 31u - (unsigned)__builtin_clz(position) - LK_POOL_FIRST_LOG2;

    assert(id != 0 && id < pool->next_fresh);
    position -= 1u << (chunk + LK_POOL_FIRST_LOG2);
    return pool->chunks[chunk] + (size_t)position * pool->item_size;
}

/* ---- names ---- */

/* A short string of up to 255 bytes: up to 11 in place, a longer one behind a pointer. */
enum { LK_NAME_INLINE_MAX = 11, LK_NAME_POINTER_AT = 3 };

struct lk_name {
    uint8_t size;
    char bytes[LK_NAME_INLINE_MAX]; /* or, from LK_NAME_POINTER_AT, the pointer */
};

/* Copies `text` (at most 255 bytes). false: memory is exhausted. */
bool lk_name_set(struct lk_name *name, const struct lk_allocator *allocator, struct lk_slice text);
void lk_name_done(struct lk_name *name, const struct lk_allocator *allocator);

static inline struct lk_slice lk_name_text(const struct lk_name *name) {
    const char *far_bytes;

    if (name->size <= LK_NAME_INLINE_MAX) {
        return (struct lk_slice){.bytes = name->bytes, .size = name->size};
    }
    memcpy(&far_bytes, name->bytes + LK_NAME_POINTER_AT, sizeof far_bytes);
    return (struct lk_slice){.bytes = far_bytes, .size = name->size};
}

/* ---- indexes --------------------------------------------------------------------------------- */

/*
 * Of items by their 32-bit ids: open addressing with linear probing.
 *
 * A slot keeps the hash beside the id, so that a look-up reads one line of slots and then only the
 * item it is after. The caller compares, so that no function is called through a pointer:
 *
 *     uint32_t at = lk_index_start(index, hash);
 *     while ((id = lk_index_next(index, hash, &at)) != 0 && !is_the_one(id)) {
 *     }
 *
 * A hash belongs at its fraction of the slots, so that their number may be any: a large index grows
 * by a tenth, in one pass over both arrays from front to back.
 */

struct lk_slot {
    uint32_t hash;
    lk_id id; /* 0: free */
};

struct lk_index {
    const struct lk_allocator *allocator;
    struct lk_slot *slots;
    uint32_t slot_count;
    uint32_t count;
};

void lk_index_init(struct lk_index *index, const struct lk_allocator *allocator);
void lk_index_done(struct lk_index *index);

/* Makes room for `count` more items. false: memory is exhausted, nothing has changed. */
bool lk_index_reserve(struct lk_index *index, uint32_t count);
void lk_index_add(struct lk_index *index, lk_id id, uint32_t hash);

/* Removes an item that was added with this hash. */
void lk_index_remove(struct lk_index *index, lk_id id, uint32_t hash);
uint64_t lk_index_bytes(const struct lk_index *index);

/* The slot at which a search for a hash begins. */
static inline uint32_t lk_index_start(const struct lk_index *index, uint32_t hash) {
    return (uint32_t)((uint64_t)hash * index->slot_count >> 32);
}

/* The next item with this hash, from *at on; moves *at past it. 0: there is none. */
static inline lk_id lk_index_next(const struct lk_index *index, uint32_t hash, uint32_t *at) {
    if (index->slot_count == 0) {
        return 0;
    }
    for (;;) {
        const struct lk_slot *slot = &index->slots[*at];
        if (slot->id == 0) {
            return 0;
        }
        *at = *at + 1 == index->slot_count ? 0 : *at + 1;
        if (slot->hash == hash) {
            return slot->id;
        }
    }
}

#endif
