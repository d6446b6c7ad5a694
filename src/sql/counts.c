/* SPDX-License-Identifier: Apache-2.0 */
/* Counting for bounds, and setting them. */
#include "sql/counts.h"

#include "sql/requests.h"

/* Runs a statement that counts, with all but `now_us` and `max` (?1 and ?2) bound. */
static int count(sqlite3_stmt *statement, int64_t now_us, uint64_t max, uint64_t *ret_count) {
    int code;

    (void)lk_sql_bind_integer(statement, 1, now_us);
    (void)lk_sql_bind_integer(statement, 2, max < INT64_MAX ? (int64_t)max : INT64_MAX);
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        *ret_count = (uint64_t)sqlite3_column_int64(statement, 0);
    }
    return lk_sql_done(statement, code);
}

int lk_sql_count_live(struct lk_sql *sql, int64_t now_us, uint64_t max, uint64_t *ret_count) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_COUNT_LIVE_TO, &statement);

    return code == SQLITE_OK ? count(statement, now_us, max, ret_count) : code;
}

int lk_sql_count_owned(struct lk_sql *sql, struct lk_slice owner, int64_t now_us, uint64_t max,
                       uint64_t *ret_count) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_COUNT_OWNED_TO, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 3, owner);
    return count(statement, now_us, max, ret_count);
}

int lk_sql_count_rooted(struct lk_sql *sql, struct lk_slice root, int64_t now_us, uint64_t max,
                        uint64_t *ret_count) {
    struct lk_sql_range range;
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_COUNT_ROOTED_TO, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    lk_sql_range_below(root, &range);
    (void)lk_sql_bind_text(statement, 3, root);
    lk_sql_bind_range(statement, 4, &range);
    return count(statement, now_us, max, ret_count);
}

int lk_sql_quotas_save(struct lk_sql *sql, const struct lk_quotas *quotas, uint64_t events_max) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_META_SET_QUOTAS, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, (int64_t)quotas->live_max);
    (void)lk_sql_bind_integer(statement, 2, (int64_t)quotas->live_per_owner_max);
    (void)lk_sql_bind_integer(statement, 3, (int64_t)quotas->live_per_root_max);
    (void)lk_sql_bind_integer(statement, 4, (int64_t)quotas->waiters_per_path_max);
    (void)lk_sql_bind_integer(statement, 5, (int64_t)events_max);
    code = lk_sql_run(statement);
    if (code != SQLITE_OK) {
        return code;
    }
    return lk_sql_execute(sql, quotas->live_per_owner_max != 0
                                   ? "CREATE INDEX IF NOT EXISTS requests_by_owner"
                                     " ON requests (owner, deadline_us)"
                                   : "DROP INDEX IF EXISTS requests_by_owner");
}
