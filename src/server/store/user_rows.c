/* SPDX-License-Identifier: Apache-2.0 */
/* The users of requests as rows. */
#include "server/store/user_rows.h"

#include "access/identity.h"

int lk_user_rows_make(struct lk_sql *sql) {
    return lk_sql_execute(sql, "CREATE TABLE IF NOT EXISTS lk_request_user ("
                               " request INTEGER PRIMARY KEY,"
                               " owner TEXT NOT NULL,"
                               " user TEXT NOT NULL)");
}

int lk_user_rows_join(struct lk_sql *sql) {
    return lk_sql_execute(sql,
                          "UPDATE lk_request SET owner = (SELECT user FROM lk_request_user"
                          "  WHERE request = id) || '" LK_IDENTITY_SEPARATOR "' || owner"
                          " WHERE EXISTS (SELECT 1 FROM lk_request_user"
                          "  WHERE request = id AND lk_request_user.owner = lk_request.owner)");
}

int lk_user_rows_end(struct lk_sql *sql, bool has_users) {
    int64_t count = 0;
    int code = lk_sql_integer(
        sql, "SELECT count(*) FROM sqlite_master WHERE name = 'lk_request_user'", &count);

    if (code == SQLITE_OK && count > 0 && has_users) {
        code = lk_user_rows_join(sql);
    }
    return code == SQLITE_OK && count > 0 ? lk_sql_execute(sql, "DROP TABLE lk_request_user")
                                          : code;
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
