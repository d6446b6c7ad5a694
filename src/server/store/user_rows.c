/* SPDX-License-Identifier: Apache-2.0 */
/* The users of requests as rows. */
#include "server/store/user_rows.h"

int lk_user_rows_begin(struct lk_sql *sql, bool has_users) {
    int code;

    if (!has_users) {
        return lk_sql_execute(sql, "DROP TABLE IF EXISTS lk_request_user");
    }
    code = lk_sql_execute(sql, "CREATE TABLE IF NOT EXISTS lk_request_user ("
                               " request INTEGER PRIMARY KEY,"
                               " owner TEXT NOT NULL,"
                               " user TEXT NOT NULL)");
    return code == SQLITE_OK
               ? lk_sql_execute(sql, "DELETE FROM lk_request_user WHERE NOT EXISTS"
                                     " (SELECT 1 FROM lk_request WHERE id = request"
                                     "  AND lk_request.owner = lk_request_user.owner)")
               : code;
}

int lk_user_rows_each(struct lk_sql *sql, lk_visit_user_row *visit, void *context) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_REQUEST_USERS_LOAD, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        code = visit(context, (uint64_t)sqlite3_column_int64(statement, 0),
                     lk_sql_column_text(statement, 1));
        if (code != SQLITE_OK) {
            break;
        }
    }
    return lk_sql_done(statement, code);
}

static int save(struct lk_sql *sql, const struct lk_record *record, struct lk_slice user) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_REQUEST_USER_SAVE, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, (int64_t)record->id);
    (void)lk_sql_bind_text(statement, 2, record->owner);
    (void)lk_sql_bind_text(statement, 3, user);
    return lk_sql_run(statement);
}

static int delete (struct lk_sql *sql, uint64_t request) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_REQUEST_USER_DELETE, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, (int64_t)request);
    return lk_sql_run(statement);
}

int lk_user_rows_write(struct lk_sql *sql, const struct lk_row *row) {
    if (row->kind == LK_ROW_REQUEST && row->request.user.size > 0) {
        return save(sql, row->request.record, row->request.user);
    }
    return row->kind == LK_ROW_REQUEST_GONE ? delete (sql, row->gone) : SQLITE_OK;
}
