/* SPDX-License-Identifier: Apache-2.0 */
/* Values as rows (R15). */
#ifndef LK_SQL_VALUES_H
#define LK_SQL_VALUES_H

#include "model/model.h"
#include "sql/database.h"

/* Called with a value that is borrowed for the call. Its code is the query's result. */
typedef int lk_sql_visit_value(void *context, struct lk_slice bytes, bool in_doubt);

/* SQLITE_EMPTY: there is none. A value that is larger than allowed is SQLITE_CORRUPT. */
int lk_sql_value_load(struct lk_sql *sql, struct lk_slice path, lk_sql_visit_value *visit,
                      void *context);

/* Every value, with its bytes or with none; any code but SQLITE_OK ends the walk. */
typedef int lk_sql_visit_path_value(void *context, struct lk_slice path, struct lk_slice bytes,
                                    bool in_doubt);
int lk_sql_values_each(struct lk_sql *sql, enum lk_sql_depth depth, lk_sql_visit_path_value *visit,
                       void *context);

/*
 * The values at or below `prefix` (empty: all) whose paths are greater than `behind`, by path,
 * without their bytes. SQLITE_DONE of the visit ends the walk, too.
 */
typedef int lk_sql_visit_value_size(void *context, struct lk_slice path, size_t size,
                                    bool in_doubt);
int lk_sql_values_each_from(struct lk_sql *sql, struct lk_slice prefix, struct lk_slice behind,
                            lk_sql_visit_value_size *visit, void *context);

int lk_sql_value_save(struct lk_sql *sql, struct lk_slice path, struct lk_slice bytes);
int lk_sql_value_doubt(struct lk_sql *sql, struct lk_slice path);
int lk_sql_value_delete(struct lk_sql *sql, struct lk_slice path);

/* Whether a request that asked for the value is overdue, so that the value may be in doubt. */
int lk_sql_value_may_be_lost(struct lk_sql *sql, struct lk_slice path, int64_t now_us,
                             bool *ret_may_be);

#endif
