/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine that decides by the public functions (92_public_locks.sql and the next ones), in
 * transactions of one connection. Several decisions may share one, with others between them that
 * are rolled back, wholly or to a savepoint. What these functions do not have, and what lists the
 * store, is left to the library's engine, after a commit.
 */
#ifndef LK_TESTS_POSTGRESQL_PEOPLE_ENGINE_H
#define LK_TESTS_POSTGRESQL_PEOPLE_ENGINE_H

#include <libpq-fe.h>

#include "../support.h"

/* The connection, which all engines of a store share. */
struct people {
    PGconn *connection;
    const char *schema;
    struct lk_random random;
    bool is_open;       /* a transaction */
    unsigned counts[4]; /* decisions alone; in a shared transaction; decoys that were rolled back;
                           and what was left to the library's engine */
};

void people_commit(struct people *people);

/* Takes `real`, which it closes; borrows `people`. */
struct lk_engine *people_engine_open(struct people *people, struct lk_engine *real);

#endif
