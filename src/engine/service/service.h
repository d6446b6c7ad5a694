/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of the engine that speaks to a service (`lk serve`), by subject: service.c opens
 * and closes, asks.c asks and waits, look.c looks and breaks, work.c is about values and items,
 * follow.c about events and bounds.
 * What they mean is said in engine/engine.h, what they send in docs/service.md.
 */
#ifndef LK_ENGINE_SERVICE_SERVICE_H
#define LK_ENGINE_SERVICE_SERVICE_H

#include "engine/engine.h"

/* Beyond the time somebody gave a blocked call: what an answer may take to get here. */
#define LK_SERVICE_GRACE_US INT64_C(2000000)

extern const struct lk_engine_ops lk_engine_service;
extern const struct lk_engine_ops lk_engine_service_unix;
extern const struct lk_engine_ops lk_engine_service_tls;

lk_outcome lk_service_ask(struct lk_engine *engine, const struct lk_ask *ask,
                          const struct lk_patience *patience, lk_result *result,
                          struct lk_stand *ret_stand);
lk_outcome lk_service_renew(struct lk_engine *engine, const struct lk_renew *renew,
                            const struct lk_patience *patience, lk_result *result);
lk_outcome lk_service_release(struct lk_engine *engine, const struct lk_release *release,
                              const struct lk_patience *patience, lk_result *result);
lk_outcome lk_service_await(struct lk_engine *engine, const struct lk_stand *stand,
                            int64_t until_us, struct lk_waker *waker);

lk_outcome lk_service_break(struct lk_engine *engine, const struct lk_break *broken,
                            struct lk_slice by, struct lk_slice reason,
                            const struct lk_patience *patience, size_t *ret_count,
                            struct lk_error *error);
lk_outcome lk_service_list(struct lk_engine *engine, const struct lk_path *prefix,
                           const struct lk_patience *patience, lk_listing **ret_listing,
                           struct lk_error *error);
lk_outcome lk_service_show(struct lk_engine *engine, const struct lk_path *path,
                           const struct lk_patience *patience, lk_listing **ret_listing,
                           struct lk_error *error);
lk_outcome lk_service_audit(struct lk_engine *engine, const struct lk_path *prefix,
                            const struct lk_patience *patience, lk_audit **ret_audit,
                            struct lk_error *error);
lk_outcome lk_service_examine(struct lk_engine *engine, const struct lk_patience *patience,
                              lk_report **ret_report, struct lk_error *error);

lk_outcome lk_service_value_get(struct lk_engine *engine, const struct lk_path *path,
                                const struct lk_patience *patience, lk_value **ret_value,
                                lk_error *error);
lk_outcome lk_service_value_put(struct lk_engine *engine, const struct lk_put *put,
                                const struct lk_patience *patience, lk_error *error);
lk_outcome lk_service_push(struct lk_engine *engine, const struct lk_push *push,
                           const struct lk_patience *patience, bool *ret_added, lk_error *error);
lk_outcome lk_service_take(struct lk_engine *engine, const struct lk_take *take,
                           const struct lk_patience *patience, lk_claim_info **ret_claim,
                           struct lk_stand *ret_stand, lk_error *error);
lk_outcome lk_service_finish(struct lk_engine *engine, const struct lk_finish *finish,
                             const struct lk_patience *patience, lk_error *error);
lk_outcome lk_service_unpark(struct lk_engine *engine, const struct lk_unpark *unpark,
                             const struct lk_patience *patience, lk_error *error);
lk_outcome lk_service_items(struct lk_engine *engine, const struct lk_path *queue,
                            const struct lk_patience *patience, lk_item_list **ret_list,
                            lk_error *error);
lk_outcome lk_service_stats(struct lk_engine *engine, const struct lk_path *queue,
                            const struct lk_patience *patience, lk_queue_stats *ret_stats,
                            lk_error *error);
lk_outcome lk_service_await_work(struct lk_engine *engine, const struct lk_path *queue,
                                 const struct lk_stand *stand, int64_t until_us,
                                 struct lk_waker *waker);

lk_outcome lk_service_events(struct lk_engine *engine, const struct lk_event_query *query,
                             const struct lk_patience *patience,
                             struct lk_happenings **ret_happenings, lk_error *error);
lk_outcome lk_service_await_events(struct lk_engine *engine, uint64_t after, int64_t until_us,
                                   struct lk_waker *waker);
lk_outcome lk_service_limits_get(struct lk_engine *engine, const struct lk_patience *patience,
                                 lk_limits *ret_limits, lk_error *error);
lk_outcome lk_service_limits_set(struct lk_engine *engine, const lk_limits *limits,
                                 const struct lk_patience *patience, lk_error *error);

#endif
