/* SPDX-License-Identifier: Apache-2.0 */
/* The text of schema.sql, embedded by the build. */
#include "sql/schema.h"

#include "schema.sql.h"

const char *lk_sql_schema_sqlite(void) {
    return schema_text;
}
