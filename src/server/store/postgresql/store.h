/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store of a service in PostgreSQL, for the files that implement it: store_postgresql.c
 * (opening, leading, hosts), session.c (the connection), columns.c (what a batch writes), pages.c
 * (what a load reads). What other databases do alike is in server/store/tables. One connection,
 * used by one thread at a time.
 */
#ifndef LK_SERVER_STORE_POSTGRESQL_STORE_H
#define LK_SERVER_STORE_POSTGRESQL_STORE_H

#include <stdint.h>

#include "base/slice.h"
#include "engine/postgresql/store.h"
#include "server/store/tables/tables.h"

/* ---- columns.c: arrays ----------------------------------------------------------------------- */

/*
 * A parameter of a statement that is a whole column: an array of one dimension without NULLs, in
 * the binary format of PostgreSQL's array_recv().
 */

enum lk_array_kind { LK_ARRAY_BIGINT, LK_ARRAY_BOOLEAN, LK_ARRAY_TEXT, LK_ARRAY_BYTEA };

struct lk_array {
    char *bytes;
    size_t size;
    size_t capacity;
    uint32_t count;
    bool has_failed; /* memory is exhausted: elements are missing */
};

void lk_array_done(struct lk_array *array);
void lk_array_clear(struct lk_array *array); /* keeps its memory */

void lk_array_add_bigint(struct lk_array *array, int64_t value);
void lk_array_add_boolean(struct lk_array *array, bool value);
void lk_array_add_bytes(struct lk_array *array, struct lk_slice bytes); /* text and bytea */

/* Completes the array. false: memory is exhausted, or it is longer than a parameter may be. */
bool lk_array_close(struct lk_array *array, enum lk_array_kind kind);

/* Bytes in the order of the protocol. */
void lk_array_put32(char *ret_bytes, uint32_t value);
int64_t lk_array_get64(const char *bytes);

/* ---- columns.c: statements ------------------------------------------------------------------- */

/* What a batch writes, by the kind of its rows: one statement for all rows of a kind. */
struct lk_pg_statement {
    const char *name;    /* under which each connection prepares it */
    const char *sql;     /* with one parameter for each column */
    const char *columns; /* their kinds: i bigint, b boolean, t text, y bytea */
};

extern const struct lk_pg_statement lk_pg_statements[LK_TABLES_KINDS];

enum lk_array_kind lk_pg_column_kind(char column);

/* ---- the store ------------------------------------------------------------------------------- */

/* The rows of one kind that a batch has, up to where they must be written. */
struct lk_pg_group {
    struct lk_array columns[LK_TABLES_COLUMNS_MAX];
    uint32_t count;
};

struct lk_store_pg {
    struct lk_tables tables; /* first */
    struct lk_postgresql_address address;
    size_t first_host;     /* of those of the URL: the next attempt to connect begins with it; one
                         * that was silent, or could not do a commit, is not the first again */
    PGconn *connection;    /* NULL: there is none */
    bool is_unconfirmed;   /* a commit on it was not waited for until the standby had it */
    bool can_look;         /* at the server's standbys: the user may lack the right */
    int64_t look_after_us; /* the next look; each has a statement `lk_standbys` */
    PGresult *rows;        /* of the page that is read; NULL: none is */
    int row;
    struct lk_pg_group groups[LK_TABLES_KINDS];
};

static inline struct lk_store_pg *lk_store_pg_of(struct lk_tables *tables) {
    return (struct lk_store_pg *)tables;
}

/* ---- store_postgresql.c: hosts --------------------------------------------------------------- */

/* How many hosts a URL has; and the URL with them in turn, from another first one. For free();
 * NULL: no memory. */
size_t lk_pg_hosts_count(const char *url);
char *lk_pg_hosts_turn(const char *url, size_t first);

/* ---- session.c ------------------------------------------------------------------------------- */

/* Connects if there is no connection, and makes the tables if they are missing. */
lk_outcome lk_pg_connect(struct lk_store_pg *store, const struct lk_patience *patience,
                         lk_error *error);
void lk_pg_disconnect(struct lk_store_pg *store);

/*
 * A transaction: statements are sent after each other, and all results are awaited at the end.
 * begin() sends the check of the epoch; its parameters are texts, NULL: SQL's NULL. What returns
 * false could not be sent; then commit() is told so, and fails.
 */
enum { LK_PG_RENEW_PARAMETERS = 4, LK_PG_NUMBER_BYTES = 24 };
bool lk_pg_begin(struct lk_store_pg *store, const char *const renew[LK_PG_RENEW_PARAMETERS]);
bool lk_pg_send(struct lk_store_pg *store, const char *name, int count, const char *const *values,
                const int *lengths, const int *formats);

/*
 * LK_OK: committed, with the rows of the last query in *ret_rows if that is not NULL. LK_LOST:
 * another service leads. Else it is unknown whether it was committed. Unless it is LK_OK there is
 * no connection any more.
 */
lk_outcome lk_pg_commit(struct lk_store_pg *store, bool is_sent, const struct lk_patience *patience,
                        PGresult **ret_rows, lk_error *error);

/* One statement in a transaction of its own, which checks no epoch. */
lk_outcome lk_pg_ask(struct lk_store_pg *store, const char *name, int count,
                     const char *const *values, const struct lk_patience *patience,
                     PGresult **ret_rows, lk_error *error);

/* The parameters of lk_pg_begin() that only check and renew. */
void lk_pg_renew_only(uint64_t epoch, char ret_epoch[LK_PG_NUMBER_BYTES],
                      const char *ret_parameters[LK_PG_RENEW_PARAMETERS]);

/* ---- columns.c, pages.c: for lk_tables_ops --------------------------------------------------- */

void lk_pg_add_row(struct lk_tables *tables, enum lk_tables_kind kind);
void lk_pg_add_number(struct lk_tables *tables, enum lk_tables_kind kind, int column,
                      int64_t number);
void lk_pg_add_truth(struct lk_tables *tables, enum lk_tables_kind kind, int column, bool truth);
void lk_pg_add_bytes(struct lk_tables *tables, enum lk_tables_kind kind, int column,
                     struct lk_slice bytes);
bool lk_pg_flush(struct lk_tables *tables, enum lk_tables_kind kind);
void lk_pg_clear(struct lk_tables *tables, enum lk_tables_kind kind);
bool lk_pg_sweep(struct lk_tables *tables, enum lk_tables_sweep sweep, uint64_t last);
void lk_pg_columns_done(struct lk_store_pg *store);

lk_outcome lk_pg_fetch(struct lk_tables *tables, enum lk_tables_page page, const char *const *keys,
                       lk_error *error);
bool lk_pg_next(struct lk_tables *tables);
struct lk_slice lk_pg_cell(const struct lk_tables *tables, int column);
int64_t lk_pg_number(struct lk_slice cell);
bool lk_pg_truth(struct lk_slice cell);
void lk_pg_fetched(struct lk_tables *tables);

/* ---- pages.c --------------------------------------------------------------------------------- */

/* The queries that load the tables, a bounded number of rows at a time. */

/* $1, $2: the page begins behind these keys, which are the first columns. */
struct lk_pg_page {
    const char *name;
    const char *sql;
};

extern const struct lk_pg_page lk_pg_pages[LK_TABLES_PAGES];

#endif
