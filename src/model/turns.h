/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns (R16, "Strict order"): an item that has been claimed has the turn of its strict needs until
 * it is gone or is replaced. No other item of its queue with one of them as a strict need is claimed
 * meanwhile. An item has the turn of all of its strict needs, or of none.
 */
#ifndef LK_MODEL_TURNS_H
#define LK_MODEL_TURNS_H

#include "model/state.h"

/* Room for the turns of one item more. false: memory is exhausted. */
bool lk_turns_reserve(struct lk_model *model);

/* The item, which has no turn, has that of its strict needs, if it has any: room is reserved. */
void lk_turns_take(struct lk_model *model, lk_id item);

/* The item has no turn. */
void lk_turns_give(struct lk_model *model, lk_id item);

/* Whether another item has the turn of one of this item's strict needs. */
bool lk_turns_are_others(const struct lk_model *model, lk_id item);

/* For lk_model_check(): whether exactly the items that have a turn are found by it. */
bool lk_turns_check(const struct lk_model *model);

#endif
