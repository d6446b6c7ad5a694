/* SPDX-License-Identifier: Apache-2.0 */
/* What a batch writes, by the kind of its rows: one statement for all rows of a kind. */
#ifndef LK_SERVER_STORE_POSTGRESQL_STATEMENTS_H
#define LK_SERVER_STORE_POSTGRESQL_STATEMENTS_H

#include "server/store/postgresql/arrays.h"
#include "server/store/tables/tables.h"

struct lk_pg_statement {
    const char *name;    /* under which each connection prepares it */
    const char *sql;     /* with one parameter for each column */
    const char *columns; /* their kinds: i bigint, b boolean, t text, y bytea */
};

extern const struct lk_pg_statement lk_pg_statements[LK_TABLES_KINDS];

enum lk_array_kind lk_pg_column_kind(char column);

#endif
