/* SPDX-License-Identifier: Apache-2.0 */
/* A set of byte strings in the order in which they came. */
#include "engine/sqlite/set.h"

#include <stdlib.h>

#include "base/hash.h"

enum { SLOTS_FIRST = 32, BYTES_FIRST = 256 };

void lk_set_done(struct lk_set *set) {
    free(set->bytes);
    free(set->items);
    free(set->slots);
    *set = (struct lk_set){.item_count = 0};
}

struct lk_slice lk_set_at(const struct lk_set *set, size_t index) {
    return (struct lk_slice){set->bytes + set->items[index].offset, set->items[index].size};
}

/* The slot where the key is, or where it belongs. slot_count is not 0. */
static size_t slot_of(const struct lk_set *set, struct lk_slice key) {
    size_t slot = (size_t)lk_hash_bytes(0, key) & (set->slot_count - 1);

    while (set->slots[slot] != 0 && !lk_slice_equal(lk_set_at(set, set->slots[slot] - 1), key)) {
        slot = (slot + 1) & (set->slot_count - 1);
    }
    return slot;
}

bool lk_set_has(const struct lk_set *set, struct lk_slice key) {
    return set->slot_count > 0 && set->slots[slot_of(set, key)] != 0;
}

static bool grow_slots(struct lk_set *set) {
    size_t count = set->slot_count == 0 ? SLOTS_FIRST : set->slot_count * 2;
    uint32_t *slots = calloc(count, sizeof *slots);
    struct lk_set_item *items = realloc(set->items, count / 2 * sizeof *items);

    if (items != NULL) {
        set->items = items;
    }
    if (slots == NULL || items == NULL) {
        free(slots);
        return false;
    }
    free(set->slots);
    set->slots = slots;
    set->slot_count = count;
    for (size_t i = 0; i < set->item_count; i++) {
        set->slots[slot_of(set, lk_set_at(set, i))] = (uint32_t)i + 1;
    }
    return true;
}

static bool grow_bytes(struct lk_set *set, size_t size) {
    size_t capacity = set->byte_capacity == 0 ? BYTES_FIRST : set->byte_capacity;
    char *bytes;

    while (capacity < set->byte_count + size) {
        capacity *= 2;
    }
    if (capacity > UINT32_MAX) {
        return false;
    }
    bytes = realloc(set->bytes, capacity);
    if (bytes == NULL) {
        return false;
    }
    set->bytes = bytes;
    set->byte_capacity = capacity;
    return true;
}

bool lk_set_add(struct lk_set *set, struct lk_slice key, bool *ret_is_new) {
    size_t slot;

    if (lk_set_has(set, key)) {
        *ret_is_new = false;
        return true;
    }
    if (set->item_count >= set->slot_count / 2 && !grow_slots(set)) {
        return false;
    }
    if (set->byte_count + key.size > set->byte_capacity && !grow_bytes(set, key.size)) {
        return false;
    }
    slot = slot_of(set, key);
    if (key.size > 0) {
        memcpy(set->bytes + set->byte_count, key.bytes, key.size);
    }
    set->items[set->item_count] =
        (struct lk_set_item){(uint32_t)set->byte_count, (uint32_t)key.size};
    set->byte_count += key.size;
    set->item_count++;
    set->slots[slot] = (uint32_t)set->item_count;
    *ret_is_new = true;
    return true;
}
