/* SPDX-License-Identifier: Apache-2.0 */
/* Notes events that may close a cycle of owners unseen. */
#include "sql/hidden_cycle.h"

#define NOTE " BEGIN UPDATE lk_hidden_cycle SET possible = 1 WHERE possible = 0; END;"

/* A conversion; a revoked lease; the end of a lease whose owner waits; a grant past a smaller
 * ticket at the same path. */
const char lk_sql_hidden_cycle_script[] =
    "CREATE TABLE IF NOT EXISTS lk_hidden_cycle (possible INTEGER NOT NULL);"
    "INSERT INTO lk_hidden_cycle SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM lk_hidden_cycle);"
    "CREATE TRIGGER IF NOT EXISTS lk_cycle_converted"
    " AFTER UPDATE OF mode, unit_limit, units ON lk_part" NOTE
    "CREATE TRIGGER IF NOT EXISTS lk_cycle_revoked AFTER UPDATE OF revoked ON lk_request"
    " WHEN NEW.revoked <> OLD.revoked" NOTE
    "CREATE TRIGGER IF NOT EXISTS lk_cycle_ended AFTER DELETE ON lk_request"
    " WHEN OLD.state = 'held' AND EXISTS"
    " (SELECT 1 FROM lk_request WHERE owner = OLD.owner AND state = 'waiting')" NOTE
    "CREATE TRIGGER IF NOT EXISTS lk_cycle_overtaken AFTER UPDATE OF state ON lk_request"
    " WHEN OLD.state = 'waiting' AND NEW.state = 'held' AND EXISTS"
    " (SELECT 1 FROM lk_part AS own CROSS JOIN lk_part AS other ON other.path = own.path"
    "  WHERE own.request = NEW.id AND other.turn > 0 AND other.turn < OLD.ticket"
    "  AND other.mode = 'shared')" NOTE;

int lk_sql_note_hidden_cycles(struct lk_sql *sql) {
    return lk_sql_execute(sql, lk_sql_hidden_cycle_script);
}

static int note(void *context, uint64_t value) {
    *(bool *)context = value != 0;
    return SQLITE_OK;
}

static int walk(struct lk_sql *sql, enum lk_sql_statement which, bool *ret_is) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, which, &statement);

    return code == SQLITE_OK ? lk_sql_walk(statement, note, ret_is) : code;
}

int lk_sql_may_hide_cycle(struct lk_sql *sql, bool *ret_may) {
    bool is_nested = false;
    int code;

    *ret_may = true;
    code = walk(sql, LK_SQL_CYCLE_POSSIBLE, ret_may);
    if (code == SQLITE_OK && *ret_may) {
        code = walk(sql, LK_SQL_CYCLE_NESTED, &is_nested);
    }
    if (code == SQLITE_OK && *ret_may && !is_nested) {
        *ret_may = false;
        code = walk(sql, LK_SQL_CYCLE_CLEAR, &is_nested);
    }
    if (code == SQLITE_ERROR) { /* there is no such table, or no such index */
        *ret_may = true;
        code = SQLITE_OK;
    }
    return code;
}
