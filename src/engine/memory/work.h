/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of `mem:` on values and work (R15, R16), for its table. */
#ifndef LK_ENGINE_MEMORY_WORK_H
#define LK_ENGINE_MEMORY_WORK_H

#include "engine/engine.h"

lk_outcome lk_memory_value_get(struct lk_engine *engine, const struct lk_path *path,
                               const struct lk_patience *patience, lk_value **ret_value,
                               lk_error *error);
lk_outcome lk_memory_value_put(struct lk_engine *engine, const struct lk_put *put,
                               const struct lk_patience *patience, lk_error *error);

lk_outcome lk_memory_push(struct lk_engine *engine, const struct lk_push *push,
                          const struct lk_patience *patience, bool *ret_added, lk_error *error);
lk_outcome lk_memory_take(struct lk_engine *engine, const struct lk_take *take,
                          const struct lk_patience *patience, lk_claim_info **ret_claim,
                          struct lk_stand *ret_stand, lk_error *error);
lk_outcome lk_memory_finish(struct lk_engine *engine, const struct lk_finish *finish,
                            const struct lk_patience *patience, lk_error *error);
lk_outcome lk_memory_unpark(struct lk_engine *engine, const struct lk_unpark *unpark,
                            const struct lk_patience *patience, lk_error *error);
lk_outcome lk_memory_items(struct lk_engine *engine, const struct lk_path *queue,
                           const struct lk_patience *patience, lk_item_list **ret_list,
                           lk_error *error);
lk_outcome lk_memory_stats(struct lk_engine *engine, const struct lk_path *queue,
                           const struct lk_patience *patience, lk_queue_stats *ret_stats,
                           lk_error *error);
lk_outcome lk_memory_wait_for_work(struct lk_engine *engine, const struct lk_path *queue,
                                   const struct lk_stand *stand, int64_t until_us,
                                   struct lk_waker *waker);

#endif
