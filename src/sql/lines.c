/* SPDX-License-Identifier: Apache-2.0 */
/* Held and waiting requests, by turn. */
#include "sql/lines.h"

#include "sql/counts.h"

/* ---- hidden cycles --------------------------------------------------------------------------- */

/* Notes events that may close a cycle of owners unseen. */

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

/* ---- indexes --------------------------------------------------------------------------------- */

static const char make_mode_index[] = "CREATE INDEX IF NOT EXISTS lk_part_waiting_by_mode"
                                      " ON lk_part (path, mode, turn) WHERE turn <> 0";
static const char make_limit_index[] =
    "CREATE INDEX IF NOT EXISTS lk_part_waiting_by_limit"
    " ON lk_part (path, unit_limit, turn) WHERE turn <> 0 AND mode = 'shared'";

/*
 * Whether the index of a query does not exist, or has been dropped since the query was prepared:
 * then nothing was visited.
 */
static bool is_missing(int code) {
    return code == SQLITE_ERROR;
}

static int visit_none(void *context, uint64_t id) {
    (void)context;
    (void)id;
    return SQLITE_OK;
}

int lk_sql_make_line_indexes(struct lk_sql *sql) {
    static const char *const make[] = {lk_sql_make_owner_index, make_mode_index, make_limit_index};
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_LINE_INDEXES, &statement);

    code = code == SQLITE_OK ? lk_sql_walk(statement, visit_none, NULL) : code;
    if (!is_missing(code)) {
        return code;
    }
    code = SQLITE_OK;
    for (size_t i = 0; i < sizeof make / sizeof make[0] && code == SQLITE_OK; i++) {
        code = lk_sql_execute(sql, make[i]);
    }
    return code == SQLITE_OK ? lk_sql_note_hidden_cycles(sql) : code;
}

/* ---- owners ---------------------------------------------------------------------------------- */

static int visit_owner(struct lk_sql *sql, struct lk_slice owner, int max, lk_sql_visit *visit,
                       void *context) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_OF_OWNER, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, owner);
    (void)lk_sql_bind_integer(statement, 2, max);
    return lk_sql_walk(statement, visit, context);
}

int lk_sql_each_of_owner(struct lk_sql *sql, struct lk_slice owner, int max, lk_sql_visit *visit,
                         void *context) {
    int code = visit_owner(sql, owner, max, visit, context);

    if (is_missing(code)) {
        code = lk_sql_execute(sql, lk_sql_make_owner_index);
        code = code == SQLITE_OK ? visit_owner(sql, owner, max, visit, context) : code;
    }
    return code;
}

static int count_one(void *context, uint64_t id) {
    (void)id;
    ++*(int *)context;
    return SQLITE_OK;
}

int lk_sql_has_only_one(struct lk_sql *sql, struct lk_slice owner, bool *ret_has) {
    int count = 0;
    int code = visit_owner(sql, owner, 2, count_one, &count);

    *ret_has = code == SQLITE_OK && count <= 1;
    return is_missing(code) ? SQLITE_OK : code;
}

int lk_sql_each_waiting_of_others(struct lk_sql *sql, struct lk_slice owner, lk_sql_visit *visit,
                                  void *context) {
    return lk_sql_walk_text(sql, LK_SQL_WAITING_OF_OTHERS, owner, visit, context);
}

/* ---- held ------------------------------------------------------------------------------------ */

int lk_sql_each_held_at(struct lk_sql *sql, struct lk_slice path, lk_sql_visit *visit,
                        void *context) {
    return lk_sql_walk_text(sql, LK_SQL_HELD_AT, path, visit, context);
}

/* So many leases at a path are read, whose owner is looked for, before the owner's are. */
enum { READ_MAX = 32 };

static int count(sqlite3_stmt *statement, int64_t *ret_count) {
    int code = sqlite3_step(statement);

    if (code == SQLITE_ROW) {
        *ret_count = sqlite3_column_int64(statement, 0);
    }
    return lk_sql_done(statement, code);
}

static int count_held(struct lk_sql *sql, struct lk_slice path, int64_t *ret_count) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_HELD_COUNT, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, path);
    (void)lk_sql_bind_integer(statement, 2, READ_MAX + 1);
    return count(statement, ret_count);
}

int lk_sql_each_held_at_of(struct lk_sql *sql, struct lk_slice path, struct lk_slice owner,
                           lk_sql_visit *visit, void *context) {
    int64_t held = 0;
    int code = count_held(sql, path, &held);

    if (code != SQLITE_OK) {
        return code;
    }
    code = held > READ_MAX ? lk_sql_walk_of(sql, LK_SQL_HELD_OF_AT, path, owner, visit, context)
                           : SQLITE_ERROR;
    return is_missing(code) ? lk_sql_walk_of(sql, LK_SQL_HELD_AT_OF, path, owner, visit, context)
                            : code;
}

int lk_sql_held_modes(struct lk_sql *sql, struct lk_slice path, struct lk_slice owner,
                      int64_t now_us, uint64_t except, struct lk_sql_held_modes *ret_modes) {
    char bytes[LK_IDENTITY_BYTES_MAX];
    struct lk_slice first = {bytes, 0};
    bool is_known = false; /* that there is no other exclusive one */
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_HELD_MODES, &statement);

    *ret_modes = (struct lk_sql_held_modes){0, 0};
    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, path);
    (void)lk_sql_bind_integer(statement, 2, now_us);
    (void)lk_sql_bind_integer(statement, 3, (int64_t)except);
    while (!is_known && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        struct lk_slice holder = lk_sql_column_text(statement, 2);
        bool is_exclusive = sqlite3_column_int(statement, 1) != 0;

        ret_modes->any = (uint64_t)sqlite3_column_int64(statement, 0);
        if (is_exclusive && !lk_slice_equal(holder, owner)) {
            ret_modes->exclusive = ret_modes->any;
        }
        is_known = is_exclusive || lk_slice_equal(holder, owner)
                   || (first.size != 0 && !lk_slice_equal(holder, first))
                   || holder.size > sizeof bytes;
        if (!is_known && first.size == 0) {
            memcpy(bytes, holder.bytes, holder.size);
            first.size = holder.size;
        }
    }
    return lk_sql_done(statement, code);
}

int lk_sql_each_held_below(struct lk_sql *sql, struct lk_slice path, lk_sql_visit *visit,
                           void *context) {
    return lk_sql_walk_below(sql, LK_SQL_HELD_BELOW, path, visit, context);
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* Binds two turns, at `index` and the next. */
static void bind_turns(sqlite3_stmt *statement, int index, struct lk_sql_turns turns) {
    (void)lk_sql_bind_integer(statement, index, (int64_t)turns.from);
    (void)lk_sql_bind_integer(statement, index + 1, (int64_t)turns.to);
}

int lk_sql_each_waiting_at(struct lk_sql *sql, struct lk_slice path, struct lk_sql_turns turns,
                           lk_sql_visit *visit, void *context) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_WAITING_AT, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, path);
    bind_turns(statement, 2, turns);
    return lk_sql_walk(statement, visit, context);
}

int lk_sql_each_waiting_below(struct lk_sql *sql, struct lk_slice path, struct lk_sql_turns turns,
                              lk_sql_visit *visit, void *context) {
    struct lk_sql_range range;
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_WAITING_BELOW, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    lk_sql_range_below(path, &range);
    lk_sql_bind_range(statement, 1, &range);
    bind_turns(statement, 3, turns);
    return lk_sql_walk(statement, visit, context);
}

static int keep_turn(void *context, uint64_t turn) {
    *(uint64_t *)context = turn;
    return SQLITE_OK;
}

static int find_first_exclusive(struct lk_sql *sql, enum lk_sql_statement which,
                                struct lk_slice path, uint64_t from, int64_t now_us,
                                uint64_t *ret_turn) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, which, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, path);
    (void)lk_sql_bind_integer(statement, 2, (int64_t)from);
    (void)lk_sql_bind_integer(statement, 3, now_us);
    return lk_sql_walk(statement, keep_turn, ret_turn);
}

int lk_sql_first_exclusive(struct lk_sql *sql, struct lk_slice path, uint64_t from, int64_t now_us,
                           uint64_t *ret_turn) {
    int code;

    *ret_turn = LK_SQL_TURN_LAST;
    code = find_first_exclusive(sql, LK_SQL_FIRST_EXCLUSIVE, path, from, now_us, ret_turn);
    return is_missing(code) ? find_first_exclusive(sql, LK_SQL_FIRST_EXCLUSIVE_PLAIN, path, from,
                                                   now_us, ret_turn)
                            : code;
}

static int walk_unlimited(struct lk_sql *sql, enum lk_sql_statement which, struct lk_slice path,
                          struct lk_sql_turns turns, lk_sql_visit *visit, void *context) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, which, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, path);
    bind_turns(statement, 2, turns);
    return lk_sql_walk(statement, visit, context);
}

int lk_sql_each_unlimited_at(struct lk_sql *sql, struct lk_slice path, struct lk_sql_turns turns,
                             lk_sql_visit *visit, void *context) {
    int code = walk_unlimited(sql, LK_SQL_UNLIMITED_AT, path, turns, visit, context);

    return is_missing(code)
               ? walk_unlimited(sql, LK_SQL_UNLIMITED_AT_PLAIN, path, turns, visit, context)
               : code;
}

/* ---- units ----------------------------------------------------------------------------------- */

static int keep_limit(void *context, uint64_t limit) {
    *(uint32_t *)context = limit <= LK_LIMIT_MAX ? (uint32_t)limit : LK_LIMIT_MAX;
    return SQLITE_OK;
}

int lk_sql_greatest_limit(struct lk_sql *sql, struct lk_slice path, uint32_t *ret_limit) {
    int code;

    *ret_limit = 0;
    code = lk_sql_walk_text(sql, LK_SQL_GREATEST_LIMIT, path, keep_limit, ret_limit);
    return is_missing(code)
               ? lk_sql_walk_text(sql, LK_SQL_GREATEST_LIMIT_PLAIN, path, keep_limit, ret_limit)
               : code;
}

int lk_sql_each_counted_at(struct lk_sql *sql, struct lk_slice path, struct lk_sql_turns turns,
                           int64_t now_us, uint64_t except, lk_sql_visit_units *visit,
                           void *context) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_COUNTED_AT, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, path);
    bind_turns(statement, 2, turns);
    (void)lk_sql_bind_integer(statement, 4, now_us);
    (void)lk_sql_bind_integer(statement, 5, (int64_t)except);
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        int64_t units = sqlite3_column_int64(statement, 1);

        code = visit(context, (uint64_t)sqlite3_column_int64(statement, 0),
                     units <= LK_LIMIT_MAX ? (uint32_t)units : LK_LIMIT_MAX);
        if (code != SQLITE_OK) {
            break;
        }
    }
    return lk_sql_done(statement, code);
}

/* ---- in the way ------------------------------------------------------------------------------ */

static void bind_obstacles(sqlite3_stmt *statement, int index,
                           const struct lk_sql_obstacles *wanted) {
    bind_turns(statement, index, wanted->turns);
    (void)lk_sql_bind_integer(statement, index + 2, !wanted->exclusive_only);
    (void)lk_sql_bind_text(statement, index + 3, wanted->owner);
    (void)lk_sql_bind_integer(statement, index + 4, wanted->after_us);
    (void)lk_sql_bind_integer(statement, index + 5, (int64_t)wanted->request);
}

static int walk_obstacles_at(struct lk_sql *sql, enum lk_sql_statement which, struct lk_slice path,
                             const struct lk_sql_obstacles *wanted, lk_sql_visit *visit,
                             void *context) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, which, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, path);
    bind_obstacles(statement, 2, wanted);
    return lk_sql_walk(statement, visit, context);
}

int lk_sql_each_obstacle_at(struct lk_sql *sql, struct lk_slice path,
                            const struct lk_sql_obstacles *wanted, lk_sql_visit *visit,
                            void *context) {
    bool among_waiting = wanted->exclusive_only && wanted->turns.from > 0;
    enum lk_sql_statement which = among_waiting ? LK_SQL_EXCLUSIVE_AHEAD : LK_SQL_OBSTACLES_AT;
    struct lk_sql_held_modes modes;
    int code;

    if (wanted->exclusive_only && wanted->turns.to == 0) {
        code =
            lk_sql_held_modes(sql, path, wanted->owner, wanted->after_us, wanted->request, &modes);
        if (code != SQLITE_OK || modes.exclusive == 0) {
            return code;
        } /* all that is held there has one owner */
    }
    code = walk_obstacles_at(sql, which, path, wanted, visit, context);
    return among_waiting && is_missing(code)
               ? walk_obstacles_at(sql, LK_SQL_OBSTACLES_AT, path, wanted, visit, context)
               : code;
}

int lk_sql_each_obstacle_below(struct lk_sql *sql, struct lk_slice path,
                               const struct lk_sql_obstacles *wanted, lk_sql_visit *visit,
                               void *context) {
    struct lk_sql_range range;
    sqlite3_stmt *statement;
    int code = lk_sql_statement(
        sql, wanted->turns.to == 0 ? LK_SQL_HOLDERS_BELOW : LK_SQL_WAITERS_BELOW, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    lk_sql_range_below(path, &range);
    lk_sql_bind_range(statement, 1, &range);
    bind_obstacles(statement, 3, wanted);
    return lk_sql_walk(statement, visit, context);
}

/* ---- how many -------------------------------------------------------------------------------- */

int lk_sql_count_at(struct lk_sql *sql, struct lk_slice path, int max, int64_t *ret_count) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_COUNT_AT, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, path);
    (void)lk_sql_bind_integer(statement, 2, max);
    return count(statement, ret_count);
}

int lk_sql_count_below(struct lk_sql *sql, struct lk_slice path, int max, int64_t *ret_count) {
    struct lk_sql_range range;
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_COUNT_BELOW, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    lk_sql_range_below(path, &range);
    lk_sql_bind_range(statement, 1, &range);
    (void)lk_sql_bind_integer(statement, 3, max);
    return count(statement, ret_count);
}
