/* SPDX-License-Identifier: Apache-2.0 */
/* After a restart: one statement for all requests, so that a million of them take seconds. */
#include "sql/restart.h"

#include "sql/items.h"

#define SAME_US INT64_C(1000000) /* between two differences of the same clocks */

int lk_sql_is_same_boot(struct lk_sql *sql, const struct lk_times *times, bool *ret_is_same) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_BOOT_CLOCKS, &statement);

    *ret_is_same = false;
    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, times->wall_us - times->now_us);
    (void)lk_sql_bind_integer(statement, 2, SAME_US);
    (void)lk_sql_bind_integer(statement, 3, times->now_us);
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        *ret_is_same = sqlite3_column_int64(statement, 0) != 0;
    }
    return lk_sql_done(statement, code);
}

static int find_last_known(struct lk_sql *sql, int64_t *ret_known_us) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_RESTART_KNOWN, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        *ret_known_us = sqlite3_column_int64(statement, 0);
    }
    return lk_sql_done(statement, code);
}

static int move(struct lk_sql *sql, enum lk_sql_statement which, const struct lk_times *times,
                int64_t known_us) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, which, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_integer(statement, 1, times->now_us);
    (void)lk_sql_bind_integer(statement, 2, times->wall_us);
    (void)lk_sql_bind_integer(statement, 3, known_us);
    (void)lk_sql_bind_integer(statement, 4, LK_GRACE_MAX_MS * 1000);
    return lk_sql_run(statement);
}

int lk_sql_restart(struct lk_sql *sql, const struct lk_sql_meta *meta, const char *boot_id,
                   const struct lk_times *times) {
    bool is_same_boot = strcmp(meta->boot_id, boot_id) == 0;
    int64_t known_us = 0;
    int code = find_last_known(sql, &known_us);

    if (code == SQLITE_OK) {
        code = move(sql, is_same_boot ? LK_SQL_RESTART_STAY : LK_SQL_RESTART_MOVE, times, known_us);
    }
    if (code != SQLITE_OK || is_same_boot) {
        return code;
    }
    /* A delayed item keeps the instant at which it is due (R16). No boot clock was ever below 0. */
    code = lk_sql_items_move(sql, times, known_us > 0 ? known_us : 0);
    /* R3: callers that lost an answer before the restart have ended with it. */
    if (code == SQLITE_OK) {
        code = lk_sql_ended_clear(sql);
    }
    return code == SQLITE_OK ? lk_sql_meta_set_boot(sql, boot_id) : code;
}
