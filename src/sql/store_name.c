/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the names of stores, and writes the SQL for them. */
#include "sql/store_name.h"

#include "base/error.h"
#include "sql/rename.h"
#include "sql/schema.h"

static bool is_name(struct lk_slice text, size_t max) {
    bool is_right = text.size > 0 && text.size <= max;

    for (size_t i = 0; i < text.size && is_right; i++) {
        char byte = text.bytes[i];
        is_right =
            (byte >= 'a' && byte <= 'z') || byte == '_' || (i > 0 && byte >= '0' && byte <= '9');
    }
    return is_right;
}

lk_outcome lk_sql_check_prefix(struct lk_slice name, lk_error *error) {
    return is_name(name, LK_SQL_PREFIX_MAX)
               ? LK_OK
               : lk_error_set(error, LK_INVALID,
                              "prefix= is 1 to %d characters of a-z, 0-9 and _, the first no digit",
                              LK_SQL_PREFIX_MAX);
}

lk_outcome lk_sql_check_schema(struct lk_slice name, lk_error *error) {
    bool is_systems = name.size >= 3 && memcmp(name.bytes, "pg_", 3) == 0;

    return is_name(name, LK_SQL_SCHEMA_MAX) && !is_systems
               ? LK_OK
               : lk_error_set(error, LK_INVALID,
                              "schema= is a name of a-z, 0-9 and _, up to %d bytes, that begins "
                              "with neither a digit nor pg_",
                              LK_SQL_SCHEMA_MAX);
}

char *lk_sql_schema_with_prefix(const char *prefix) {
    return lk_sql_rename(lk_sql_schema_mysql(), "lk_", prefix);
}

char *lk_sql_schema_service_with_prefix(const char *prefix) {
    return lk_sql_rename(lk_sql_schema_mysql_service(), "lk_", prefix);
}

char *lk_sql_schema_in(const char *schema) {
    return lk_sql_rename(lk_sql_schema_postgresql(), "lockkeeper", schema);
}
