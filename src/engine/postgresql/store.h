/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that is open: where it is, and who listens. No connection relies on anything in its
 * session.
 */
#ifndef LK_ENGINE_POSTGRESQL_STORE_H
#define LK_ENGINE_POSTGRESQL_STORE_H

#include <libpq-fe.h>
#include <stdatomic.h>

#include "engine/postgresql/listener.h"
#include "engine/postgresql/place.h"
#include "engine/procedures/table.h"

enum {
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
    struct lk_procedures common;
    struct lk_postgresql_place place;
    struct lk_listener listener;
    struct lk_postgresql_known known[LK_POSTGRESQL_KNOWN_MAX]; /* guarded by the mutex */
    size_t known_next;
    atomic_bool is_nameless; /* named.c: names are of no use here */
};

static inline struct lk_postgresql *lk_postgresql_of(struct lk_engine *engine) {
    return (struct lk_postgresql *)engine;
}

/* ---- connection.c ---------------------------------------------------------------------------- */

/* Begins to connect. The connection says nothing by itself; NULL where memory is exhausted. */
PGconn *lk_postgresql_begin(const char *url);

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

/* Whether it failed with one of these codes of five letters, or of a class of two: "42P01 08". */
bool lk_postgresql_has_code(const PGresult *result, const char *codes);

/* Whether it failed for being one of several at once, and may be tried again. */
bool lk_postgresql_is_conflict(const PGresult *result);

/* Whether it failed because the database can only be read. */
bool lk_postgresql_is_read_only(const PGresult *result);

/* ---- exchange.c ------------------------------------------------------------------------------ */

extern const struct lk_database lk_postgresql_database;

/* Rows of a result, which they end with themselves. NULL: memory is exhausted, nothing is ended. */
struct lk_rows *lk_postgresql_rows(PGresult *result);

/* ---- found.c --------------------------------------------------------------------------------- */

/* Makes the schema if it is missing, brings an older one up to date, refuses a newer one. */
lk_outcome lk_postgresql_prepare(struct lk_postgresql *store, const struct lk_patience *patience,
                                 lk_error *error);

/* ---- shape.c --------------------------------------------------------------------------------- */

/* Forgets what is known of tables. */
void lk_postgresql_shapes_done(struct lk_postgresql *store);

/* ---- source.c, transact.c -------------------------------------------------------------------- */

/* Of lk_postgresql_database. */
lk_outcome lk_postgresql_table_open(struct lk_procedures *store, const struct lk_source *source,
                                    const struct lk_patience *patience, struct lk_table *ret_table,
                                    lk_error *error);
enum lk_fate lk_postgresql_transact(struct lk_procedures *store, void *connection,
                                    struct lk_transaction *transaction,
                                    const struct lk_patience *patience, lk_outcome *ret_outcome,
                                    lk_error *error);

/* ---- operations of the table ----------------------------------------------------------------- */

lk_outcome lk_postgresql_await(struct lk_engine *engine, const struct lk_stand *stand,
                               int64_t until_us, struct lk_waker *waker);
lk_outcome lk_postgresql_await_work(struct lk_engine *engine, const struct lk_path *queue,
                                    const struct lk_stand *stand, int64_t until_us,
                                    struct lk_waker *waker);
lk_outcome lk_postgresql_await_events(struct lk_engine *engine, uint64_t after, int64_t until_us,
                                      struct lk_waker *waker);
lk_outcome lk_postgresql_table_check(struct lk_engine *engine, const struct lk_source *source,
                                     const struct lk_patience *patience, lk_error *error);
lk_outcome lk_postgresql_examine(struct lk_engine *engine, const struct lk_patience *patience,
                                 lk_report **ret_report, struct lk_error *error);

#endif
