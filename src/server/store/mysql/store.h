/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store of a service in MySQL or MariaDB, for the files that implement it: store_mysql.c
 * (opening, making the tables, leading), session.c (the connection, what a load reads), texts.c
 * (what a batch writes). What other databases do alike is in server/store/tables. One connection,
 * used by one thread at a time.
 *
 * A transaction is one text of several statements, which the server has received as a whole before
 * it begins with it. So no lock waits for a client: one that is stopped, or whose machine is lost,
 * holds none after the server has done its last text. Only a batch larger than a packet takes
 * several texts; its session ends soon when it is left alone.
 */
#ifndef LK_SERVER_STORE_MYSQL_STORE_H
#define LK_SERVER_STORE_MYSQL_STORE_H

#include "base/buffer.h"
#include "engine/mysql/store.h"
#include "server/store/tables/tables.h"

enum { LK_STORE_MYSQL_NAME_BYTES = LK_MYSQL_PREFIX_MAX + sizeof "service_..." };

/* The statements of one kind of rows that a batch has. */
struct lk_mysql_group {
    struct lk_buffer text;
    struct lk_buffer ends; /* of the finished statements in it, each a size_t */
    size_t begun;          /* where the unfinished statement begins */
    unsigned row_count;    /* of the unfinished statement; 0: there is none */
};

struct lk_store_mysql {
    struct lk_tables tables; /* first */
    struct lk_mysql_address address;
    char name[LK_STORE_MYSQL_NAME_BYTES]; /* of the tables, for people */
    struct lk_mysql_link *link;           /* NULL: there is no connection */
    const struct lk_store_risk *risk;     /* of the server's settings, when it was connected */
    size_t text_max;                      /* bytes of a text */
    MYSQL_RES *rows;                      /* of the page that is read; NULL: none is */
    MYSQL_ROW row;
    const unsigned long *sizes; /* of its cells */
    struct lk_buffer text;      /* the next one of the transaction */
    bool is_split;              /* an earlier text of the transaction has been sent */
    lk_outcome outcome;         /* of the texts that were sent */
    lk_error *error;
    struct lk_mysql_group groups[LK_TABLES_KINDS];
};

static inline struct lk_store_mysql *lk_store_mysql_of(struct lk_tables *tables) {
    return (struct lk_store_mysql *)tables;
}

/* ---- session.c ------------------------------------------------------------------------------- */

/* Connects if there is no connection, and makes the tables if they are missing. */
lk_outcome lk_store_mysql_connect(struct lk_store_mysql *store, const struct lk_patience *patience,
                                  lk_error *error);
void lk_store_mysql_disconnect(struct lk_store_mysql *store);

/* Adds SQL to a text; what begins with lk_ has the prefix of the store instead. */
void lk_store_mysql_put(const struct lk_store_mysql *store, struct lk_buffer *text,
                        const char *sql);
void lk_store_mysql_put_literal(struct lk_buffer *text, struct lk_slice bytes);

/*
 * Runs a text, and frees it of its content. LK_OK with its first rows, if ret_rows is not NULL.
 * LK_LOST: another service leads. Else it is unknown whether it took effect. Unless it is LK_OK
 * there is no connection any more.
 */
lk_outcome lk_store_mysql_run(struct lk_store_mysql *store, struct lk_buffer *text,
                              const struct lk_patience *patience, MYSQL_RES **ret_rows,
                              lk_error *error);

/* What the server has refused, in a sentence. */
lk_outcome lk_store_mysql_explain(const struct lk_store_mysql *store, lk_error *error);

/* Adds the check of the epoch. `watch_us`: see lk_service_renew; NULL: SQL's NULL. */
void lk_store_mysql_put_renew(const struct lk_store_mysql *store, struct lk_buffer *text,
                              uint64_t draw_floor, uint64_t last_event, const int64_t *watch_us);

/* Adds a statement that bounds the time for which the session may be idle. */
void lk_store_mysql_put_idle(const struct lk_store_mysql *store, struct lk_buffer *text);

/* ---- store_mysql.c: making the tables -------------------------------------------------------- */

/* Makes the tables if they are missing; refuses those of another version. */
lk_outcome lk_store_mysql_prepare(struct lk_store_mysql *store, const struct lk_patience *patience,
                                  lk_error *error);

/* ---- texts.c, session.c: for lk_tables_ops --------------------------------------------------- */

void lk_store_mysql_add_row(struct lk_tables *tables, enum lk_tables_kind kind);
void lk_store_mysql_add_number(struct lk_tables *tables, enum lk_tables_kind kind, int column,
                               int64_t number);
void lk_store_mysql_add_left(struct lk_tables *tables, enum lk_tables_kind kind, int column,
                             int64_t left_us);
void lk_store_mysql_add_truth(struct lk_tables *tables, enum lk_tables_kind kind, int column,
                              bool truth);
void lk_store_mysql_add_bytes(struct lk_tables *tables, enum lk_tables_kind kind, int column,
                              struct lk_slice bytes);
bool lk_store_mysql_flush(struct lk_tables *tables, enum lk_tables_kind kind);
void lk_store_mysql_clear(struct lk_tables *tables, enum lk_tables_kind kind);
bool lk_store_mysql_sweep(struct lk_tables *tables, enum lk_tables_sweep sweep, uint64_t last);
void lk_store_mysql_texts_done(struct lk_store_mysql *store);

lk_outcome lk_store_mysql_fetch(struct lk_tables *tables, enum lk_tables_page page,
                                const char *const *keys, lk_error *error);
bool lk_store_mysql_next(struct lk_tables *tables);
struct lk_slice lk_store_mysql_cell(const struct lk_tables *tables, int column);
int64_t lk_store_mysql_number(struct lk_slice cell);
bool lk_store_mysql_truth(struct lk_slice cell);
void lk_store_mysql_fetched(struct lk_tables *tables);

#endif
