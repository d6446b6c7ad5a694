/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of engine.h, by the file that has them. */
#ifndef LK_ENGINE_REDIS_OPERATIONS_H
#define LK_ENGINE_REDIS_OPERATIONS_H

#include "engine/engine.h"

/* ---- decide.c ---- */

lk_outcome lk_redis_ask(struct lk_engine *engine, const struct lk_ask *ask,
                        const struct lk_patience *patience, lk_result *result,
                        struct lk_stand *ret_stand);
lk_outcome lk_redis_renew(struct lk_engine *engine, const struct lk_renew *renew,
                          const struct lk_patience *patience, lk_result *result);
lk_outcome lk_redis_release(struct lk_engine *engine, const struct lk_release *release,
                            const struct lk_patience *patience, lk_result *result);
lk_outcome lk_redis_break(struct lk_engine *engine, const struct lk_break *broken,
                          struct lk_slice by, struct lk_slice reason,
                          const struct lk_patience *patience, size_t *ret_count, lk_error *error);
lk_outcome lk_redis_await(struct lk_engine *engine, const struct lk_stand *stand, int64_t until_us,
                          struct lk_waker *waker);

/* ---- look.c ---- */

lk_outcome lk_redis_list(struct lk_engine *engine, const struct lk_path *prefix,
                         const struct lk_patience *patience, lk_listing **ret_listing,
                         lk_error *error);
lk_outcome lk_redis_show(struct lk_engine *engine, const struct lk_path *path,
                         const struct lk_patience *patience, lk_listing **ret_listing,
                         lk_error *error);
lk_outcome lk_redis_audit(struct lk_engine *engine, const struct lk_path *prefix,
                          const struct lk_patience *patience, lk_audit **ret_audit,
                          lk_error *error);

/* ---- values.c ---- */

lk_outcome lk_redis_value_get(struct lk_engine *engine, const struct lk_path *path,
                              const struct lk_patience *patience, lk_value **ret_value,
                              lk_error *error);
lk_outcome lk_redis_value_put(struct lk_engine *engine, const struct lk_put *put,
                              const struct lk_patience *patience, lk_error *error);

/* ---- work.c ---- */

lk_outcome lk_redis_push(struct lk_engine *engine, const struct lk_push *push,
                         const struct lk_patience *patience, bool *ret_added, lk_error *error);
lk_outcome lk_redis_take(struct lk_engine *engine, const struct lk_take *take,
                         const struct lk_patience *patience, lk_claim_info **ret_claim,
                         struct lk_stand *ret_stand, lk_error *error);
lk_outcome lk_redis_finish(struct lk_engine *engine, const struct lk_finish *finish,
                           const struct lk_patience *patience, lk_error *error);
lk_outcome lk_redis_unpark(struct lk_engine *engine, const struct lk_unpark *unpark,
                           const struct lk_patience *patience, lk_error *error);
lk_outcome lk_redis_items(struct lk_engine *engine, const struct lk_path *queue,
                          const struct lk_patience *patience, lk_item_list **ret_list,
                          lk_error *error);
lk_outcome lk_redis_stats(struct lk_engine *engine, const struct lk_path *queue,
                          const struct lk_patience *patience, lk_queue_stats *ret_stats,
                          lk_error *error);
lk_outcome lk_redis_await_work(struct lk_engine *engine, const struct lk_path *queue,
                               const struct lk_stand *stand, int64_t until_us,
                               struct lk_waker *waker);

/* ---- examine.c ---- */

lk_outcome lk_redis_examine(struct lk_engine *engine, const struct lk_patience *patience,
                            lk_report **ret_report, lk_error *error);

#endif
