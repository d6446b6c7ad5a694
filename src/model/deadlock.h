/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlock (R13): cycles of owners that wait for each other. */
#ifndef LK_MODEL_DEADLOCK_H
#define LK_MODEL_DEADLOCK_H

#include "model/probe.h"

/*
 * Whether the request closes a cycle. Either it waits, and a request that it waits for waits,
 * directly or through others, for its owner; or it has just been granted, another request waits for
 * it, and its owner waits for that one's owner. If so, the owners of the cycle are in model->cycle,
 * its owner first, as many as fit, and *ret_count is their number.
 */
bool lk_deadlock_search(struct lk_model *model, lk_id request, size_t *ret_count);

#endif
