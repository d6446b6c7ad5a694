/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written by hand for MariaDB, beside the library: connections and statements; and the peer
 * of a semaphore: procedures that do what those of the Java library database-semaphore do
 * (github.com/zimingd/database-semaphore, revision cb693e9), without Java.
 */
#ifndef LK_BENCH_BY_HAND_MYSQL_H
#define LK_BENCH_BY_HAND_MYSQL_H

#include <mysql.h>
#include <stddef.h>

#include "database.h"

/* Of the private server ($LK_TEST_SERVER), for the library. */
const char *by_hand_url(void);

/* At READ COMMITTED. For mysql_close(). */
MYSQL *by_hand_connect(void);

/* Runs a statement; *ret_text is the first column of the first row, or "". */
void by_hand_run(MYSQL *connection, const char *sql, char *ret_text, size_t size);

/* ---- the peer of a semaphore ----------------------------------------------------------------- */

/*
 * Each permit of a key is a row, made when the key is first used. An acquire counts the rows of the
 * key, and in a transaction locks the first one that is free or has expired, skipping those that
 * are locked; its token is a UUID. A release finds the row by its token. Leases have whole seconds.
 */

extern const char database_semaphore_name[];

/* Makes its table and procedures. */
void database_semaphore_prepare(void);

/* A client's pairs, as in database.h. */
void database_semaphore_pairs(struct database_client *client);

#endif
