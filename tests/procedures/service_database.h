/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A private database server, as the tests of a store that services share need it: the store itself,
 * and an operator who runs SQL beside it. In SQL `#leader` is the store's table of that name. What
 * fails aborts the program with a message.
 */
#ifndef LK_TESTS_PROCEDURES_SERVICE_DATABASE_H
#define LK_TESTS_PROCEDURES_SERVICE_DATABASE_H

#include "../support.h"
#include "base/buffer.h"
#include "server/store/tables/tables.h"

struct service_database; /* a connection of an operator */

struct service_database *service_database_connect(void);
void service_database_close(struct service_database *database);

/* Statements, separated by `;`. service_database_try() returns false if the server refuses one. */
void service_database_run(struct service_database *database, const char *sql);
bool service_database_try(struct service_database *database, const char *sql);
int64_t service_database_number(struct service_database *database, const char *sql);

/* Opens the store as its administrator, or as a user without rights. */
lk_outcome service_database_open(const char *address, int64_t lease_us, bool is_stranger,
                                 struct lk_storage **ret_storage, lk_error *error);

/* Writes SQL with the names of this store, for free(). */
static inline char *service_database_sql(const char *sql, const char *beginning) {
    struct lk_buffer text = {.max = 0};

    for (; *sql != '\0'; sql++) {
        if (*sql == '#') {
            lk_buffer_add_text(&text, beginning);
        } else {
            lk_buffer_add(&text, sql, 1);
        }
    }
    lk_buffer_add(&text, "", 1);
    if (text.failed) {
        test_die("memory is exhausted");
    }
    return text.bytes;
}

/* What each database says in its own words. */
struct service_words {
    const char *drop;          /* removes the store's tables */
    const char *make_stranger; /* a user without rights */
    const char *begin_renew;   /* a transaction that has checked epoch 1, and is not committed */
    const char *hurry;         /* the session waits for locks for a short time only */
    const char *lead;          /* tries to lead */
    const char *freeze_clock;  /* the store's clock is that of a table, sim_clock (us) */
    const char *empty;         /* removes all rows */
    const char *lock_value;    /* a transaction that has locked the value at v/159 */
    const char *count_writing; /* sessions with a statement under way, except this one */
    /* Where the check of an epoch and the change that follows are two statements, with a look at
     * the clock in between; else NULL. */
    const char *stop_clock;     /* a look at the store's clock waits for this session */
    const char *go_on;          /* ... no more */
    const char *count_stopped;  /* how many wait */
    const char *lock_leader;    /* locks the row of the leader; fails if it is locked */
    const char *count_scans;    /* of all requests; NULL: the server does not count them by table */
    const char *count_searches; /* of requests by a key */
};
extern const struct service_words service_words;

/* Ends all other connections. */
void service_database_cut(struct service_database *database);

#endif
