/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash index. At most three quarters full; removal moves later items of the run back (Knuth,
 * The Art of Computer Programming, volume 3, section 6.4, algorithm R), so that there are no
 * tombstones and a run ends where it ends.
 */
#include "model/index.h"

#include <string.h>

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
