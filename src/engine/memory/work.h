/* SPDX-License-Identifier: Apache-2.0 */
/* What `mem:` can read of values and work (R15, R16), for its table. */
#ifndef LK_ENGINE_MEMORY_WORK_H
#define LK_ENGINE_MEMORY_WORK_H

#include "engine/engine.h"

lk_outcome lk_memory_value_get(struct lk_engine *engine, const struct lk_path *path,
                               const struct lk_patience *patience, lk_value **ret_value,
                               lk_error *error);
lk_outcome lk_memory_values(struct lk_engine *engine, const struct lk_value_query *query,
                            const struct lk_patience *patience, lk_value_list **ret_list,
                            lk_error *error);
lk_outcome lk_memory_items(struct lk_engine *engine, const struct lk_path *queue,
                           const struct lk_patience *patience, lk_item_list **ret_list,
                           lk_error *error);
lk_outcome lk_memory_stats(struct lk_engine *engine, const struct lk_path *queue,
                           enum lk_stats_depth depth, const struct lk_patience *patience,
                           lk_queue_stats *ret_stats, lk_error *error);

#endif
