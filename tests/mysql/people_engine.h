/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides by the public procedures (92_public_locks.sql and those behind it), on one
 * connection: in a transaction of the caller's, with others before and in it that are rolled back,
 * or by autocommit. The rest is left to the library's engine.
 */
#ifndef LK_TESTS_MYSQL_PEOPLE_ENGINE_H
#define LK_TESTS_MYSQL_PEOPLE_ENGINE_H

#include <mysql.h>

#include "../support.h"

/* The connection, which all engines of a store share. */
struct people {
    MYSQL *connection;
    struct lk_random random;
    MYSQL *stale;             /* that of people_stale.h */
    unsigned stale_way;       /* into its open transaction; 0: none is open */
    unsigned stale_counts[2]; /* it answered as a new transaction did; it was refused */
    unsigned counts[4]; /* decisions by autocommit; in a transaction; decoys that were rolled back;
                           and what was left to the library's engine */
};

/* Makes an engine of the library's decide so. Borrows `people`; one store is played at a time. */
void people_engine_turn(struct people *people, struct lk_engine *engine);

#endif
