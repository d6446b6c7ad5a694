/* SPDX-License-Identifier: Apache-2.0 */
/* Values as rows (R15). */
#include "sql/values.h"

#include <stdio.h>

#include "sql/requests.h"

static int complain_large(struct lk_sql *sql) {
    (void)snprintf(sql->complaint, sizeof sql->complaint,
                   "table lk_value: a value has more than %d bytes", LK_VALUE_BYTES_MAX);
    return SQLITE_CORRUPT;
}

int lk_sql_value_load(struct lk_sql *sql, struct lk_slice path, lk_sql_visit_value *visit,
                      void *context) {
    bool found;
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_VALUE_LOAD, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, path);
    code = sqlite3_step(statement);
    found = code == SQLITE_ROW;
    if (found) {
        struct lk_slice bytes = lk_sql_column_bytes(statement, 1);
        code = bytes.size > LK_VALUE_BYTES_MAX
                   ? complain_large(sql)
                   : visit(context, bytes, sqlite3_column_int(statement, 0) != 0);
    }
    code = lk_sql_done(statement, code);
    return code == SQLITE_OK && !found ? SQLITE_EMPTY : code;
}

int lk_sql_values_each(struct lk_sql *sql, enum lk_sql_depth depth, lk_sql_visit_path_value *visit,
                       void *context) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(
        sql, depth == LK_SQL_WITH_BYTES ? LK_SQL_VALUES_LOAD : LK_SQL_VALUES_LOAD_HEADS,
        &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        struct lk_slice path = lk_sql_column_text(statement, 0);
        struct lk_slice bytes = lk_sql_column_bytes(statement, 2);
        code = bytes.size > LK_VALUE_BYTES_MAX
                   ? complain_large(sql)
                   : visit(context, path, bytes, sqlite3_column_int(statement, 1) != 0);
        if (code != SQLITE_OK) {
            break;
        }
    }
    return lk_sql_done(statement, code);
}

int lk_sql_values_each_from(struct lk_sql *sql, struct lk_slice prefix, struct lk_slice behind,
                            lk_sql_visit_value_size *visit, void *context) {
    struct lk_sql_range range;
    sqlite3_stmt *statement;
    int code = lk_sql_page_from(sql, LK_SQL_VALUES_FROM, prefix, behind, &range, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        code = visit(context, lk_sql_column_text(statement, 0),
                     (size_t)sqlite3_column_int64(statement, 2),
                     sqlite3_column_int(statement, 1) != 0);
        if (code != SQLITE_OK) {
            break;
        }
    }
    return lk_sql_done(statement, code);
}

int lk_sql_value_save(struct lk_sql *sql, struct lk_slice path, struct lk_slice bytes) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_VALUE_SAVE, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, path);
    (void)lk_sql_bind_bytes(statement, 2, bytes);
    return lk_sql_run(statement);
}

static int run_at(struct lk_sql *sql, enum lk_sql_statement which, struct lk_slice path) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, which, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, path);
    return lk_sql_run(statement);
}

int lk_sql_value_doubt(struct lk_sql *sql, struct lk_slice path) {
    return run_at(sql, LK_SQL_VALUE_DOUBT, path);
}

int lk_sql_value_delete(struct lk_sql *sql, struct lk_slice path) {
    return run_at(sql, LK_SQL_VALUE_DELETE, path);
}

int lk_sql_value_may_be_lost(struct lk_sql *sql, struct lk_slice path, int64_t now_us,
                             bool *ret_may_be) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_VALUE_MAY_BE_LOST, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, path);
    (void)lk_sql_bind_integer(statement, 2, now_us);
    code = sqlite3_step(statement);
    *ret_may_be = code == SQLITE_ROW;
    return lk_sql_done(statement, code);
}
