/* SPDX-License-Identifier: Apache-2.0 */
/* Loads all that a store keeps into a model, for a service that decides with it all in memory. */
#ifndef LK_SQL_LOAD_H
#define LK_SQL_LOAD_H

#include "sql/items.h"
#include "sql/meta.h"
#include "sql/requests.h"

/* ---- loading --------------------------------------------------------------------------------- */

/* Buffers for the current rows: too large for a stack. */
struct lk_sql_load_room {
    struct lk_sql_request request;
    struct lk_sql_item item;
};

/*
 * Restores requests, values, queues, items, ended tokens and the floor of draws (R4) in `model`,
 * which is newly made. Runs inside a transaction in which lk_sql_restart() has run if it was
 * needed. `visit` is called for each request after it is restored. A row that cannot be restored,
 * rows that do not add up, and leases that exclude each other at `now_us` are SQLITE_CORRUPT, with
 * the connection's complaint.
 */
int lk_sql_load(struct lk_sql *sql, const struct lk_sql_meta *meta, struct lk_model *model,
                struct lk_sql_load_room *room, int64_t now_us, lk_sql_visit_request *visit,
                void *context);

/* The same for its findings alone, without the bytes of values and items. */
int lk_sql_load_check(struct lk_sql *sql, const struct lk_sql_meta *meta, int64_t now_us);

/* ---- whether a store is sound ---------------------------------------------------------------- */

/* Damage that no call has met yet. */

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
