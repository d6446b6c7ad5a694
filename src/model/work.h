/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of work (R16), as far as other steps need them. */
#ifndef LK_MODEL_WORK_H
#define LK_MODEL_WORK_H

#include "model/storage.h"

enum { LK_WORK_CHANGES_MAX = 3 }; /* that the end of one claim adds beside the request's own */

/* The queue at a path, made where there is none, and then idle. 0: memory is exhausted. */
lk_id lk_queue_make(struct lk_model *model, const struct lk_path *path);

/* Takes a queue without items away again, when the push that made it has failed. */
void lk_queue_unmake(struct lk_model *model, lk_id id);

/*
 * Puts a new item, which has its sequence, into its queue, ready since `ready_us` if it is; takes
 * it out, which is idle when that was the last one; moves it to another state, ready or delayed
 * from `due_us` on.
 */
void lk_item_enter(struct lk_model *model, lk_id item, enum lk_item_state state, int64_t due_us,
                   int64_t ready_us);
void lk_item_leave(struct lk_model *model, lk_id item);
void lk_item_change_state(struct lk_model *model, lk_id item, enum lk_item_state state,
                          int64_t due_us);

/* How many items the step forgets: those that are done, and whose time is over. A bounded number:
 * further ones count as forgotten. */
size_t lk_items_to_forget(const struct lk_model *model, int64_t now_us);

/* Forgets them, one change each. lk_step_perish() has reserved room for the changes. */
void lk_step_forget_items(struct lk_model *model);

/* The item at a node, 0: there is none, or it counts as forgotten. */
lk_id lk_item_present(const struct lk_model *model, lk_id node);

/* How many queues the step forgets: those idle longest beyond the bound, a bounded number. */
size_t lk_queues_to_forget(const struct lk_model *model);

/* Forgets them, one change each. lk_step_perish() has reserved room for the changes. */
void lk_step_forget_queues(struct lk_model *model);

/* The item that a claim is of, 0 when it is done. */
lk_id lk_claim_item(const struct lk_model *model, const struct lk_model_request *claim);

/*
 * Makes the item of a claim that perished or was broken ready, or parks it, before waiters are
 * granted. `ended_us`: when the claim ended.
 */
void lk_item_lose_claim(struct lk_model *model, lk_id claim, int64_t ended_us);

/*
 * Removes the item if it is not claimed, and returns 0. Else it is removed when its claim ends. The
 * claim is returned, and the caller breaks it, `at_once` or not.
 */
lk_id lk_item_cancel(struct lk_model *model, lk_id item, bool at_once);

/* Ties a restored claim to its item, after lk_claims_reserve(). false: there is no such item, or it
 * is claimed. */
bool lk_item_restore_claim(struct lk_model *model, lk_id claim, const struct lk_record *record);

#endif
