/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that is open: where it is, the connections to it, and who listens.
 *
 * Connections are taken from a small pool for one call each. None keeps anything in its session.
 */
#ifndef LK_ENGINE_POSTGRESQL_STORE_H
#define LK_ENGINE_POSTGRESQL_STORE_H

#include <libpq-fe.h>
#include <pthread.h>
#include <sys/types.h>

#include "engine/engine.h"
#include "engine/postgresql/arguments.h"
#include "engine/postgresql/listener.h"
#include "engine/postgresql/place.h"

enum {
    LK_POSTGRESQL_IDLE_MAX = 8,
    LK_POSTGRESQL_KNOWN_MAX = 4, /* tables remembered at a time; the first one gives way */
    LK_POSTGRESQL_NAME_MAX = 63, /* a name in PostgreSQL */
};

struct lk_postgresql_shape; /* source.h */

/* R17: a table of the owner's, as it is named, and what the database said of it. */
struct lk_postgresql_known {
    char table[2 * LK_POSTGRESQL_NAME_MAX + 2];
    char id_column[LK_POSTGRESQL_NAME_MAX + 1];
    struct lk_postgresql_shape *shape; /* NULL: none */
};

struct lk_postgresql {
    struct lk_engine engine;
    struct lk_postgresql_place place;
    pid_t process; /* that opened it */
    pthread_mutex_t mutex;
    PGconn *idle[LK_POSTGRESQL_IDLE_MAX];
    size_t idle_count;
    uint64_t calls; /* releases so far: every so many it is swept */
    struct lk_listener listener;
    struct lk_postgresql_known known[LK_POSTGRESQL_KNOWN_MAX]; /* guarded by the mutex */
    size_t known_next;
    char mark_looked[LK_SEGMENT_BYTES_MAX + 1]; /* likewise: of marks, the last looked at */
};

static inline struct lk_postgresql *lk_postgresql_of(struct lk_engine *engine) {
    return (struct lk_postgresql *)engine;
}

/* Whether this process is a child of the one that opened the store; if so, says so. */
bool lk_postgresql_is_forked(const struct lk_postgresql *store, lk_error *error);

/* ---- connection.c ---------------------------------------------------------------------------- */

/* Connects, within the patience. LK_OK, LK_DENIED, LK_INVALID, LK_UNSUPPORTED, LK_UNAVAILABLE,
 * LK_CANCELLED. */
lk_outcome lk_postgresql_connect(const char *url, const struct lk_patience *patience,
                                 PGconn **ret_connection, lk_error *error);

/*
 * Waits for what was sent. LK_OK with *ret_result, for PQclear(); LK_CANCELLED and LK_UNAVAILABLE
 * leave the connection unusable.
 */
lk_outcome lk_postgresql_receive(PGconn *connection, const struct lk_patience *patience,
                                 PGresult **ret_result, lk_error *error);

/* The next result of what was sent, waited for; NULL behind the last. */
lk_outcome lk_postgresql_next(PGconn *connection, const struct lk_patience *patience,
                              PGresult **ret_result, lk_error *error);

/* LK_UNAVAILABLE, with the cause of a connection's end. */
lk_outcome lk_postgresql_lose(const PGconn *connection, lk_error *error);

/* Notifications that a pooler's connection carries for somebody else. */
void lk_postgresql_drop_notifications(PGconn *connection);

/* Runs SQL without arguments. LK_OK with the last result; else an outcome as explained. */
lk_outcome lk_postgresql_execute(PGconn *connection, const char *sql, const char *schema,
                                 const struct lk_patience *patience, PGresult **ret_result,
                                 lk_error *error);

/* The outcome that a server's error means, with a sentence that says what to do. */
lk_outcome lk_postgresql_explain(const PGresult *result, const char *schema, lk_error *error);

/* Whether it failed for being one of several at once, and may be tried again. */
bool lk_postgresql_is_conflict(const PGresult *result);

/* ---- call.c ---------------------------------------------------------------------------------- */

/* What may be sent a second time when its answer was lost. */
enum lk_repeat { LK_ONCE, LK_REPEATABLE };

/* A connection for one exchange, idle or new; to be given back or ended by PQfinish(). */
lk_outcome lk_postgresql_take_connection(struct lk_postgresql *store,
                                         const struct lk_patience *patience,
                                         PGconn **ret_connection, lk_error *error);
void lk_postgresql_give_back(struct lk_postgresql *store, PGconn *connection);

/*
 * Runs one statement: `sql` has one %s for the schema. LK_OK with a row or more (or none, of a
 * SELECT) in *ret_result; else an outcome with its sentence. Ends the arguments.
 */
lk_outcome lk_postgresql_call(struct lk_postgresql *store, const char *sql, enum lk_repeat repeat,
                              struct lk_arguments *arguments, const struct lk_patience *patience,
                              PGresult **ret_result, lk_error *error);

/*
 * Sleeps before another try, longer each time; *delay_us begins with 0. false: patience is over,
 * or the waker was thrown.
 */
bool lk_postgresql_back_off(const struct lk_patience *patience, int64_t *delay_us);

/* ---- look.c ---------------------------------------------------------------------------------- */

/* What is overdue takes effect; then runs a SELECT about `path` (NULL: everything), as above. */
lk_outcome lk_postgresql_select(struct lk_postgresql *store, const char *sql,
                                const struct lk_path *path, const struct lk_patience *patience,
                                PGresult **ret_rows, lk_error *error);

/* ---- found.c --------------------------------------------------------------------------------- */

/* Makes the schema if it is missing, brings an older one up to date, refuses a newer one. */
lk_outcome lk_postgresql_prepare(struct lk_postgresql *store, const struct lk_patience *patience,
                                 lk_error *error);

/* ---- shape.c --------------------------------------------------------------------------------- */

/* Forgets what is known of tables. */
void lk_postgresql_shapes_done(struct lk_postgresql *store);

/* ---- work.c ---------------------------------------------------------------------------------- */

/* What lk_take() and take_row() answer, as a take's; `version` goes into *ret_stand. */
lk_outcome lk_postgresql_taken(const PGresult *rows, const struct lk_take *take, uint64_t version,
                               lk_claim_info **ret_claim, struct lk_stand *ret_stand,
                               lk_error *error);

/* ---- operations of the table ----------------------------------------------------------------- */

lk_outcome lk_postgresql_ask(struct lk_engine *engine, const struct lk_ask *ask,
                             const struct lk_patience *patience, lk_result *result,
                             struct lk_stand *ret_stand);
lk_outcome lk_postgresql_renew(struct lk_engine *engine, const struct lk_renew *renew,
                               const struct lk_patience *patience, lk_result *result);
lk_outcome lk_postgresql_release(struct lk_engine *engine, const struct lk_release *release,
                                 const struct lk_patience *patience, lk_result *result);
lk_outcome lk_postgresql_break(struct lk_engine *engine, const struct lk_break *broken,
                               struct lk_slice by, struct lk_slice reason,
                               const struct lk_patience *patience, size_t *ret_count,
                               struct lk_error *error);
lk_outcome lk_postgresql_await(struct lk_engine *engine, const struct lk_stand *stand,
                               int64_t until_us, struct lk_waker *waker);
lk_outcome lk_postgresql_list(struct lk_engine *engine, const struct lk_path *prefix,
                              const struct lk_patience *patience, lk_listing **ret_listing,
                              struct lk_error *error);
lk_outcome lk_postgresql_show(struct lk_engine *engine, const struct lk_path *path,
                              const struct lk_patience *patience, lk_listing **ret_listing,
                              struct lk_error *error);
lk_outcome lk_postgresql_audit(struct lk_engine *engine, const struct lk_path *prefix,
                               const struct lk_patience *patience, lk_audit **ret_audit,
                               struct lk_error *error);
lk_outcome lk_postgresql_value_get(struct lk_engine *engine, const struct lk_path *path,
                                   const struct lk_patience *patience, lk_value **ret_value,
                                   lk_error *error);
lk_outcome lk_postgresql_value_put(struct lk_engine *engine, const struct lk_put *put,
                                   const struct lk_patience *patience, lk_error *error);
lk_outcome lk_postgresql_push(struct lk_engine *engine, const struct lk_push *push,
                              const struct lk_patience *patience, bool *ret_added, lk_error *error);
lk_outcome lk_postgresql_take(struct lk_engine *engine, const struct lk_take *take,
                              const struct lk_patience *patience, lk_claim_info **ret_claim,
                              struct lk_stand *ret_stand, lk_error *error);
lk_outcome lk_postgresql_finish(struct lk_engine *engine, const struct lk_finish *finish,
                                const struct lk_patience *patience, lk_error *error);
lk_outcome lk_postgresql_unpark(struct lk_engine *engine, const struct lk_unpark *unpark,
                                const struct lk_patience *patience, lk_error *error);
lk_outcome lk_postgresql_items(struct lk_engine *engine, const struct lk_path *queue,
                               const struct lk_patience *patience, lk_item_list **ret_list,
                               lk_error *error);
lk_outcome lk_postgresql_stats(struct lk_engine *engine, const struct lk_path *queue,
                               const struct lk_patience *patience, lk_queue_stats *ret_stats,
                               lk_error *error);
lk_outcome lk_postgresql_await_work(struct lk_engine *engine, const struct lk_path *queue,
                                    const struct lk_stand *stand, int64_t until_us,
                                    struct lk_waker *waker);
lk_outcome lk_postgresql_table_check(struct lk_engine *engine, const struct lk_source *source,
                                     const struct lk_patience *patience, lk_error *error);
lk_outcome lk_postgresql_table_announce(struct lk_engine *engine, const struct lk_source *source,
                                        size_t max, const struct lk_patience *patience,
                                        struct lk_announcement *ret_announcement, lk_error *error);
lk_outcome lk_postgresql_table_take(struct lk_engine *engine, const struct lk_source *source,
                                    const struct lk_take *take, const struct lk_patience *patience,
                                    lk_claim_info **ret_claim, struct lk_stand *ret_stand,
                                    lk_error *error);
lk_outcome lk_postgresql_table_finish(struct lk_engine *engine, const struct lk_source *source,
                                      const struct lk_finish *finish,
                                      const struct lk_patience *patience, lk_error *error);
lk_outcome lk_postgresql_examine(struct lk_engine *engine, const struct lk_patience *patience,
                                 lk_report **ret_report, struct lk_error *error);

#endif
