/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes keep beside locks: values (R15), items and queues (R16). Storage, no rules. */
#ifndef LK_MODEL_STORAGE_H
#define LK_MODEL_STORAGE_H

#include "model/state.h"

/* The value, item or queue of a node, 0: none. Node 0 has none. */
lk_id lk_value_find(const struct lk_model *model, lk_id node);
lk_id lk_item_find(const struct lk_model *model, lk_id node);
lk_id lk_work_find(const struct lk_model *model, lk_id node);

/* A copy of bytes; NULL for none. false: memory is exhausted. */
bool lk_bytes_copy(struct lk_model *model, struct lk_slice bytes, char **ret_copy);
void lk_bytes_free(struct lk_model *model, char *bytes);

/*
 * The value of a path, made without bytes where there is none. 0: memory is exhausted, and nothing
 * was made.
 */
lk_id lk_value_make(struct lk_model *model, const struct lk_path *path);

/* Whether a value is in doubt, and so in the tree of those. */
void lk_value_set_doubt(struct lk_model *model, lk_id value, bool in_doubt);

/* Removes a value; it stays readable until the next step. */
void lk_value_remove(struct lk_model *model, lk_id value);

/* The queue at a path, made where there is none. 0: memory is exhausted, and nothing was made. */
lk_id lk_work_make(struct lk_model *model, const struct lk_path *path);

/*
 * A new item, in no tree yet, with copies of value and needs. 0: memory is exhausted, and nothing
 * was made.
 */
lk_id lk_item_make(struct lk_model *model, lk_id work, const struct lk_path *path,
                   struct lk_slice value, const struct lk_part *needs, size_t need_count);

/*
 * Gives an item that is in no tree copies of another value and of other needs. false: memory is
 * exhausted, and nothing has changed.
 */
bool lk_item_refill(struct lk_model *model, lk_id item, struct lk_slice value,
                    const struct lk_part *needs, size_t need_count);

/* Keeps a progress in place of the item's last one. false: memory is exhausted. None needs none. */
bool lk_item_keep_progress(struct lk_model *model, lk_id item, struct lk_slice text);

/* Keeps a failure in place of the item's last one. false: memory is exhausted. */
bool lk_item_keep_failure(struct lk_model *model, lk_id item,
                          const struct lk_item_failure *failure);

/* What an item counts for in lk_model_kept_bytes(). */
uint64_t lk_item_kept_bytes(const struct lk_item *item);

/* Removes an item that is in no tree any more; it stays readable until the next step. */
void lk_item_remove(struct lk_model *model, lk_id item);

/* Removes a queue; it stays readable until the next step. */
void lk_work_unlist(struct lk_model *model, lk_id work);

/* Frees what the last step removed. */
void lk_keep_bury(struct lk_model *model);

/* Frees what values and items own, at the model's end. */
void lk_keep_done(struct lk_model *model);

/*
 * Claimed items by owner and ask number (R3), so that a repeated take finds its item however many
 * leases its owner holds. A claim without an ask number is never repeated, and not among them.
 */

/* The item of this queue that an ask of this owner has claimed, 0: none. */
lk_id lk_claims_find(const struct lk_model *model, lk_id work, lk_id owner, uint64_t ask_number);

/* Makes room for one more. false: memory is exhausted. */
bool lk_claims_reserve(struct lk_model *model);

/* The item has its claim and ask number now; and it is about to lose them. */
void lk_claims_add(struct lk_model *model, lk_id item);
void lk_claims_remove(struct lk_model *model, lk_id item);

#endif
