/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of work (R16), as far as other steps need them. */
#ifndef LK_MODEL_WORK_H
#define LK_MODEL_WORK_H

#include "model/keep.h"

enum { LK_WORK_CHANGES_MAX = 3 }; /* that the end of one claim adds beside the request's own */

/* Puts an item into a state, and into the tree of it; from none, or from another. */
void lk_item_enter_state(struct lk_model *model, lk_id item, enum lk_item_state state,
                         int64_t due_us);
void lk_item_change_state(struct lk_model *model, lk_id item, enum lk_item_state state,
                          int64_t due_us);

/* The item that a claim is of, 0 when it is done. */
lk_id lk_claim_item(const struct lk_model *model, const struct lk_request *claim);

/* Frees or parks the item of a claim that perished or was broken, before others are let in. */
void lk_item_lose_claim(struct lk_model *model, lk_id claim);

/* Ties a restored claim to its item. false: there is no such item, or it is claimed. */
bool lk_item_restore_claim(struct lk_model *model, lk_id claim, const struct lk_record *record);

#endif
