/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items in order: the ready ones of a queue by age, the delayed ones by when they are due.
 *
 * A treap (Seidel and Aragon, 1996): a search tree by key and a heap by a random priority, which
 * keeps it balanced without bookkeeping. The links are in the items; nothing is allocated.
 */
#ifndef LK_MODEL_ORDER_H
#define LK_MODEL_ORDER_H

#include "model/state.h"

/* Puts an item into the tree at *root, by its key; and takes it out. */
void lk_order_add(struct lk_model *model, lk_id *root, lk_id item);
void lk_order_remove(struct lk_model *model, lk_id *root, lk_id item);

/* The first item, 0 for an empty tree; and the one behind `item`, which need not be there. */
lk_id lk_order_first(const struct lk_model *model, lk_id root);
lk_id lk_order_after(const struct lk_model *model, lk_id root, lk_id item);

#endif
