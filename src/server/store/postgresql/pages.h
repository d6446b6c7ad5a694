/* SPDX-License-Identifier: Apache-2.0 */
/* The queries that load the tables, a bounded number of rows at a time. */
#ifndef LK_SERVER_STORE_POSTGRESQL_PAGES_H
#define LK_SERVER_STORE_POSTGRESQL_PAGES_H

#include "server/store/tables/tables.h"

/* $1, $2: the page begins behind these keys, which are the first columns. */
struct lk_pg_page {
    const char *name;
    const char *sql;
};

extern const struct lk_pg_page lk_pg_pages[LK_TABLES_PAGES];

#endif
