/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line in front of a waiting request, by a cheap look: how long it may be, and when to look
 * again. No decision hangs on it, so a bounded look is enough.
 */
#ifndef LK_SQL_LINE_H
#define LK_SQL_LINE_H

#include "model/model.h"
#include "sql/database.h"

enum { LK_SQL_LINE_LOOK_MAX = 64 }; /* rows looked at for each path and each path above it */

struct lk_sql_line {
    bool is_standing;    /* the request is there and waits */
    size_t ahead;        /* waiting requests related to it with smaller tickets, as far as seen */
    int64_t next_due_us; /* the earliest deadline of those in front of it; LK_NEVER: none seen */
};

int lk_sql_line_load(struct lk_sql *sql, uint64_t request, struct lk_sql_line *ret_line);

/*
 * Counts the commits of other connections: changes when one of them has written. Unlike any other
 * question it needs no transaction, and costs a look into shared memory.
 */
int lk_sql_data_version(struct lk_sql *sql, int64_t *ret_version);

#endif
