/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash index. At most three quarters full; removal moves later items of the run back (Knuth,
 * The Art of Computer Programming, volume 3, section 6.4, algorithm R), so that there are no
 * tombstones and a run ends where it ends.
 */
#include "model/index.h"

#include <string.h>

enum { SLOTS_MIN = 16 };

void lk_index_init(struct lk_index *index, const struct lk_allocator *allocator) {
    *index = (struct lk_index){.allocator = allocator};
}

void lk_index_done(struct lk_index *index) {
    index->allocator->resize(index->allocator->context, index->slots, 0);
    index->slots = NULL;
    index->slot_count = 0;
}

static void put(struct lk_slot *slots, uint32_t slot_count, struct lk_slot item) {
    uint32_t at = item.hash & (slot_count - 1);

    while (slots[at].id != 0) {
        at = (at + 1) & (slot_count - 1);
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
        wanted *= 2;
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

/* Whether an item that belongs at `home` and stands at `at` may move back into the hole. */
static bool may_fill(uint32_t hole, uint32_t home, uint32_t at, uint32_t mask) {
    return ((at - home) & mask) >= ((at - hole) & mask);
}

void lk_index_remove(struct lk_index *index, lk_id id, uint32_t hash) {
    uint32_t mask = index->slot_count - 1;
    uint32_t hole = hash & mask;

    while (index->slots[hole].id != id) {
        assert(index->slots[hole].id != 0);
        hole = (hole + 1) & mask;
    }
    for (uint32_t at = (hole + 1) & mask; index->slots[at].id != 0; at = (at + 1) & mask) {
        if (may_fill(hole, index->slots[at].hash & mask, at, mask)) {
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
