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

/*
 * How far below a bound a count of all is exact. A waiting request that is overdue by now may have
 * been granted when an earlier deadline passed, and then has a new deadline. The step that
 * discovers this adds it to what is counted here, and must not meet a bound that is not reached.
 */
enum { EXACT_BELOW = 1024 };

/* ---- all ------------------------------------------------------------------------------------- */

/* Programs that do not know the count keep it up to date too: the triggers in the file count. */
const char lk_sql_counting_script[] =
    "CREATE TABLE IF NOT EXISTS lk_request_count (requests INTEGER NOT NULL);"
    "DELETE FROM lk_request_count;"
    "INSERT INTO lk_request_count SELECT count(*) FROM lk_request;"
    "CREATE TRIGGER IF NOT EXISTS lk_request_came AFTER INSERT ON lk_request"
    " BEGIN UPDATE lk_request_count SET requests = requests + 1; END;"
    "CREATE TRIGGER IF NOT EXISTS lk_request_went AFTER DELETE ON lk_request"
    " BEGIN UPDATE lk_request_count SET requests = requests - 1; END;";

static const char end_counting[] = "DROP TRIGGER IF EXISTS lk_request_came;"
                                   "DROP TRIGGER IF EXISTS lk_request_went;"
                                   "DROP TABLE IF EXISTS lk_request_count;";

/* The number of rows. SQLITE_NOTFOUND: the file does not count them. */
static int count_kept(struct lk_sql *sql, uint64_t *ret_count) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_COUNT_KEPT_REQUESTS, &statement);

    if (code != SQLITE_OK) {
        return code == SQLITE_ERROR ? SQLITE_NOTFOUND : code; /* there is no such table */
    }
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        int64_t kept = sqlite3_column_int64(statement, 0);
        *ret_count = kept > 0 ? (uint64_t)kept : 0;
        return lk_sql_done(statement, code);
    }
    (void)lk_sql_done(statement, code);
    return code == SQLITE_ERROR || code == SQLITE_DONE ? SQLITE_NOTFOUND : code;
}

int lk_sql_count_live(struct lk_sql *sql, int64_t now_us, uint64_t max, uint64_t *ret_count) {
    uint64_t kept = 0;
    uint64_t overdue = 0;
    sqlite3_stmt *statement;
    int code = count_kept(sql, &kept);

    if (code == SQLITE_NOTFOUND) { /* the bound was set by a program that did not count */
        code = lk_sql_execute(sql, lk_sql_counting_script);
        code = code == SQLITE_OK ? count_kept(sql, &kept) : code;
    }
    if (code == SQLITE_OK) {
        code = lk_sql_statement(sql, LK_SQL_COUNT_OVERDUE_TO, &statement);
    }
    if (code == SQLITE_OK) {
        code = count(statement, now_us, (kept > max ? kept - max : 0) + EXACT_BELOW, &overdue);
    }
    if (code == SQLITE_OK) {
        *ret_count =
            kept > overdue ? kept - overdue : 0; /* rows are hostile: the count may be wrong */
    }
    return code;
}

/* ---- some ------------------------------------------------------------------------------------ */

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

const char lk_sql_make_owner_index[] = "CREATE INDEX IF NOT EXISTS lk_request_by_owner"
                                       " ON lk_request (owner, deadline_us)";

/* ---- setting --------------------------------------------------------------------------------- */

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
    return code == SQLITE_OK ? lk_sql_quotas_count(sql, quotas) : code;
}

int lk_sql_quotas_count(struct lk_sql *sql, const struct lk_quotas *quotas) {
    int code = lk_sql_execute(sql, quotas->live_max != 0 ? lk_sql_counting_script : end_counting);

    if (code != SQLITE_OK) {
        return code;
    }
    return lk_sql_execute(sql, quotas->live_per_owner_max != 0
                                   ? lk_sql_make_owner_index
                                   : "DROP INDEX IF EXISTS lk_request_by_owner");
}
