/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups: the items of a queue that need the same parts (R16), in the same order. What blocks one
 * of them by its needs blocks all of them, so a claim checks the first ready one for the group. A
 * group exists while it has an item, in whatever state; items without needs have none.
 */
#ifndef LK_MODEL_GROUPS_H
#define LK_MODEL_GROUPS_H

#include "model/state.h"

/*
 * The group of these needs with one item more, made where there is none. 0: memory is exhausted,
 * and nothing has changed.
 */
lk_id lk_group_join(struct lk_model *model, lk_id work, const struct lk_part *needs, size_t count);

/* With one item less. The last one takes the group away. */
void lk_group_leave(struct lk_model *model, lk_id group);

/* A ready item with needs enters its group, or leaves it, which may change the group's place. */
void lk_group_add(struct lk_model *model, lk_id item);
void lk_group_remove(struct lk_model *model, lk_id item);

/* The item of the group that is the head (heads.h), 0: none. The group's place may change. */
void lk_group_set_head(struct lk_model *model, lk_id group, lk_id item);

/* Frees what groups own, at the model's end. */
void lk_groups_done(struct lk_model *model);

/*
 * A walk over the ready items of a queue in the order of claims, which skips the rest of a group
 * when it is told so. The queue must not change meanwhile.
 */
struct lk_ready_walk {
    lk_id work;
    lk_id alone; /* the next item without needs */
    lk_id group; /* the next group of which no item has been visited */
    lk_id open;  /* list of groups of which some have; their `cursor` is the next */
    lk_id last;  /* the group of the item that was visited last, or 0 */
};

void lk_ready_walk_begin(const struct lk_model *model, lk_id work, struct lk_ready_walk *ret_walk);

/* The next item, 0 at the end. `skips`: what blocks the last one blocks its whole group. */
lk_id lk_ready_walk_next(struct lk_model *model, struct lk_ready_walk *walk, bool skips);

/* For lk_model_check(): the ready items of a queue in groups; UINT32_MAX: not in order. */
uint32_t lk_groups_check(const struct lk_model *model, const struct lk_work *work);

#endif
