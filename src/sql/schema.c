/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of schema.sql, of src/engine/{postgresql,mysql}/sql and of
 * src/server/store/{postgresql,mysql}/schema.sql, embedded by the build. */
#include "sql/schema.h"

#include "mysql.sql.h"
#include "postgresql.sql.h"
#include "schema.sql.h"
#include "service_mysql.sql.h"
#include "service_postgresql.sql.h"

const char *lk_sql_schema_sqlite(void) {
    return schema_text;
}

const char *lk_sql_schema_postgresql(void) {
    return postgresql_text;
}

const char *lk_sql_schema_mysql(void) {
    return mysql_text;
}

const char *lk_sql_schema_postgresql_service(void) {
    return service_postgresql_text;
}

const char *lk_sql_schema_mysql_service(void) {
    return service_mysql_text;
}
