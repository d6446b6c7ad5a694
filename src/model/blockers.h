/* SPDX-License-Identifier: Apache-2.0 */
/* The part entries in the way of a probe: for explanations (R20) and for deadlock searches. */
#ifndef LK_MODEL_BLOCKERS_H
#define LK_MODEL_BLOCKERS_H

#include "model/probe.h"

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

#endif
