/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite's own quick check, table by table. */
#include "sql/integrity.h"

#include <stdio.h>

static int check_table(struct lk_sql *sql, const char *name) {
    char pragma[128];
    sqlite3_stmt *statement = NULL;
    int code;

    (void)sqlite3_snprintf((int)sizeof pragma, pragma, "PRAGMA quick_check(%Q)", name);
    code = sqlite3_prepare_v2(sql->handle, pragma, -1, &statement, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
    }
    if (code == SQLITE_ROW) {
        const char *finding = (const char *)sqlite3_column_text(statement, 0);
        code = SQLITE_OK;
        if (finding == NULL || strcmp(finding, "ok") != 0) {
            (void)snprintf(sql->complaint, sizeof sql->complaint, "%s: %s", name,
                           finding != NULL ? finding : "unknown");
            code = SQLITE_CORRUPT;
        }
    }
    (void)sqlite3_finalize(statement);
    return code;
}

static int check_tables(struct lk_sql *sql) {
    sqlite3_stmt *tables = NULL;
    int code = sqlite3_prepare_v2(sql->handle,
                                  "SELECT name FROM sqlite_schema"
                                  " WHERE type = 'table' AND name LIKE 'lk\\_%' ESCAPE '\\'",
                                  -1, &tables, NULL);

    while (code == SQLITE_OK && (code = sqlite3_step(tables)) == SQLITE_ROW) {
        code = check_table(sql, (const char *)sqlite3_column_text(tables, 0));
    }
    (void)sqlite3_finalize(tables);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

int lk_sql_integrity_check(struct lk_sql *sql, int64_t bytes_max, bool *ret_is_checked) {
    int64_t pages = 0;
    int64_t page_bytes = 0;
    int code = lk_sql_integer(sql, "PRAGMA page_count", &pages);

    *ret_is_checked = false;
    if (code == SQLITE_OK) {
        code = lk_sql_integer(sql, "PRAGMA page_size", &page_bytes);
    }
    if (code != SQLITE_OK || page_bytes <= 0 || pages > bytes_max / page_bytes) {
        return code;
    }
    *ret_is_checked = true;
    return check_tables(sql);
}
