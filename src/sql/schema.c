/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of schema.sql and of src/engine/{postgresql,mysql}/sql, embedded by the build. */
#include "sql/schema.h"

#include "mysql.sql.h"
#include "postgresql.sql.h"
#include "schema.sql.h"

const char *lk_sql_schema_sqlite(void) {
    return schema_text;
}

const char *lk_sql_schema_postgresql(void) {
    return postgresql_text;
}

const char *lk_sql_schema_mysql(void) {
    return mysql_text;
}
