/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To which user of the service each request belongs, in a table of its own. Only a service with
 * users makes it, and a service without them removes it: the embedded engine does not know it, and
 * the format of the store stays the same.
 *
 * A program that opens the file while no service runs may end a request and use its id again. So a
 * row also names the owner, and counts only for a request of that owner.
 */
#ifndef LK_SERVER_STORE_USER_ROWS_H
#define LK_SERVER_STORE_USER_ROWS_H

#include "sql/database.h"
#include "sql/rows.h"

/* Within the transaction that loads the store: makes the table, or removes it. SQLite's code. */
int lk_user_rows_begin(struct lk_sql *sql, bool has_users);

/* Visits every row that counts, in the order of the requests. */
typedef int lk_visit_user_row(void *context, uint64_t request, struct lk_slice user);
int lk_user_rows_each(struct lk_sql *sql, lk_visit_user_row *visit, void *context);

/* What a row of a batch means for this table. */
int lk_user_rows_write(struct lk_sql *sql, const struct lk_row *row);

#endif
