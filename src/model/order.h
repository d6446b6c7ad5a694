/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items of a pool in an order: live requests by ticket; items of a queue by age, by rank or by when
 * they are ready; queues of a root, and roots, by the first of those; groups of items by the first
 * of each; queues, values, and those in doubt, by path.
 *
 * A treap (Seidel and Aragon, 1996): a search tree by key and a heap by a random priority, which
 * keeps it balanced without bookkeeping. The priority is a keyed hash of the id, and the links are
 * in the items, so that no operation allocates or fails.
 *
 * What is added behind all others, as new requests and items mostly are, begins at the last item
 * and goes up; what is removed begins at its own place. Both read a few items only, however many
 * there are. Adding elsewhere takes O(log n), and so does finding where a walk begins.
 */
#ifndef LK_MODEL_ORDER_H
#define LK_MODEL_ORDER_H

#include "model/state.h"

/* Which trees: over which pool, through which links, by which key. */
enum lk_order {
    LK_ORDER_REQUESTS, /* live requests, by ticket and then by id (R4) */
    LK_ORDER_AGE,      /* the items of a queue by sequence */
    LK_ORDER_RANK,     /* those of one state: by rank, and then by age */
    LK_ORDER_QUEUES,   /* by path, byte by byte */
    LK_ORDER_VALUES,   /* by path as well */
    LK_ORDER_DOUBTS,   /* values in doubt, the same */
    LK_ORDER_READY,    /* the items of a queue by when they are ready, and then by age */
    LK_ORDER_WAITS,    /* queues of a root, by when the first of their items is ready */
    LK_ORDER_ROOTS,    /* root nodes, the same */
    LK_ORDER_DONE,     /* items that are done, by when they are forgotten, age and path */
    LK_ORDER_GROUPS,   /* groups of a queue, as their first ready items are by rank */
};

/* What a tree is sorted by: the first number, the second, the bytes. Zeroed it precedes all. */
struct lk_order_key {
    uint64_t first;
    uint64_t second;
    struct lk_slice bytes;
};

/* The key of an item of this rank, or time, and age. */
static inline struct lk_order_key lk_order_key_of_rank(int64_t rank, uint64_t sequence) {
    return (struct lk_order_key){.first = (uint64_t)rank ^ UINT64_C(1) << 63, .second = sequence};
}

/*
 * Adds an item to the tree; removes it. Its key must not change in between. Both return how many
 * items of the tree they went through.
 */
uint32_t lk_order_add(struct lk_model *model, enum lk_order order, struct lk_order_tree *tree,
                      lk_id id);
uint32_t lk_order_remove(struct lk_model *model, enum lk_order order, struct lk_order_tree *tree,
                         lk_id id);

/* The first item, 0 for an empty tree; and the one behind `id`, which need not be there. */
lk_id lk_order_first(const struct lk_model *model, enum lk_order order,
                     const struct lk_order_tree *tree);
lk_id lk_order_after(const struct lk_model *model, enum lk_order order,
                     const struct lk_order_tree *tree, lk_id id);

/* Called for one item; returning false ends the walk. */
typedef bool lk_order_visit(void *context, lk_id id);

/*
 * The items behind a key, in their order. Adds to *steps the items read, those on the way
 * included. Returns whether the walk came to its end.
 */
bool lk_order_walk(const struct lk_model *model, enum lk_order order,
                   const struct lk_order_tree *tree, struct lk_order_key behind,
                   lk_order_visit *visit, void *context, uint64_t *steps);

/*
 * The items of a tree by path that are at or below `prefix` (NULL: all) and behind the path
 * `behind`, in their order. `exact` is the one at the prefix itself, 0 if there is none. What is
 * elsewhere is not read.
 */
void lk_order_walk_below(const struct lk_model *model, enum lk_order order,
                         const struct lk_order_tree *tree, const struct lk_path *prefix,
                         lk_id exact, struct lk_slice behind, lk_order_visit *visit, void *context);

/* For lk_model_check(): how many items there are; UINT32_MAX if the tree is not in order. */
uint32_t lk_order_check(const struct lk_model *model, enum lk_order order,
                        const struct lk_order_tree *tree);

#endif
