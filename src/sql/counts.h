/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many requests live in the store, for its bounds (R22). No count by owner or root goes further
 * than `max`, so that what it costs is what the bound allows. A count of all would cost as much as
 * there is: the rows are counted as they come and go, by triggers that are there as long as the
 * bound is, and what is overdue, which is little, is taken off.
 */
#ifndef LK_SQL_COUNTS_H
#define LK_SQL_COUNTS_H

#include "model/model.h"
#include "sql/database.h"

/*
 * Live: with a deadline behind `now_us`. In all: exact from a good way below `max` on, and further
 * below too much but still below, if so few live. Needs the right to write.
 */
int lk_sql_count_live(struct lk_sql *sql, int64_t now_us, uint64_t max, uint64_t *ret_count);

/* The same of an owner; with a part under a root. Exact up to `max`. */
int lk_sql_count_owned(struct lk_sql *sql, struct lk_slice owner, int64_t now_us, uint64_t max,
                       uint64_t *ret_count);
int lk_sql_count_rooted(struct lk_sql *sql, struct lk_slice root, int64_t now_us, uint64_t max,
                        uint64_t *ret_count);

/* Sets the bounds; and makes, or drops, what counting for them needs. */
int lk_sql_quotas_save(struct lk_sql *sql, const struct lk_quotas *quotas, uint64_t events_max);

#endif
