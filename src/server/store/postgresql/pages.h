/* SPDX-License-Identifier: Apache-2.0 */
/* The queries that load the tables, a bounded number of rows at a time. */
#ifndef LK_SERVER_STORE_POSTGRESQL_PAGES_H
#define LK_SERVER_STORE_POSTGRESQL_PAGES_H

enum lk_pg_page_kind {
    LK_PG_PAGE_LEADER,
    LK_PG_PAGE_VALUES,
    LK_PG_PAGE_QUEUES,
    LK_PG_PAGE_ITEMS,
    LK_PG_PAGE_REQUESTS,
    LK_PG_PAGE_ENDED,
    LK_PG_PAGE_AUDIT,
    LK_PG_PAGE_EVENTS,
    LK_PG_PAGES
};

/* $1, $2: the page begins behind these keys, which are the first columns. */
struct lk_pg_page {
    const char *name;
    const char *sql;
    int keys; /* 0: there is one page only */
};

extern const struct lk_pg_page lk_pg_pages[LK_PG_PAGES];

#endif
