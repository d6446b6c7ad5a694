/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open store: its address, and its connections.
 *
 * A connection has its own settings, made when it is opened (connection.c), and no other state that
 * stays in its session. Every wait for the server ends with the caller's time budget: libmariadb is
 * used only through its non-blocking calls.
 */
#ifndef LK_ENGINE_MYSQL_STORE_H
#define LK_ENGINE_MYSQL_STORE_H

#include "engine/mysql/address.h"
#include "engine/mysql/libmariadb.h"
#include "engine/procedures/procedures.h"

struct lk_mysql_known;

/* One connection. */
struct lk_mysql_link {
    MYSQL *mysql;
    bool met_hole; /* exchange.c: its last call was repeated because a procedure was missing */
    bool is_lost;  /* broken, or interrupted in mid-exchange: it can only be closed */
    unsigned long long packet_max; /* bytes of a call that the server takes; 0: not asked yet */
};

enum { LK_MYSQL_POLL_LINKS_MAX = 8 };

struct lk_mysql {
    struct lk_procedures common;
    struct lk_mysql_address address;
    struct lk_mysql_known *known; /* table.h; NULL: none. Guarded by the mutex */
    struct lk_mysql_link
        *poll_links[LK_MYSQL_POLL_LINKS_MAX]; /* server_poll.c; idle. Guarded by the mutex */
    size_t poll_link_count;
};

static inline struct lk_mysql *lk_mysql_of(struct lk_engine *engine) {
    return (struct lk_mysql *)engine;
}

/* ---- owners.c -------------------------------------------------------------------------------- */

/*
 * An expression, for free(), whose value does not matter: it is an error (1242) if some of the
 * store is a stranger's. NULL: memory is exhausted.
 */
char *lk_mysql_owner_check(const struct lk_mysql_address *address);
/* LK_DENIED, with a sentence that says what is whose; or why that cannot be told. */
lk_outcome lk_mysql_explain_stranger(const struct lk_mysql_address *address,
                                     struct lk_mysql_link *link, const struct lk_patience *patience,
                                     lk_error *error);

/* ---- connection.c ---------------------------------------------------------------------------- */

/*
 * Connects, within the time budget. LK_OK, LK_DENIED, LK_UNSUPPORTED, LK_UNAVAILABLE, LK_CANCELLED.
 */
lk_outcome lk_mysql_connect(const struct lk_mysql_address *address,
                            const struct lk_patience *patience, struct lk_mysql_link **ret_link,
                            lk_error *error);

/* Checks again whose the store is; lk_mysql_connect() has done it. LK_OK, LK_DENIED; or else. */
lk_outcome lk_mysql_check_owners(const struct lk_mysql_address *address, struct lk_mysql_link *link,
                                 const struct lk_patience *patience, lk_error *error);
void lk_mysql_disconnect(struct lk_mysql_link *link);

/*
 * Runs SQL. LK_OK with the first result, NULL if there is none. LK_INTERNAL: the server refuses it,
 * mysql_errno() says why, the link is usable. Otherwise LK_CANCELLED or LK_UNAVAILABLE with a
 * sentence, and the link is lost.
 */
lk_outcome lk_mysql_query(struct lk_mysql_link *link, struct lk_slice sql,
                          const struct lk_patience *patience, MYSQL_RES **ret_result,
                          lk_error *error);

/*
 * From now on lk_mysql_query() takes several statements, separated by `;`, and ends with the first
 * one that fails. LK_OK, LK_UNAVAILABLE, LK_CANCELLED.
 */
lk_outcome lk_mysql_allow_texts(struct lk_mysql_link *link, const struct lk_patience *patience,
                                lk_error *error);

/* ---- errors.c ------------------------------------------------------------------------------- */

/*
 * Returns the outcome for the error of a connection's last call, with a sentence that says what to
 * do.
 */
lk_outcome lk_mysql_explain(MYSQL *mysql, const char *prefix, lk_error *error);
lk_outcome lk_mysql_explain_connection(MYSQL *mysql, lk_error *error);
lk_outcome lk_mysql_explain_size(lk_error *error); /* of a call that is too large */
lk_outcome lk_mysql_explain_closed(const char *prefix, lk_error *error); /* lk_mysql_is_closed() */

/* The command whose text a DBA runs to make the store with this prefix, or to upgrade it. */
enum { LK_MYSQL_COMMAND_SIZE = LK_MYSQL_PREFIX_MAX + 40 };
void lk_mysql_schema_command(const char *prefix, char ret_command[LK_MYSQL_COMMAND_SIZE]);

/* The fate of a call that the server has refused. */
enum lk_fate lk_mysql_fate_of(MYSQL *mysql);

/* Whether the code means that the store, or a part of it, is missing. */
bool lk_mysql_is_hole(unsigned code);

/*
 * Whether its last call failed because the store is being brought to another format, and is closed
 * for the programs of this one (sql/10_tables.sql).
 */
bool lk_mysql_is_closed(MYSQL *mysql);

/* Whether the code means that this server is read-only. */
bool lk_mysql_is_replica(unsigned code);

/* ---- exchange.c ------------------------------------------------------------------------------ */

extern const struct lk_database lk_mysql_database;

/*
 * Writes a literal that can only be read as this text. Returns the position after it; no 0 is
 * written there.
 */
#define LK_MYSQL_LITERAL_MAX(text_size) (2 * (text_size) + sizeof "x''")
char *lk_mysql_put_literal(char *end, struct lk_slice text);

bool lk_mysql_is_alive(void *connection); /* one that was idle */
char *lk_mysql_put_argument(char *end, enum lk_argument_kind kind, struct lk_slice value);

/* Rows of a result; NULL gives no rows. Takes over the result, unless memory is exhausted. */
struct lk_rows *lk_mysql_rows(MYSQL_RES *result);

/*
 * Called after the server has refused a call or a statement with this code: rolls back what the
 * connection has begun. Returns the fate, or one that makes the caller close the connection: after
 * a reconnect, another server may be the primary.
 */
enum lk_fate lk_mysql_undo(struct lk_mysql_link *link, enum lk_fate fate, unsigned code,
                           const struct lk_patience *patience);

/* ---- source.c, table_info.c, transact.c ------------------------------------------------------ */

/* For lk_mysql_database. */
lk_outcome lk_mysql_table_open(struct lk_procedures *store, const struct lk_source *source,
                               const struct lk_patience *patience, struct lk_source_sql *ret_table,
                               lk_error *error);
enum lk_fate lk_mysql_transact(struct lk_procedures *store, void *connection,
                               struct lk_transaction *transaction,
                               const struct lk_patience *patience, lk_outcome *ret_outcome,
                               lk_error *error);
char *lk_mysql_values_sql(const struct lk_procedures *store);

/* ---- look.c ---------------------------------------------------------------------------------- */

/* For lk_mysql_database. */
char *lk_mysql_write_look(struct lk_procedures *common, const struct lk_ask *ask, int max);

/* ---- server_poll.c --------------------------------------------------------------------------- */

/*
 * Polls inside one call of the database until the request does not wait any more, or has to be
 * asked for again, at `until_us` at the latest. LK_OK, LK_CANCELLED. LK_UNAVAILABLE: it could not
 * wait there, or not long enough; the caller polls until the time is up.
 */
lk_outcome lk_mysql_server_poll(struct lk_mysql *store, uint64_t request, int64_t until_us,
                                struct lk_waker *waker);
void lk_mysql_poll_links_done(struct lk_mysql *store);

/* ---- schema_install.c ------------------------------------------------------------------------ */

struct lk_mysql_format; /* script.h */

/*
 * Installs the store if it is missing, or returns LK_NONE if it must exist. Brings one of an
 * earlier format up to date, unless the caller only reads (it must exist). LK_UNSUPPORTED: it is of
 * another format and stays as it is, or in use by programs of an earlier one.
 */
lk_outcome lk_mysql_prepare(struct lk_mysql *store, const struct lk_mysql_format *format,
                            bool must_exist, const struct lk_patience *patience, lk_error *error);

/*
 * Called after the server has said that something of the store is missing, or not as it should
 * be, which `outcome` and the sentence in `error` explain. LK_UNSUPPORTED with another sentence if
 * the store has been brought to another format, else `outcome`.
 */
lk_outcome lk_mysql_explain_hole(const struct lk_mysql *store, struct lk_mysql_link *link,
                                 const struct lk_patience *patience, lk_outcome outcome,
                                 lk_error *error);

/* Whether an installation or an upgrade of the store is running. */
bool lk_mysql_is_in_the_making(const struct lk_mysql *store, struct lk_mysql_link *link,
                               const struct lk_patience *patience);

/* ---- operations of the table ----------------------------------------------------------------- */

lk_outcome lk_mysql_await(struct lk_engine *engine, const struct lk_wait_cursor *cursor,
                          int64_t until_us, struct lk_waker *waker);
lk_outcome lk_mysql_await_events(struct lk_engine *engine, uint64_t after, int64_t until_us,
                                 struct lk_waker *waker);
lk_outcome lk_mysql_await_revoked(struct lk_engine *engine, struct lk_revoked *revoked,
                                  int64_t until_us, struct lk_waker *waker);
lk_outcome lk_mysql_table_check(struct lk_engine *engine, const struct lk_source *source,
                                const struct lk_patience *patience, lk_error *error);
lk_outcome lk_mysql_examine(struct lk_engine *engine, const struct lk_patience *patience,
                            lk_report **ret_report, struct lk_error *error);

#endif
