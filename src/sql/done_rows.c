/* SPDX-License-Identifier: Apache-2.0 */
/* Marks of rows that are done (R17). */
#include "sql/done_rows.h"

/* A statement about one mark, or one queue and a number. */
static int prepare(struct lk_sql *sql, enum lk_sql_statement which, struct lk_slice queue,
                   sqlite3_stmt **ret_statement) {
    int code = lk_sql_statement(sql, which, ret_statement);

    if (code == SQLITE_OK) {
        (void)lk_sql_bind_text(*ret_statement, 1, queue);
    }
    return code;
}

static int change(struct lk_sql *sql, enum lk_sql_statement which, struct lk_slice queue,
                  struct lk_slice id) {
    sqlite3_stmt *statement;
    int code = prepare(sql, which, queue, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 2, id);
    return lk_sql_run(statement);
}

int lk_sql_done_row_add(struct lk_sql *sql, struct lk_slice queue, struct lk_slice id) {
    return change(sql, LK_SQL_DONE_ROW_ADD, queue, id);
}

int lk_sql_done_row_delete(struct lk_sql *sql, struct lk_slice queue, struct lk_slice id) {
    return change(sql, LK_SQL_DONE_ROW_DELETE, queue, id);
}

int lk_sql_done_row_find(struct lk_sql *sql, struct lk_slice queue, struct lk_slice id,
                         bool *ret_is_there) {
    sqlite3_stmt *statement;
    int code = prepare(sql, LK_SQL_DONE_ROW_FIND, queue, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 2, id);
    code = sqlite3_step(statement);
    *ret_is_there = code == SQLITE_ROW;
    return lk_sql_done(statement, code);
}

static int each(struct lk_sql *sql, enum lk_sql_statement which, struct lk_slice queue,
                int64_t after, int max, lk_sql_visit_row *visit, void *context) {
    sqlite3_stmt *statement;
    int code = prepare(sql, which, queue, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 2, after);
    (void)lk_sql_bind_integer(statement, 3, max);
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        code = visit(context, sqlite3_column_int64(statement, 0), lk_sql_column_text(statement, 1));
        if (code != SQLITE_OK) {
            break;
        }
    }
    return lk_sql_done(statement, code);
}

int lk_sql_done_rows_each(struct lk_sql *sql, struct lk_slice queue, int64_t after, int max,
                          lk_sql_visit_row *visit, void *context) {
    return each(sql, LK_SQL_DONE_ROWS_FROM, queue, after, max, visit, context);
}

int lk_sql_parked_each(struct lk_sql *sql, struct lk_slice queue, int64_t after, int max,
                       lk_sql_visit_row *visit, void *context) {
    return each(sql, LK_SQL_PARKED_FROM, queue, after, max, visit, context);
}

int lk_sql_ready_count(struct lk_sql *sql, struct lk_slice queue, int max, int64_t *ret_count) {
    sqlite3_stmt *statement;
    int code = prepare(sql, LK_SQL_READY_COUNT, queue, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 2, max);
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        *ret_count = sqlite3_column_int64(statement, 0);
    }
    return lk_sql_done(statement, code);
}
