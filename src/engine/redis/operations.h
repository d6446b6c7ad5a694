/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of engine.h, by the file that implements them. */
#ifndef LK_ENGINE_REDIS_OPERATIONS_H
#define LK_ENGINE_REDIS_OPERATIONS_H

#include "engine/engine.h"

struct lk_redis; /* store.h */

/* ---- decide.c ---- */

lk_outcome lk_redis_decide(struct lk_engine *engine, const struct lk_command *command,
                           const struct lk_patience *patience, struct lk_decision *ret_decision);
bool lk_redis_may_have_forgotten(struct lk_engine *engine, uint64_t ticket,
                                 const struct lk_part *parts, size_t part_count,
                                 const struct lk_patience *patience);
lk_outcome lk_redis_await(struct lk_engine *engine, const struct lk_wait_cursor *cursor,
                          int64_t until_us, struct lk_waker *waker);

/* ---- queries.c ---- */

lk_outcome lk_redis_list(struct lk_engine *engine, const struct lk_path *prefix,
                         const struct lk_patience *patience, lk_listing **ret_listing,
                         lk_error *error);
lk_outcome lk_redis_show(struct lk_engine *engine, const struct lk_path *path,
                         const struct lk_patience *patience, lk_listing **ret_listing,
                         lk_error *error);
lk_outcome lk_redis_audit(struct lk_engine *engine, const struct lk_path *prefix,
                          const struct lk_patience *patience, lk_audit **ret_audit,
                          lk_error *error);

/* ---- decide.c: values ---- */

lk_outcome lk_redis_value_get(struct lk_engine *engine, const struct lk_path *path,
                              const struct lk_patience *patience, lk_value **ret_value,
                              lk_error *error);
/* Called by lk_redis_decide(), with an empty decision. */
lk_outcome lk_redis_put(struct lk_redis *store, const struct lk_put *put,
                        const struct lk_patience *patience, struct lk_decision *decision);

/* ---- work.c: likewise ---- */

/* A push, a take, or another command about items. */
lk_outcome lk_redis_work(struct lk_redis *store, const struct lk_command *command,
                         const struct lk_patience *patience, struct lk_decision *decision);
lk_outcome lk_redis_decide_many(struct lk_engine *engine, const struct lk_command *commands,
                                size_t count, const struct lk_patience *patience,
                                struct lk_series *series);

/* When to query for work again after this take, even without a message. Subscribes. */
int64_t lk_redis_work_query_us(struct lk_redis *store, const struct lk_wait_cursor *cursor);

/* ---- work_queries.c ---- */

lk_outcome lk_redis_items(struct lk_engine *engine, const struct lk_item_query *query,
                          const struct lk_patience *patience, lk_item_list **ret_list,
                          lk_error *error);
lk_outcome lk_redis_stats(struct lk_engine *engine, const struct lk_path *queue,
                          enum lk_stats_depth depth, const struct lk_patience *patience,
                          lk_queue_stats *ret_stats, lk_error *error);

lk_outcome lk_redis_parked(struct lk_engine *engine, const struct lk_parked_query *query,
                           const struct lk_patience *patience, lk_item_list **ret_list,
                           uint64_t *ret_reached, lk_error *error);

lk_outcome lk_redis_queues(struct lk_engine *engine, const struct lk_queue_query *query,
                           const struct lk_patience *patience, lk_queue_list **ret_list,
                           bool *ret_has_more, lk_error *error);

/* ---- examine.c ---- */

lk_outcome lk_redis_examine(struct lk_engine *engine, const struct lk_patience *patience,
                            lk_report **ret_report, lk_error *error);

#endif
