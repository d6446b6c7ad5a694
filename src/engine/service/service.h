/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of the engine for a service (`lk serve`): service.c opens and closes, asks.c has
 * asks and waits, queries.c listings and breaks, work.c values and items, batches.c several items
 * at once, backup.c copies of the file, follow.c events and bounds, ties.c the connections of bound
 * requests. engine/engine.h defines them, docs/wire.md has the commands that they send.
 */
#ifndef LK_ENGINE_SERVICE_SERVICE_H
#define LK_ENGINE_SERVICE_SERVICE_H

#include "engine/engine.h"

struct lk_service; /* call.h */
struct lk_service_answer;
struct lk_service_link; /* link.h */
struct lk_builder;      /* command_builder.h */

/* How long the answer of a blocked call may take after the time of the call has ended. */
#define LK_SERVICE_GRACE_US INT64_C(1000000)

extern const struct lk_engine_ops lk_engine_service;
extern const struct lk_engine_ops lk_engine_service_unix;
extern const struct lk_engine_ops lk_engine_service_tls;

lk_outcome lk_service_decide(struct lk_engine *engine, const struct lk_command *command,
                             const struct lk_patience *patience, struct lk_decision *ret_decision);
lk_outcome lk_service_await(struct lk_engine *engine, const struct lk_wait_cursor *cursor,
                            int64_t until_us, struct lk_waker *waker);

/*
 * The cases of lk_service_decide(); they fill an empty decision. A bound ask goes over *own, a
 * connection of its own, which it makes where there is none (*own NULL) or it broke; own NULL: over
 * any one that bound requests end with.
 */
lk_outcome lk_service_ask(struct lk_service *service, const struct lk_ask *ask,
                          struct lk_service_link **own, const struct lk_patience *patience,
                          struct lk_decision *decision);
lk_outcome lk_service_break(struct lk_service *service, const struct lk_break *broken,
                            const struct lk_patience *patience, struct lk_decision *decision);
lk_outcome lk_service_put(struct lk_service *service, const struct lk_put *put,
                          const struct lk_patience *patience, struct lk_decision *decision);
lk_outcome lk_service_push(struct lk_service *service, const struct lk_push *push,
                           const struct lk_patience *patience, struct lk_decision *decision);
lk_outcome lk_service_take(struct lk_service *service, const struct lk_take *take,
                           const struct lk_patience *patience, struct lk_decision *decision);
/* Blocks until the service has claimed an item, at most left_ms: see lk_service_await(). */
lk_outcome lk_service_await_take(struct lk_service *service, const struct lk_take *take,
                                 int64_t left_ms, const struct lk_patience *patience);
/* Makes up for what the answer to a repeated take has lost: see call.h. */
void lk_service_recall_steal(struct lk_service *service, const struct lk_take *take,
                             lk_claim_info *claim);
lk_outcome lk_service_finish(struct lk_service *service, const struct lk_finish *finish,
                             const struct lk_patience *patience, struct lk_decision *decision);
lk_outcome lk_service_unpark(struct lk_service *service, const struct lk_unpark *unpark,
                             const struct lk_patience *patience, struct lk_decision *decision);

lk_outcome lk_service_drop(struct lk_service *service, const struct lk_drop *drop,
                           const struct lk_patience *patience, struct lk_decision *decision);

/* Reads the answer to an ask, a renewal or a release into an empty decision. */
lk_outcome lk_service_read_result(struct lk_service_answer *answer, struct lk_decision *decision);

/* Adds a command; that of a take without its TRY, WAIT and COUNT. */
void lk_service_add_take(struct lk_builder *builder, const struct lk_take *take);
void lk_service_add_renew(struct lk_builder *builder, const struct lk_renew *renew);
void lk_service_add_push(struct lk_builder *builder, const struct lk_push *push);
void lk_service_add_finish(struct lk_builder *builder, const struct lk_finish *finish);
void lk_service_add_unpark(struct lk_builder *builder, const struct lk_unpark *unpark);
void lk_service_add_drop(struct lk_builder *builder, const struct lk_drop *drop);

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

lk_outcome lk_service_backup(struct lk_engine *engine, const char *path,
                             const struct lk_patience *patience, struct lk_error *error);

lk_outcome lk_service_value_get(struct lk_engine *engine, const struct lk_path *path,
                                const struct lk_patience *patience, lk_value **ret_value,
                                lk_error *error);
lk_outcome lk_service_values(struct lk_engine *engine, const struct lk_value_query *query,
                             const struct lk_patience *patience, lk_value_list **ret_list,
                             lk_error *error);
lk_outcome lk_service_items(struct lk_engine *engine, const struct lk_item_query *query,
                            const struct lk_patience *patience, lk_item_list **ret_list,
                            lk_error *error);
lk_outcome lk_service_stats(struct lk_engine *engine, const struct lk_path *queue,
                            enum lk_stats_depth depth, const struct lk_patience *patience,
                            lk_queue_stats *ret_stats, lk_error *error);
extern const struct lk_event_ops lk_service_event_ops;
extern const struct lk_revoked_ops lk_service_revoked_ops;
extern const struct lk_limit_ops lk_service_limit_ops;
extern const struct lk_batch_ops lk_service_batch_ops;
extern const struct lk_tie_ops lk_service_tie_ops;

#endif
