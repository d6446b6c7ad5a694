/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the pages of a store's tables are sound: damage that no call has met yet. */
#ifndef LK_SQL_INTEGRITY_H
#define LK_SQL_INTEGRITY_H

#include "sql/database.h"

/*
 * Reads every page of the store's tables and of their indexes, inside a transaction, and nothing of
 * other tables that the file may have. SQLITE_CORRUPT: the connection's complaint says what is
 * damaged. *ret_is_checked: whether it was done; a file of more than `bytes_max` would take long.
 */
int lk_sql_integrity_check(struct lk_sql *sql, int64_t bytes_max, bool *ret_is_checked);

#endif
