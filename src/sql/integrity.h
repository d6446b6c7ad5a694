/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a store is sound: damage that no call has met yet. */
#ifndef LK_SQL_INTEGRITY_H
#define LK_SQL_INTEGRITY_H

#include "sql/meta.h"

/*
 * Inside a transaction: reads every page of the store's tables and of their indexes, compares each
 * index with its table, and the rows with those that they depend on. Reads nothing of other tables
 * that the file may have. `now_us` is an instant on the clock of the rows. SQLITE_CORRUPT: the
 * connection's complaint says what is damaged. SQLITE_INTERRUPT as by a progress handler.
 */
int lk_sql_integrity_check(struct lk_sql *sql, const struct lk_sql_meta *meta, int64_t now_us);

/* The pages and indexes of leases and waiting requests alone, for a program that then loads the
 * rows. */
int lk_sql_integrity_check_locks(struct lk_sql *sql);

#endif
