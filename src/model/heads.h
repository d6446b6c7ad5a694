/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads of strict needs (R16, "Strict order"). An item that has been claimed is the head of its
 * strict needs until it is gone or is replaced. No other item of its queue with one of them as a
 * strict need is claimed meanwhile. An item is the head of all of its strict needs, or of none.
 */
#ifndef LK_MODEL_HEADS_H
#define LK_MODEL_HEADS_H

#include "model/state.h"

/* Room for this item as a head, if it has strict needs. false: memory is exhausted. */
bool lk_heads_reserve(struct lk_model *model, lk_id item);

/* The item becomes the head of its strict needs, if it has any. Room is reserved. */
void lk_heads_begin(struct lk_model *model, lk_id item);

/* The item is no head any more, or was none. */
void lk_heads_end(struct lk_model *model, lk_id item);

/* Whether another item is the head of one of this item's strict needs. */
bool lk_heads_are_others(const struct lk_model *model, lk_id item);

/* For lk_model_check(): whether the items that are heads, and no others, are found as such. */
bool lk_heads_check(const struct lk_model *model);

#endif
