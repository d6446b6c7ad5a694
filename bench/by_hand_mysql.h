/* SPDX-License-Identifier: Apache-2.0 */
/* What is written by hand for MariaDB, beside the library: connections and statements. */
#ifndef LK_BENCH_BY_HAND_MYSQL_H
#define LK_BENCH_BY_HAND_MYSQL_H

#include <mysql.h>
#include <stddef.h>

/* Of the private server ($LK_TEST_SERVER), for the library. */
const char *by_hand_url(void);

/* At READ COMMITTED. For mysql_close(). */
MYSQL *by_hand_connect(void);

/* Runs a statement; *ret_text is the first column of the first row, or "". */
void by_hand_run(MYSQL *connection, const char *sql, char *ret_text, size_t size);

#endif
