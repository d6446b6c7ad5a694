/* SPDX-License-Identifier: Apache-2.0 */
/* What a batch writes, by the kind of its rows: one statement for all rows of a kind. */
#ifndef LK_SERVER_STORE_POSTGRESQL_STATEMENTS_H
#define LK_SERVER_STORE_POSTGRESQL_STATEMENTS_H

#include "server/store/postgresql/arrays.h"

enum { LK_PG_COLUMNS_MAX = 18 };

enum lk_pg_kind {
    LK_PG_REQUEST,
    LK_PG_REQUEST_GONE,
    LK_PG_VALUE,
    LK_PG_VALUE_DOUBT,
    LK_PG_VALUE_GONE,
    LK_PG_ITEM_NEW,
    LK_PG_ITEM,
    LK_PG_ITEM_GONE,
    LK_PG_QUEUE_GONE,
    LK_PG_QUEUE,
    LK_PG_ENDED,
    LK_PG_AUDIT,
    LK_PG_EVENT,
    LK_PG_LIMITS,
    LK_PG_KINDS
};

struct lk_pg_statement {
    const char *name;    /* under which each connection prepares it */
    const char *sql;     /* with one parameter for each column */
    const char *columns; /* their kinds: i bigint, b boolean, t text, y bytea */
};

extern const struct lk_pg_statement lk_pg_statements[LK_PG_KINDS];

enum lk_array_kind lk_pg_column_kind(char column);

#endif
