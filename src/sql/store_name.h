/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of a store in its database, an option of its URL: a prefix of tables and procedures in
 * MySQL, a schema in PostgreSQL. It is written into SQL without quotes.
 */
#ifndef LK_SQL_STORE_NAME_H
#define LK_SQL_STORE_NAME_H

#include "base/slice.h"
#include "lockkeeper/terms.h"

enum { LK_SQL_PREFIX_MAX = 32, LK_SQL_SCHEMA_MAX = 48 };

/* Whether it can be one. LK_OK, or LK_INVALID with a sentence. */
lk_outcome lk_sql_check_prefix(struct lk_slice name, lk_error *error);
lk_outcome lk_sql_check_schema(struct lk_slice name, lk_error *error);

/* lk_sql_schema_mysql() and lk_sql_schema_postgresql() for it; for free(). NULL: no memory. */
char *lk_sql_schema_with_prefix(const char *prefix);
char *lk_sql_schema_service_with_prefix(const char *prefix); /* of lk_sql_schema_mysql_service() */
char *lk_sql_schema_in(const char *schema);

#endif
