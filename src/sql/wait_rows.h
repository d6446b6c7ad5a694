/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue ahead of a waiting request, by a cheap query: its length, and its next deadline. No
 * decision depends on it, so a bounded number of rows is enough.
 */
#ifndef LK_SQL_WAIT_ROWS_H
#define LK_SQL_WAIT_ROWS_H

#include "sql/database.h"

enum { LK_SQL_WAIT_ROWS_MAX = 64 }; /* rows read for each path and each path above it */

struct lk_sql_wait_rows {
    bool is_waiting; /* the request exists and waits */
    size_t ahead;    /* waiting requests related to it with smaller tickets, among the rows read */
    int64_t next_due_us; /* the earliest deadline of holders and of those; LK_NEVER: none */
};

int lk_sql_wait_rows_load(struct lk_sql *sql, uint64_t request, struct lk_sql_wait_rows *ret_rows);

/*
 * Counts the commits of other connections: the number changes when one of them has written. Unlike
 * other queries it needs no transaction, and costs one read of shared memory.
 */
int lk_sql_data_version(struct lk_sql *sql, int64_t *ret_version);

#endif
