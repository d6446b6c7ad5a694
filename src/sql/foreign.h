/* SPDX-License-Identifier: Apache-2.0 */
/* Code in a store's file that is not the store's. */
#ifndef LK_SQL_FOREIGN_H
#define LK_SQL_FOREIGN_H

#include "sql/format.h"

/*
 * A trigger at the store's tables, or a trigger or view under a name of the store's, that no
 * statement of this library has made; or the empty name. Inside a transaction.
 */
int lk_sql_find_foreign(struct lk_sql *sql, char ret_name[LK_SQL_NAME_MAX]);

#endif
