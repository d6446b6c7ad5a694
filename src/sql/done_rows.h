/* SPDX-License-Identifier: Apache-2.0 */
/*
 * R17: what finders ask: marks of rows that are done and still fit their query, and items of a
 * queue in a state. Functions return SQLite's codes.
 */
#ifndef LK_SQL_DONE_ROWS_H
#define LK_SQL_DONE_ROWS_H

#include "sql/database.h"

int lk_sql_done_row_add(struct lk_sql *sql, struct lk_slice queue, struct lk_slice id);
int lk_sql_done_row_delete(struct lk_sql *sql, struct lk_slice queue, struct lk_slice id);
int lk_sql_done_row_find(struct lk_sql *sql, struct lk_slice queue, struct lk_slice id,
                         bool *ret_is_there);

typedef int lk_sql_visit_row(void *context, int64_t number, struct lk_slice id);

/* Up to `max` of the queue's, by their numbers, which are greater than `after`. */
int lk_sql_done_rows_each(struct lk_sql *sql, struct lk_slice queue, int64_t after, int max,
                          lk_sql_visit_row *visit, void *context);

/* The same of its parked items, by their sequences. */
int lk_sql_parked_each(struct lk_sql *sql, struct lk_slice queue, int64_t after, int max,
                       lk_sql_visit_row *visit, void *context);

/* How many items of the queue are ready; counts no further than `max`. */
int lk_sql_ready_count(struct lk_sql *sql, struct lk_slice queue, int max, int64_t *ret_count);

#endif
