/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash index of items by their 32-bit ids: open addressing with linear probing.
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
#ifndef LK_MODEL_INDEX_H
#define LK_MODEL_INDEX_H

#include "model/pool.h"

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
