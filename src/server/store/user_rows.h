/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table in which older versions kept to which user of the service each request belongs. Since
 * then owners are identities (access/identity.h), which need no table: what is in it becomes that.
 *
 * A row also names the owner, and counts only for a request of that owner: a program that opened
 * the file while no service ran may have ended a request and used its id again, and a request whose
 * owner has become an identity has another owner.
 */
#ifndef LK_SERVER_STORE_USER_ROWS_H
#define LK_SERVER_STORE_USER_ROWS_H

#include "sql/database.h"
#include "sql/rows.h"

/*
 * Within the transaction that loads the store: with users the rows that count become owners;
 * without them nothing is known of users. Then there is no table. SQLite's code.
 */
int lk_user_rows_end(struct lk_sql *sql, bool has_users);

/* For a store of entries that older versions may have written: makes the table, ... */
int lk_user_rows_make(struct lk_sql *sql);

/* ... writes what a row of such an entry means for it, ... */
int lk_user_rows_write(struct lk_sql *sql, const struct lk_row *row);

/* ... and makes owners of the rows that count, which stay. */
int lk_user_rows_join(struct lk_sql *sql);

#endif
