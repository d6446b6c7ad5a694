/* SPDX-License-Identifier: Apache-2.0 */
/* What is written by hand for PostgreSQL, beside the library: connections and statements. */
#ifndef LK_BENCH_BY_HAND_POSTGRESQL_H
#define LK_BENCH_BY_HAND_POSTGRESQL_H

#include <libpq-fe.h>
#include <stddef.h>

/* Of the private server ($LK_TEST_SERVER), for the library. */
const char *by_hand_url(void);

/* For PQfinish(). */
PGconn *by_hand_connect(void);

/* Has a statement parsed once, under that name, as the library does with its own. */
void by_hand_prepare(PGconn *connection, const char *name, const char *sql);

/*
 * Runs a prepared statement with `count` values; *ret_text: the first column of the first row, or
 * "".
 */
void by_hand_run(PGconn *connection, const char *name, int count, const char *const *values,
                 char *ret_text, size_t size);

/* Runs statements once, which are not measured. */
void by_hand_execute(const char *sql);

#endif
