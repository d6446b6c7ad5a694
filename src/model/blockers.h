/* SPDX-License-Identifier: Apache-2.0 */
/* What is in the way of a probe: part entries; and the deadlocks and explanations made of them. */
#ifndef LK_MODEL_BLOCKERS_H
#define LK_MODEL_BLOCKERS_H

#include "model/probe.h"

/* ---- part entries ---------------------------------------------------------------------------- */

/* One part entry in the way. Returning false ends the walk. */
typedef bool lk_blocker_visit(void *context, lk_id entry);

/*
 * Every part entry that conflicts with one part of the probe (R7a, R7b), including those of its
 * own owner, which the visitor has to leave out. With `search` (a mark of the model) not 0, a
 * part entry that an earlier walk of the same search has seen may be left out.
 */
bool lk_blockers_conflicting(const struct lk_model *model, const struct lk_probe *probe,
                             size_t part, uint32_t search, lk_blocker_visit *visit, void *context);

/* Every part entry that counts against the limit of one part (R7c), the probe's own left out. */
bool lk_blockers_counting(const struct lk_model *model, const struct lk_probe *probe, size_t part,
                          lk_blocker_visit *visit, void *context);

/* Every part entry held at the node, or at and below it; only exclusive ones if so asked. */
bool lk_blockers_held_at(const struct lk_model *model, lk_id node, bool exclusive_only,
                         lk_blocker_visit *visit, void *context);
bool lk_blockers_held_below(const struct lk_model *model, lk_id top, bool exclusive_only,
                            lk_blocker_visit *visit, void *context);

/* ---- deadlocks (R13) ------------------------------------------------------------------------- */

/* Cycles of owners that wait for each other. */

/*
 * Whether the request closes a cycle. Either it waits, and a request that it waits for waits,
 * directly or through others, for its owner; or it has just been granted, another request waits for
 * it, and its owner waits for that one's owner. If so, the owners of the cycle are in model->cycle,
 * its owner first, as many as fit, and *ret_count is their number.
 */
bool lk_deadlock_search(struct lk_model *model, lk_id request, size_t *ret_count);

/* ---- explanations (R20) ---------------------------------------------------------------------- */

/* What is in the way of a probe that has not been granted, request by request. */

/*
 * The requests in the way: up to `max` into ret_blockers, holders first, then by ticket. Returns
 * how many there are; lk_counted_max() if there are as many or more, and then any of them are
 * named.
 */
size_t lk_explain(const struct lk_model *model, const struct lk_probe *probe,
                  struct lk_blocker *ret_blockers, size_t max);

/* The same for one of many waiting requests: see lk_model_explain(). */
size_t lk_explain_next(const struct lk_model *model, const struct lk_probe *probe,
                       struct lk_explaining *explaining, struct lk_blocker *ret_blockers,
                       size_t max);

#endif
