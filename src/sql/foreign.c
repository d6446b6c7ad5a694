/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triggers and views that this library has not made. SQLite runs a trigger with the rights of the
 * program that writes the row, so one in a file that others may write changes what is promised.
 */
#include "sql/foreign.h"

#include <ctype.h>
#include <stdio.h>

#include "sql/counts.h"
#include "sql/hidden_cycle.h"
#include "sql/schema.h"

/*
 * Those at the store's tables, or under a name of the store's. Others run for nothing that this
 * library does: a view of the owner's over lk_locks, a trigger at a table of the owner's. SQLite
 * keeps the text as it was written, from the name on.
 */
static const char query[] = "SELECT name, sql FROM sqlite_schema WHERE type IN ('trigger', 'view')"
                            " AND (lower(tbl_name) GLOB 'lk_*' OR lower(name) GLOB 'lk_*')";

/* Behind "CREATE TRIGGER" or "CREATE VIEW"; NULL: the text begins otherwise. */
static const char *from_name(const char *text) {
    static const char *const beginnings[] = {"CREATE TRIGGER ", "CREATE VIEW "};

    for (size_t i = 0; text != NULL && i < sizeof beginnings / sizeof beginnings[0]; i++) {
        size_t size = strlen(beginnings[i]);
        if (strncmp(text, beginnings[i], size) == 0) {
            return text + size;
        }
    }
    return NULL;
}

/* Whether the text is one whole statement of `script`, but for its beginning. */
static bool is_in(const char *script, const char *text) {
    size_t size = strlen(text);

    for (const char *at = strstr(script, text); at != NULL; at = strstr(at + 1, text)) {
        if (at > script && isspace((unsigned char)at[-1]) && at[size] == ';') {
            return true;
        }
    }
    return false;
}

static bool is_own(const char *text) {
    const char *const scripts[] = {lk_sql_schema_sqlite(), lk_sql_counting_script,
                                   lk_sql_hidden_cycle_script};
    const char *from = from_name(text);

    for (size_t i = 0; from != NULL && i < sizeof scripts / sizeof scripts[0]; i++) {
        if (is_in(scripts[i], from)) {
            return true;
        }
    }
    return false;
}

int lk_sql_find_foreign(struct lk_sql *sql, char ret_name[LK_SQL_NAME_MAX]) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(sql->handle, query, -1, &statement, NULL);

    ret_name[0] = '\0';
    while (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        code = SQLITE_OK;
        if (!is_own((const char *)sqlite3_column_text(statement, 1))) {
            const char *name = (const char *)sqlite3_column_text(statement, 0);
            (void)snprintf(ret_name, LK_SQL_NAME_MAX, "%s",
                           name != NULL && name[0] != '\0' ? name : "?");
            break;
        }
    }
    (void)sqlite3_finalize(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}
