/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of live requests in the store, for its bounds (R22). Counts by owner or root stop at
 * `max`, so that their cost is limited by the bound. A count of all would cost as much as there is.
 * So triggers count the rows as they come and go, as long as the bound is set; overdue rows, which
 * are few, are subtracted.
 */
#ifndef LK_SQL_COUNTS_H
#define LK_SQL_COUNTS_H

#include "model/model.h"
#include "sql/database.h"

/*
 * Live: with a deadline after `now_us`. Counts all requests. The result is exact from well below
 * `max` on. Further below it may be too large, but stays below `max` if fewer live. Needs the right
 * to write.
 */
int lk_sql_count_live(struct lk_sql *sql, int64_t now_us, uint64_t max, uint64_t *ret_count);

/* The same for one owner, or for requests with a part under a root. Exact up to `max`. */
int lk_sql_count_owned(struct lk_sql *sql, struct lk_slice owner, int64_t now_us, uint64_t max,
                       uint64_t *ret_count);
int lk_sql_count_rooted(struct lk_sql *sql, struct lk_slice root, int64_t now_us, uint64_t max,
                        uint64_t *ret_count);

/* Sets the bounds, and creates or drops what they need. */
int lk_sql_quotas_save(struct lk_sql *sql, const struct lk_quotas *quotas, uint64_t events_max);

/* Creates or drops the triggers and the index that these bounds need. */
int lk_sql_quotas_count(struct lk_sql *sql, const struct lk_quotas *quotas);

/* Makes the table and the triggers that count; format.c knows them by it. */
extern const char lk_sql_counting_script[];

/* Makes the index of requests by owner, which not every store has. */
extern const char lk_sql_make_owner_index[];

#endif
