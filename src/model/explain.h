/* SPDX-License-Identifier: Apache-2.0 */
/* What is in the way of a probe that has not been granted (R20), request by request. */
#ifndef LK_MODEL_EXPLAIN_H
#define LK_MODEL_EXPLAIN_H

#include "model/probe.h"

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
