/* SPDX-License-Identifier: Apache-2.0 */
/* What the tables of a store hold (src/sql), as a snapshot for the core. */
#ifndef LK_SERVER_STORE_SQL_SNAPSHOT_H
#define LK_SERVER_STORE_SQL_SNAPSHOT_H

#include "server/core/exchange.h"
#include "sql/load.h"

/*
 * Fills the snapshot, in a transaction of the caller's in which `meta` was loaded and the clock is
 * right (R11). `now_us`: by that clock, for the search for leases that exclude each other.
 * `is_continuous`: the events that are kept are all there were. Returns SQLite's code.
 */
int lk_sql_snapshot_fill(struct lk_sql *sql, const struct lk_sql_meta *meta,
                         struct lk_sql_load_room *room, int64_t now_us, bool is_continuous,
                         struct lk_core_snapshot *snapshot);

/* After it: the bounds of the configuration before those that are stored (R22). */
void lk_sql_snapshot_bound(const struct lk_sql_meta *meta, const struct lk_model_config *config,
                           struct lk_core_snapshot *snapshot);

#endif
