/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue ahead of a waiting request.
 *
 * Rows of one path come in the order of their ids, which is the order of arrival: the first rows
 * read are the holders and the heads of the queue.
 */
#include "sql/wait_rows.h"

#include "sql/requests.h"

/* Adds the rows that a bound statement selects: whether waiting, ticket, deadline. */
static int add_rows(sqlite3_stmt *statement, uint64_t ticket, struct lk_sql_wait_rows *rows) {
    int code;

    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        bool waits = sqlite3_column_int(statement, 0) != 0;
        int64_t deadline_us = sqlite3_column_int64(statement, 2);

        if (waits && (uint64_t)sqlite3_column_int64(statement, 1) >= ticket) {
            continue; /* the request itself, or one behind it */
        }
        rows->ahead += waits;
        if (deadline_us < rows->next_due_us) {
            rows->next_due_us = deadline_us;
        }
    }
    return lk_sql_done(statement, code);
}

static int add_at(struct lk_sql *sql, struct lk_slice path, uint64_t ticket,
                  struct lk_sql_wait_rows *rows) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_WAIT_ROWS_AT, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, path);
    (void)lk_sql_bind_integer(statement, 2, LK_SQL_WAIT_ROWS_MAX);
    return add_rows(statement, ticket, rows);
}

static int add_below(struct lk_sql *sql, struct lk_slice path, uint64_t ticket,
                     struct lk_sql_wait_rows *rows) {
    struct lk_sql_range range;
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_WAIT_ROWS_BELOW, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    lk_sql_range_below(path, &range);
    lk_sql_bind_range(statement, 1, &range);
    (void)lk_sql_bind_integer(statement, 3, LK_SQL_WAIT_ROWS_MAX);
    return add_rows(statement, ticket, rows);
}

/* At the path, above it and below it. */
static int add_related(struct lk_sql *sql, struct lk_slice path, uint64_t ticket,
                       struct lk_sql_wait_rows *rows) {
    if (path.size > LK_PATH_BYTES_MAX) {
        return SQLITE_CORRUPT;
    }
    for (size_t end = 1; end <= path.size; end++) {
        if (end == path.size || path.bytes[end] == '/') {
            int code = add_at(sql, (struct lk_slice){path.bytes, end}, ticket, rows);
            if (code != SQLITE_OK) {
                return code;
            }
        }
    }
    return add_below(sql, path, ticket, rows);
}

static int load_ticket(struct lk_sql *sql, uint64_t request, uint64_t *ret_ticket,
                       bool *ret_is_waiting) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_REQUEST_TICKET, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, (int64_t)request);
    code = sqlite3_step(statement);
    *ret_is_waiting = code == SQLITE_ROW;
    if (code == SQLITE_ROW) {
        *ret_ticket = (uint64_t)sqlite3_column_int64(statement, 0);
    }
    return lk_sql_done(statement, code);
}

int lk_sql_wait_rows_load(struct lk_sql *sql, uint64_t request, struct lk_sql_wait_rows *ret_rows) {
    struct lk_sql_wait_rows rows = {.next_due_us = LK_NEVER};
    uint64_t ticket = 0;
    sqlite3_stmt *statement;
    int code = load_ticket(sql, request, &ticket, &rows.is_waiting);

    if (code == SQLITE_OK && rows.is_waiting) {
        code = lk_sql_statement(sql, LK_SQL_REQUEST_PATHS, &statement);
        if (code != SQLITE_OK) {
            return code;
        }
        (void)lk_sql_bind_integer(statement, 1, (int64_t)request);
        while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
            code = add_related(sql, lk_sql_column_text(statement, 0), ticket, &rows);
            if (code != SQLITE_OK) {
                break;
            }
        }
        code = lk_sql_done(statement, code);
    }
    if (code == SQLITE_OK) {
        *ret_rows = rows;
    }
    return code;
}

int lk_sql_data_version(struct lk_sql *sql, int64_t *ret_version) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_DATA_VERSION, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        *ret_version = sqlite3_column_int64(statement, 0);
    }
    return lk_sql_done(statement, code);
}
