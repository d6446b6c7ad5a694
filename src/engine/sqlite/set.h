/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of byte strings in the order of insertion: what a load has seen, and at the same time its
 * list of what is still to be loaded.
 */
#ifndef LK_ENGINE_SQLITE_SET_H
#define LK_ENGINE_SQLITE_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

struct lk_set_item {
    uint32_t offset;
    uint32_t size;
};

/* All zero is the empty set. End with lk_set_done(). */
struct lk_set {
    char *bytes;
    struct lk_set_item *items; /* in the order of insertion */
    uint32_t *slots;           /* open addressing: index of an item + 1; 0: free */
    size_t byte_count;
    size_t byte_capacity;
    size_t item_count;
    size_t slot_count; /* a power of two, at least twice item_count; room for items is half */
};

void lk_set_done(struct lk_set *set);

/* Adds a copy. Returns false when memory is exhausted. *ret_is_new: it was not there yet. */
bool lk_set_add(struct lk_set *set, struct lk_slice key, bool *ret_is_new);

bool lk_set_has(const struct lk_set *set, struct lk_slice key);

/* Item `index`, borrowed until the next lk_set_add(). */
struct lk_slice lk_set_at(const struct lk_set *set, size_t index);

#endif
