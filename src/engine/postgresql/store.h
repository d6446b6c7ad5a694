/* SPDX-License-Identifier: Apache-2.0 */
/* An open store: its address, and its listener. No connection relies on state in its session. */
#ifndef LK_ENGINE_POSTGRESQL_STORE_H
#define LK_ENGINE_POSTGRESQL_STORE_H

#include <stdatomic.h>

#include "engine/postgresql/address.h"
#include "engine/postgresql/hosts.h"
#include "engine/postgresql/libpq.h"
#include "engine/postgresql/listener.h"
#include "engine/procedures/table.h"

enum {
    LK_POSTGRESQL_KNOWN_MAX = 4, /* tables remembered at a time; the first is replaced */
    LK_POSTGRESQL_NAME_MAX = 63, /* bytes of a name in PostgreSQL */
};

struct lk_postgresql_table_info; /* source.h */

/* R17: a table of the owner's, by the name given, and what the database reports about it. */
struct lk_postgresql_known {
    char table[2 * LK_POSTGRESQL_NAME_MAX + 2];
    char id_column[LK_POSTGRESQL_NAME_MAX + 1];
    struct lk_postgresql_table_info *info; /* NULL: none */
};

struct lk_postgresql {
    struct lk_procedures common;
    struct lk_postgresql_address address;
    struct lk_postgresql_listener *listener;                   /* shared */
    struct lk_postgresql_known known[LK_POSTGRESQL_KNOWN_MAX]; /* guarded by the mutex */
    size_t known_next;
    atomic_bool is_nameless; /* prepared.c: prepared statements cannot be used here */
};

static inline struct lk_postgresql *lk_postgresql_of(struct lk_engine *engine) {
    return (struct lk_postgresql *)engine;
}

/* ---- connection.c ---------------------------------------------------------------------------- */

/* Starts to connect. The connection prints no notices; NULL when memory is exhausted. */
PGconn *lk_postgresql_begin(const char *url, const struct lk_postgresql_hosts *hosts);

/*
 * Connects, within the time budget. LK_OK, LK_DENIED, LK_INVALID, LK_UNSUPPORTED, LK_UNAVAILABLE,
 * LK_CANCELLED.
 */
lk_outcome lk_postgresql_connect(const char *url, const struct lk_patience *patience,
                                 PGconn **ret_connection, lk_error *error);

/*
 * Waits for the answer to what was sent. LK_OK with *ret_result, for PQclear(); LK_CANCELLED and
 * LK_UNAVAILABLE leave the connection unusable.
 */
lk_outcome lk_postgresql_receive(PGconn *connection, const struct lk_patience *patience,
                                 PGresult **ret_result, lk_error *error);

/* Waits for the next result of what was sent; NULL after the last. */
lk_outcome lk_postgresql_next(PGconn *connection, const struct lk_patience *patience,
                              PGresult **ret_result, lk_error *error);

/* LK_UNAVAILABLE, with the reason why the connection was lost. */
lk_outcome lk_postgresql_lose(const PGconn *connection, lk_error *error);

/* Discards notifications for other clients, which a pooler's connection may carry. */
void lk_postgresql_drop_notifications(PGconn *connection);

/* Runs SQL without arguments. LK_OK with the last result; else an outcome with its sentence. */
lk_outcome lk_postgresql_execute(PGconn *connection, const char *sql, const char *schema,
                                 const struct lk_patience *patience, PGresult **ret_result,
                                 lk_error *error);

/* The command that prints what a DBA runs for a schema, and grants. */
enum { LK_POSTGRESQL_COMMAND_SIZE = LK_POSTGRESQL_SCHEMA_MAX + 40 };
void lk_postgresql_schema_command(const char *schema, char ret_command[LK_POSTGRESQL_COMMAND_SIZE]);

/* Returns the outcome for a server's error, with a sentence that says what to do. */
lk_outcome lk_postgresql_explain(const PGresult *result, const char *schema, lk_error *error);

/*
 * Whether the result failed with one of these SQLSTATE codes (five letters) or classes (two
 * letters): "42P01 08".
 */
bool lk_postgresql_has_code(const PGresult *result, const char *codes);

/* Whether it failed because of a concurrent transaction and may be retried. */
bool lk_postgresql_is_conflict(const PGresult *result);

/* Whether it failed because something of the store is missing, or not as this program knows it. */
bool lk_postgresql_is_hole(const PGresult *result);

/* Whether it failed because the database is read-only. */
bool lk_postgresql_is_read_only(const PGresult *result);

/* ---- exchange.c ------------------------------------------------------------------------------ */

extern const struct lk_database lk_postgresql_database;

/*
 * The rows of a result; freeing them frees the result. NULL: memory is exhausted; the result
 * remains.
 */
struct lk_rows *lk_postgresql_rows(PGresult *result);

/* ---- owners.c -------------------------------------------------------------------------------- */

/*
 * Texts for free(), NULL when memory is exhausted. The first fails with SQLSTATE LK077 if the
 * schema has code of a stranger. The others begin with it: the one that reads format and
 * owner of the store, and `sql` after the check, which may leave a failed transaction.
 */
char *lk_postgresql_check_sql(const char *schema, const char *owner);
char *lk_postgresql_present_sql(const struct lk_postgresql_address *address);
char *lk_postgresql_checked_sql(const struct lk_postgresql_address *address, const char *sql);

/* The check in pipeline mode: its statements, of which one fails, and with it all after them. */
enum { LK_POSTGRESQL_CHECK_STATEMENTS = 3 };
bool lk_postgresql_send_check(const struct lk_postgresql_address *address, PGconn *connection);

/* ---- schema_install.c ------------------------------------------------------------------------ */

struct lk_postgresql_format; /* schema.h */

/*
 * Creates the schema if it is missing, or returns LK_NONE if it must exist. Brings one of an
 * earlier format up to date, unless the caller only reads (it must exist). LK_UNSUPPORTED: it is of
 * another format and stays as it is, or in use by programs of an earlier one.
 */
lk_outcome lk_postgresql_prepare(struct lk_postgresql *store,
                                 const struct lk_postgresql_format *format, bool must_exist,
                                 const struct lk_patience *patience, lk_error *error);

/*
 * Called after the server has said that something of the store is missing, or not as it should
 * be, which `outcome` and the sentence in `error` explain. LK_UNSUPPORTED with another sentence if
 * the store has been brought to another format, else `outcome`.
 */
lk_outcome lk_postgresql_explain_hole(struct lk_postgresql *store, PGconn *connection,
                                      const struct lk_patience *patience, lk_outcome outcome,
                                      lk_error *error);

/* ---- table_info.c ---------------------------------------------------------------------------- */

/* Forgets what is remembered about tables. */
void lk_postgresql_table_infos_done(struct lk_postgresql *store);

/* ---- transact.c: pipeline mode --------------------------------------------------------------- */

bool lk_postgresql_send_text(PGconn *connection, const char *sql);

/* Takes over a result of statement `number`, from 0. false: memory is exhausted. */
typedef bool lk_postgresql_keep(void *context, size_t number, PGresult *result);

/* LK_OK: the Sync was reached, and pipeline mode is left. */
lk_outcome lk_postgresql_receive_all(PGconn *connection, const struct lk_patience *patience,
                                     lk_postgresql_keep *keep, void *context, lk_error *error);

/* Rolls back the transaction that an error has left open. false: the connection is unusable. */
bool lk_postgresql_roll_back(struct lk_postgresql *store, PGconn *connection,
                             const struct lk_patience *patience);

/* ---- source.c, transact.c -------------------------------------------------------------------- */

/* For lk_postgresql_database. */
lk_outcome lk_postgresql_table_open(struct lk_procedures *store, const struct lk_source *source,
                                    const struct lk_patience *patience,
                                    struct lk_source_sql *ret_table, lk_error *error);
enum lk_fate lk_postgresql_transact(struct lk_procedures *store, void *connection,
                                    struct lk_transaction *transaction,
                                    const struct lk_patience *patience, lk_outcome *ret_outcome,
                                    lk_error *error);
extern const char lk_postgresql_plan_sql[];
char *lk_postgresql_values_sql(const struct lk_procedures *store);

/* ---- operations of the table ----------------------------------------------------------------- */

lk_outcome lk_postgresql_await(struct lk_engine *engine, const struct lk_wait_cursor *cursor,
                               int64_t until_us, struct lk_waker *waker);
lk_outcome lk_postgresql_await_events(struct lk_engine *engine, uint64_t after, int64_t until_us,
                                      struct lk_waker *waker);
lk_outcome lk_postgresql_await_revoked(struct lk_engine *engine, struct lk_revoked *revoked,
                                       int64_t until_us, struct lk_waker *waker);
lk_outcome lk_postgresql_table_check(struct lk_engine *engine, const struct lk_source *source,
                                     const struct lk_patience *patience, lk_error *error);
lk_outcome lk_postgresql_examine(struct lk_engine *engine, const struct lk_patience *patience,
                                 lk_report **ret_report, struct lk_error *error);

#endif
