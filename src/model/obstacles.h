/* SPDX-License-Identifier: Apache-2.0 */
/* What is in the way of a demand (R20), stake by stake: for explanations and for deadlocks. */
#ifndef LK_MODEL_OBSTACLES_H
#define LK_MODEL_OBSTACLES_H

#include "model/demand.h"

/* One stake in the way. Returning false ends the walk. */
typedef bool lk_obstacle_visit(void *context, lk_id stake);

/*
 * Every stake that conflicts with one part of the demand (R7a, R7b), including those of its
 * own owner, which the visitor has to leave out. With `search` (a mark of the model) not 0, a
 * stake that an earlier walk of the same search has seen may be left out.
 */
bool lk_obstacles_conflicting(const struct lk_model *model, const struct lk_demand *demand,
                              size_t part, uint32_t search, lk_obstacle_visit *visit,
                              void *context);

/* Every stake that counts against the limit of one part (R7c), the demand's own left out. */
bool lk_obstacles_counting(const struct lk_model *model, const struct lk_demand *demand,
                           size_t part, lk_obstacle_visit *visit, void *context);

/*
 * The requests in the way of a demand that has not been granted: up to `max` into ret_blockers,
 * holders first, then by ticket. Returns how many there are in all.
 */
size_t lk_obstacles_explain(const struct lk_model *model, const struct lk_demand *demand,
                            struct lk_blocker *ret_blockers, size_t max);

#endif
