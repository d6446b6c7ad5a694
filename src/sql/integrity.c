/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite's own check, table by table: a quick one would not compare indexes with their tables, and
 * a lock is looked up by an index. Then what SQLite cannot know: how the rows depend on each other.
 */
#include "sql/integrity.h"

#include <stdio.h>

#include "sql/load.h"

static int complain(struct lk_sql *sql, const char *about, const char *finding) {
    (void)snprintf(sql->complaint, sizeof sql->complaint, "%s: %s", about, finding);
    return SQLITE_CORRUPT;
}

/* ---- pages ----------------------------------------------------------------------------------- */

static int check_table(struct lk_sql *sql, const char *name) {
    char pragma[128];
    sqlite3_stmt *statement = NULL;
    int code;

    (void)sqlite3_snprintf((int)sizeof pragma, pragma, "PRAGMA integrity_check(%Q)", name);
    code = sqlite3_prepare_v2(sql->handle, pragma, -1, &statement, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
    }
    if (code == SQLITE_ROW) {
        const char *finding = (const char *)sqlite3_column_text(statement, 0);
        code = finding != NULL && strcmp(finding, "ok") == 0
                   ? SQLITE_OK
                   : complain(sql, name, finding != NULL ? finding : "unknown");
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

/* ---- rows ------------------------------------------------------------------------------------ */

/* R4: no draw was greater than those of its root and of the roots that are forgotten. */
#define IS_LOST(draw, path)                                                                        \
    "(" draw ") > (SELECT draw_floor FROM lk_meta) AND NOT EXISTS (SELECT 1 FROM lk_root"          \
    " WHERE root = substr(" path ", 1, instr(" path " || '/', '/') - 1) AND last_draw >= " draw    \
    ")"

/* Each selects how many rows are wrong; what loading the rows finds (load.h) is not among them. */
static const struct {
    const char *table; /* that may not be there; NULL: it is */
    const char *query;
    const char *about;
} rules[] = {
    {NULL,
     "SELECT count(*) FROM lk_part JOIN lk_request ON lk_request.id = lk_part.request"
     " WHERE turn <> CASE state WHEN 'waiting' THEN ticket ELSE 0 END",
     "rows do not have the turns of their requests"},
    {NULL,
     "SELECT count(*) FROM lk_item_value"
     " WHERE NOT EXISTS (SELECT 1 FROM lk_item WHERE number = lk_item_value.item)",
     "rows are values of no item"},
    /* Items that a log of etcd has brought have no size (the image is in memory, without pages). */
    {NULL,
     "SELECT count(*) FROM lk_item LEFT JOIN lk_item_value ON item = number"
     " WHERE value_bytes IS NOT NULL AND value_bytes <> ifnull(length(bytes), -1)",
     "items do not have the values they were pushed with"},
    /* Both are written with the row, and swept only where there is none any more. */
    {NULL,
     "SELECT count(*) FROM lk_part JOIN lk_request ON lk_request.id = lk_part.request"
     " WHERE " IS_LOST("max(ticket, token)", "lk_part.path"),
     "rows have draws that their roots have not made"},
    {NULL, "SELECT count(*) FROM lk_item WHERE " IS_LOST("sequence", "queue"),
     "items have draws that their roots have not made"},
    {NULL,
     "SELECT count(*) FROM lk_item"
     " WHERE NOT EXISTS (SELECT 1 FROM lk_queue WHERE path = lk_item.queue)",
     "items are in no queue"},
    {"lk_request_count",
     "SELECT count(*) <> 1 OR max(requests) <> (SELECT count(*) FROM lk_request)"
     " FROM lk_request_count",
     "row counts other requests than there are"},
};

static int check_rules(struct lk_sql *sql) {
    int code = SQLITE_OK;

    for (size_t i = 0; i < sizeof rules / sizeof rules[0] && code == SQLITE_OK; i++) {
        int64_t wrong = 0;
        char number[32];

        if (rules[i].table != NULL
            && sqlite3_table_column_metadata(sql->handle, "main", rules[i].table, NULL, NULL, NULL,
                                             NULL, NULL, NULL)
                   != SQLITE_OK) {
            continue;
        }
        code = lk_sql_integer(sql, rules[i].query, &wrong);
        if (code == SQLITE_OK && wrong > 0) {
            (void)snprintf(number, sizeof number, "%lld", (long long)wrong);
            code = complain(sql, number, rules[i].about);
        }
    }
    return code;
}

int lk_sql_integrity_check(struct lk_sql *sql, const struct lk_sql_meta *meta, int64_t now_us) {
    int code = check_tables(sql);

    if (code == SQLITE_OK) {
        code = check_rules(sql);
    }
    return code == SQLITE_OK ? lk_sql_load_check(sql, meta, now_us) : code;
}

int lk_sql_integrity_check_locks(struct lk_sql *sql) {
    static const char *const tables[] = {"lk_meta", "lk_root", "lk_request", "lk_part"};
    int code = SQLITE_OK;

    for (size_t i = 0; i < sizeof tables / sizeof tables[0] && code == SQLITE_OK; i++) {
        code = check_table(sql, tables[i]);
    }
    return code;
}
