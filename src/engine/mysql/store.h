/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that is open: where it is, and its connections.
 *
 * A connection has its own settings, made when it is (connection.c), and nothing else that stays in
 * its session. Every wait for the server is one that the caller's patience ends: libmariadb is used
 * through its non-blocking calls alone.
 */
#ifndef LK_ENGINE_MYSQL_STORE_H
#define LK_ENGINE_MYSQL_STORE_H

#include <mysql.h>

#include "engine/mysql/place.h"
#include "engine/procedures/procedures.h"

struct lk_mysql_known;

struct lk_mysql {
    struct lk_procedures common;
    struct lk_mysql_place place;
    struct lk_mysql_known *known; /* table.h; NULL: none. By the mutex */
};

/* One connection. */
struct lk_mysql_link {
    MYSQL *mysql;
    bool is_lost; /* or left in the middle of something: it is good for nothing but closing */
};

static inline struct lk_mysql *lk_mysql_of(struct lk_engine *engine) {
    return (struct lk_mysql *)engine;
}

/* ---- connection.c ---------------------------------------------------------------------------- */

/* Connects, within the patience. LK_OK, LK_DENIED, LK_UNSUPPORTED, LK_UNAVAILABLE, LK_CANCELLED. */
lk_outcome lk_mysql_connect(const struct lk_mysql_place *place, const struct lk_patience *patience,
                            struct lk_mysql_link **ret_link, lk_error *error);
void lk_mysql_disconnect(struct lk_mysql_link *link);

/*
 * Runs SQL. LK_OK with the first result, NULL if there is none. LK_INTERNAL: the server refuses it,
 * mysql_errno() says why, the link is good. Else LK_CANCELLED or LK_UNAVAILABLE with a sentence,
 * and the link is lost.
 */
lk_outcome lk_mysql_query(struct lk_mysql_link *link, struct lk_slice sql,
                          const struct lk_patience *patience, MYSQL_RES **ret_result,
                          lk_error *error);

/* ---- trouble.c ------------------------------------------------------------------------------- */

/* The outcome that the error of a connection's last call means, with a sentence of what to do. */
lk_outcome lk_mysql_explain(MYSQL *mysql, const char *prefix, lk_error *error);
lk_outcome lk_mysql_explain_connection(MYSQL *mysql, lk_error *error);

/* What became of a call that the server has refused. */
enum lk_fate lk_mysql_fate_of(MYSQL *mysql);

/* Whether it means that the store, or a part of it, is not there. */
bool lk_mysql_is_hole(unsigned code);

/* Whether it means that this server can only be read. */
bool lk_mysql_is_replica(unsigned code);

/* ---- exchange.c ------------------------------------------------------------------------------ */

extern const struct lk_database lk_mysql_database;

/* A literal that cannot be anything but this text; returns what is behind it, where no 0 is put. */
#define LK_MYSQL_LITERAL_MAX(text_size) (2 * (text_size) + sizeof "x''")
char *lk_mysql_put_literal(char *end, struct lk_slice text);

char *lk_mysql_put_argument(char *end, enum lk_argument_kind kind, struct lk_slice value);

/* Of no result: no rows. Takes the result over, unless memory is exhausted. */
struct lk_rows *lk_mysql_rows(MYSQL_RES *result);

/*
 * The server has refused a call or a statement, with this code: what the connection has begun is
 * undone. Returns the fate, or one with which it is closed: who asks again may find that another
 * server is the primary now.
 */
enum lk_fate lk_mysql_undo(struct lk_mysql_link *link, enum lk_fate fate, unsigned code,
                           const struct lk_patience *patience);

/* ---- source.c, shape.c, transact.c ----------------------------------------------------------- */

/* Of lk_mysql_database. */
lk_outcome lk_mysql_table_open(struct lk_procedures *store, const struct lk_source *source,
                               const struct lk_patience *patience, struct lk_table *ret_table,
                               lk_error *error);
enum lk_fate lk_mysql_transact(struct lk_procedures *store, void *connection,
                               struct lk_transaction *transaction,
                               const struct lk_patience *patience, lk_outcome *ret_outcome,
                               lk_error *error);

/* ---- found.c --------------------------------------------------------------------------------- */

/* Makes what the store is made of if it is missing; refuses what is newer. */
lk_outcome lk_mysql_prepare(struct lk_mysql *store, const struct lk_patience *patience,
                            lk_error *error);

/* Whether somebody is making the store, or brings it up to date, just now. */
bool lk_mysql_is_in_the_making(const struct lk_mysql *store, struct lk_mysql_link *link,
                               const struct lk_patience *patience);

/* ---- operations of the table ----------------------------------------------------------------- */

lk_outcome lk_mysql_await(struct lk_engine *engine, const struct lk_stand *stand, int64_t until_us,
                          struct lk_waker *waker);
lk_outcome lk_mysql_await_work(struct lk_engine *engine, const struct lk_path *queue,
                               const struct lk_stand *stand, int64_t until_us,
                               struct lk_waker *waker);
lk_outcome lk_mysql_await_events(struct lk_engine *engine, uint64_t after, int64_t until_us,
                                 struct lk_waker *waker);
lk_outcome lk_mysql_table_check(struct lk_engine *engine, const struct lk_source *source,
                                const struct lk_patience *patience, lk_error *error);
lk_outcome lk_mysql_examine(struct lk_engine *engine, const struct lk_patience *patience,
                            lk_report **ret_report, struct lk_error *error);

#endif
