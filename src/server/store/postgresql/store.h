/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store of a service in PostgreSQL, for the files that implement it: store_postgresql.c
 * (opening, loading, leading), session.c (the connection), hosts.c (where it leads), rows.c (rows
 * to statements), pages.c (rows to a model). One connection, used by one thread at a time.
 */
#ifndef LK_SERVER_STORE_POSTGRESQL_STORE_H
#define LK_SERVER_STORE_POSTGRESQL_STORE_H

#include "engine/postgresql/store.h"
#include "server/store/postgresql/statements.h"
#include "server/store/store.h"

enum { LK_PG_PROCESS_BYTES = 33 };

/* The rows of one kind that a batch has, up to where they must be written. */
struct lk_pg_group {
    struct lk_array columns[LK_PG_COLUMNS_MAX];
    uint32_t count;
};

/* The keys of rows that are not sent yet, each with the kind of its last row. */
struct lk_pg_keys {
    struct lk_pg_key {
        uint64_t hash; /* 0: free */
        enum lk_pg_kind kind;
    } * slots;
    size_t capacity; /* a power of 2 */
    size_t count;
};

struct lk_store_pg {
    struct lk_storage storage; /* first */
    struct lk_postgresql_address address;
    char advertised[LK_LEADER_BYTES_MAX + 1];
    char process[LK_PG_PROCESS_BYTES];
    int64_t lease_us;
    bool has_users;
    size_t first_host;     /* of those of the URL: the next attempt to connect begins with it; one
                         * that was silent, or could not do a commit, is not the first again */
    PGconn *connection;    /* NULL: there is none */
    bool is_unconfirmed;   /* a commit on it was not waited for until the standby had it */
    bool can_look;         /* at the server's standbys: the user may lack the right */
    int64_t look_after_us; /* the next look; each has a statement `lk_standbys` */
    uint64_t epoch;        /* that this service has begun last; 0: none */
    bool is_foreign;       /* before it another service has led, and no load has succeeded since */
    uint64_t forgotten;    /* there is no event up to this number */
    int64_t ended_count;
    int64_t sweep_after_us;
    struct lk_pg_group groups[LK_PG_KINDS];
    struct lk_pg_keys values;
    struct lk_pg_keys items;
};

static inline struct lk_store_pg *lk_store_pg_of(struct lk_storage *storage) {
    return (struct lk_store_pg *)storage;
}

/* ---- hosts.c --------------------------------------------------------------------------------- */

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

struct lk_patience lk_pg_patience(const struct lk_store_pg *store);

/* ---- rows.c ---------------------------------------------------------------------------------- */

/* Sends the batch's rows. false: the connection is lost, or memory is exhausted. */
bool lk_pg_send_rows(struct lk_store_pg *store, const struct lk_batch *batch);
void lk_pg_rows_done(struct lk_store_pg *store);

/* ---- pages.c --------------------------------------------------------------------------------- */

/*
 * Fills the snapshot from the tables. `here_us`: what is to be added to an instant of the database
 * to have it on the clock of this service.
 */
lk_outcome lk_pg_load_pages(struct lk_store_pg *store, struct lk_core_snapshot *snapshot,
                            int64_t here_us, lk_error *error);

#endif
