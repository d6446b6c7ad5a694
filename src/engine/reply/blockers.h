/* SPDX-License-Identifier: Apache-2.0 */
/* R20 in the open: the requests in the way, as results and listings name them. */
#ifndef LK_ENGINE_BLOCKERS_H
#define LK_ENGINE_BLOCKERS_H

#include "lockkeeper/lockkeeper.h"
#include "model/model.h"

/* Milliseconds until the record's deadline, rounded down; 0 when it has passed. */
int64_t lk_time_left_ms(const struct lk_record *record, const struct lk_times *times);

/*
 * Makes *ret_infos of `count` blockers (NULL of none); lk_blocker_infos_free() ends it. Returns
 * false when memory is exhausted, with nothing made.
 */
bool lk_blocker_infos_make(const struct lk_model *model, const struct lk_times *times,
                           const struct lk_blocker *blockers, size_t count,
                           lk_blocker_info **ret_infos, size_t *ret_count);
void lk_blocker_infos_free(lk_blocker_info *infos, size_t count); /* accepts NULL with 0 */

#endif
