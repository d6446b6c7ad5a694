/* SPDX-License-Identifier: Apache-2.0 */
/* Held and waiting requests, by turn. */
#include "sql/lines.h"

#include "sql/counts.h"

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

    if (code == SQLITE_ERROR) { /* there is no such index, or not any more: nothing was visited */
        code = lk_sql_execute(sql, lk_sql_make_owner_index);
        code = code == SQLITE_OK ? visit_owner(sql, owner, max, visit, context) : code;
    }
    return code;
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

int lk_sql_each_held_exclusively(struct lk_sql *sql, struct lk_slice path, lk_sql_visit *visit,
                                 void *context) {
    return lk_sql_walk_text(sql, LK_SQL_HELD_EXCLUSIVELY, path, visit, context);
}

int lk_sql_each_held_at_of(struct lk_sql *sql, struct lk_slice path, struct lk_slice owner,
                           lk_sql_visit *visit, void *context) {
    return lk_sql_walk_of(sql, LK_SQL_HELD_AT_OF, path, owner, visit, context);
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

int lk_sql_first_exclusive(struct lk_sql *sql, struct lk_slice path, uint64_t from, int64_t now_us,
                           uint64_t *ret_turn) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_FIRST_EXCLUSIVE, &statement);

    *ret_turn = LK_SQL_TURN_LAST;
    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, path);
    (void)lk_sql_bind_integer(statement, 2, (int64_t)from);
    (void)lk_sql_bind_integer(statement, 3, now_us);
    return lk_sql_walk(statement, keep_turn, ret_turn);
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

int lk_sql_each_obstacle_at(struct lk_sql *sql, struct lk_slice path,
                            const struct lk_sql_obstacles *wanted, lk_sql_visit *visit,
                            void *context) {
    sqlite3_stmt *statement;
    int code = lk_sql_statement(sql, LK_SQL_OBSTACLES_AT, &statement);

    if (code != SQLITE_OK) {
        return code;
    }
    (void)lk_sql_bind_text(statement, 1, path);
    bind_obstacles(statement, 2, wanted);
    return lk_sql_walk(statement, visit, context);
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

static int count(sqlite3_stmt *statement, int64_t *ret_count) {
    int code = sqlite3_step(statement);

    if (code == SQLITE_ROW) {
        *ret_count = sqlite3_column_int64(statement, 0);
    }
    return lk_sql_done(statement, code);
}

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
