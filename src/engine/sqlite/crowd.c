/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The closure of an ask or a release in a crowd. That of a release is in crowd_release.c. What
 * follows from a waiting request that is loaded is in crowd_judge.c; it says what an obstacle is.
 *
 * A new request with an obstacle is refused or waits, and one without is granted. So does a request
 * stay in line that has an obstacle, if the ask changes nothing of it. Besides the obstacle, those
 * in the way are loaded up to the bound of an explanation. A lease that is asked for again,
 * unchanged, needs nothing but itself. The units in use at the first path that are not loaded are
 * counted.
 *
 * A cycle of owners (R13) must lead back to the asker: if no other owner's request waits at, above
 * or below what the asker holds, there is none. If the asker is in line already, and asks for the
 * same again, requests behind it may lead back, too; but then a cycle has formed without an ask,
 * which the store notes (sql/hidden_cycle.h). In all other cases everything is loaded: a
 * conversion, coverage by the asker's own leases, OWN_MAX.
 */
#include "engine/sqlite/crowd.h"

#include "engine/sqlite/crowd_release.h"
#include "engine/sqlite/crowd_search.h"
#include "sql/hidden_cycle.h"

enum { OWN_MAX = 16 }; /* an asker with more requests has everything loaded */

/* ---- how many -------------------------------------------------------------------------------- */

static int count_related(struct lk_closure *closure, struct lk_slice path, int max,
                         int64_t *count) {
    struct lk_sql *sql = &closure->store->sql;
    int64_t found = 0;
    int code = lk_sql_count_below(sql, path, max, &found);

    *count += found;
    for (size_t end = 0; code == SQLITE_OK && *count < max && end < path.size;) {
        end = lk_crowd_next_end(path, end);
        code = lk_sql_count_at(sql, (struct lk_slice){path.bytes, end}, max, &found);
        *count += found;
    }
    return code;
}

int lk_crowd_is_met(struct lk_closure *closure, const struct lk_command *command,
                    bool *ret_is_met) {
    int max = closure->store->options.crowd_max + 1;
    const struct lk_part *parts = NULL;
    size_t part_count = 0;
    int64_t count = 0;
    int code = SQLITE_OK;

    if (command->kind == LK_COMMAND_ASK) {
        parts = command->ask.parts;
        part_count = command->ask.part_count;
    } else if (command->kind == LK_COMMAND_RELEASE) {
        parts = command->release.target.parts;
        part_count = command->release.target.part_count;
    }
    for (size_t i = 0; i < part_count && code == SQLITE_OK && count < max; i++) {
        code = count_related(closure, lk_closure_fetch_slice(&parts[i].path), max, &count);
    }
    *ret_is_met = count >= max;
    return code;
}

/* Whether others wait around these parts, of whatever mode, with a turn from `from` on. */
static int has_waiters(struct lk_closure *closure, struct lk_slice owner,
                       const struct lk_part *parts, size_t count, uint64_t from, bool *ret_has) {
    struct lk_crowd_search search = {
        .closure = closure,
        .wanted = {.turns = {from, LK_SQL_TURN_LAST}, .owner = owner, .after_us = INT64_MIN},
        .left = 1,
    };
    int code = SQLITE_OK;

    for (size_t i = 0; i < count && code == SQLITE_OK && search.left > 0; i++) {
        const struct lk_part any = {.path = parts[i].path, .mode = LK_EXCLUSIVE};
        code = lk_crowd_search_parts(&search, &any, 1);
    }
    *ret_has = search.left == 0;
    return code;
}

/* ---- an ask ---------------------------------------------------------------------------------- */

/* What the asker has already. */
struct own {
    struct lk_closure *closure;
    const struct lk_ask *ask;
    size_t count;
    bool is_complex;   /* everything has to be loaded; */
    bool is_entangled; /* also this, unless the asker has the lease already */
    bool is_held;      /* the request asked for is there, as it is asked for; and held, or... */
    uint64_t turn;     /* ... waiting since then; 0: it is not there, or held */
};

/* R8: whether one of its parts is at or above one that is asked for. */
static bool may_cover(const struct lk_record *record, const struct lk_ask *ask) {
    for (size_t i = 0; i < record->part_count; i++) {
        for (size_t j = 0; j < ask->part_count; j++) {
            if (lk_path_contains(&record->parts[i].path, &ask->parts[j].path)) {
                return true;
            }
        }
    }
    return false;
}

/* One of the asker's requests, which has been loaded into the store's room. */
static int note_own(struct own *own, const struct lk_record *record) {
    bool is_same;
    bool has = false;
    int code = SQLITE_OK;

    if (record->deadline_us <= own->closure->now_us) {
        own->is_complex = true;
    } else if (lk_crowd_has_paths(record, own->ask->parts, own->ask->part_count, &is_same)) {
        own->is_complex = own->is_complex || !is_same;
        own->is_held = record->state == LK_STATE_HELD;
        own->turn = own->is_held ? 0 : record->ticket;
    } else if (record->state == LK_STATE_WAITING || may_cover(record, own->ask)) {
        own->is_entangled = true;
    } else {
        code =
            has_waiters(own->closure, own->ask->owner, record->parts, record->part_count, 1, &has);
        own->is_entangled = own->is_entangled || has;
    }
    return code;
}

/* Each of them once: the store's room has what has just been loaded. */
static int load_own(void *context, uint64_t id) {
    struct own *own = context;
    struct lk_closure *closure = own->closure;
    size_t before = closure->requests.item_count;
    int code;

    if (own->count++ == OWN_MAX) {
        own->is_complex = true;
        return SQLITE_DONE;
    }
    code = lk_closure_fetch_request(closure, id);
    return code == SQLITE_OK && closure->requests.item_count > before
               ? note_own(own, &closure->store->request.record)
               : code;
}

/* What the asker holds at or above the parts, and all that it waits for. */
static int load_own_near(struct own *own) {
    const struct lk_ask *ask = own->ask;
    struct lk_sql *sql = &own->closure->store->sql;
    int code = lk_sql_each_waiting_of(sql, ask->owner, load_own, own);

    for (size_t i = 0; i < ask->part_count; i++) {
        struct lk_slice path = lk_closure_fetch_slice(&ask->parts[i].path);
        for (size_t end = 0; code == SQLITE_OK && end < path.size;) {
            end = lk_crowd_next_end(path, end);
            code = lk_sql_each_held_at_of(sql, (struct lk_slice){path.bytes, end}, ask->owner,
                                          load_own, own);
        }
    }
    own->count = 0;
    return code;
}

static int note_that_there_is_one(void *context, uint64_t id) {
    (void)id;
    *(bool *)context = true;
    return SQLITE_OK;
}

/* All else of the asker, if the ask may close a cycle: a try that is refused leaves no edge. */
static int load_own_elsewhere(struct own *own) {
    struct lk_sql *sql = &own->closure->store->sql;
    bool one_waits = false;
    int code = SQLITE_OK;

    if (own->ask->style != LK_TRY || own->turn != 0) {
        code =
            lk_sql_each_waiting_of_others(sql, own->ask->owner, note_that_there_is_one, &one_waits);
    }
    return code == SQLITE_OK && one_waits
               ? lk_sql_each_of_owner(sql, own->ask->owner, OWN_MAX + 1, load_own, own)
               : code;
}

/* What keeps an ask from being granted, and what else an explanation has to name or count. */
static int load_in_the_way(struct lk_closure *closure, const struct lk_ask *ask, uint64_t turn,
                           bool *ret_is_refused) {
    const uint64_t end = turn != 0 ? turn : LK_SQL_TURN_LAST;
    size_t named = ask->blockers_max;
    size_t max = named == 0                     ? 1
                 : named <= LK_SQLITE_CROWD_MAX ? LK_SQLITE_CROWD_MAX
                                                : lk_counted_max(named);
    struct lk_crowd_search search = lk_crowd_search_held(closure, ask->owner, max);
    int code;

    code = lk_crowd_search_parts(&search, ask->parts, ask->part_count);
    if (code == SQLITE_OK && (search.found == 0 || named > 0)) {
        search.wanted.turns = (struct lk_sql_turns){1, end - 1};
        code = lk_crowd_search_parts(&search, ask->parts, ask->part_count);
    }
    *ret_is_refused = search.found > 0;
    for (size_t i = 0; i < ask->part_count && code == SQLITE_OK; i++) {
        bool is_short = false;
        if (ask->parts[i].limit != 0) {
            code = lk_crowd_find_shortage(closure, &ask->parts[i], end, max, &is_short);
        }
        *ret_is_refused = *ret_is_refused || is_short;
    }
    return code;
}

/* What every answer has: the root's last draw, values. */
static int load_for_answer(struct lk_closure *closure, const struct lk_ask *ask) {
    int code = SQLITE_OK;

    for (size_t i = 0; i < ask->part_count && code == SQLITE_OK; i++) {
        code = lk_closure_fetch_draw(closure, &ask->parts[i].path);
    }
    return code == SQLITE_OK && ask->wants_value
               ? lk_closure_fetch_values(closure, ask->parts, ask->part_count)
               : code;
}

/* Whether a request in line, which is asked for again, may be on a cycle that no ask has found. */
static int may_close_cycle(struct lk_closure *closure, const struct lk_ask *ask, uint64_t turn,
                           bool *ret_may) {
    struct lk_sql *sql = &closure->store->sql;
    bool is_overdue = false;
    int code = has_waiters(closure, ask->owner, ask->parts, ask->part_count, turn + 1, ret_may);

    if (code == SQLITE_OK && *ret_may) { /* what is overdue ends in this very step, unseen as yet */
        code = lk_sql_each_overdue(sql, closure->now_us, 1, note_that_there_is_one, &is_overdue);
    }
    return code == SQLITE_OK && *ret_may && !is_overdue ? lk_sql_may_hide_cycle(sql, ret_may)
                                                        : code;
}

static int load_ask(struct lk_closure *closure, const struct lk_ask *ask, bool bounds_waiters,
                    bool *ret_is_enough) {
    struct own own = {.closure = closure, .ask = ask};
    bool has_more = false;
    bool is_refused = false;
    int code = load_own_near(&own);

    *ret_is_enough = false;
    if (own.turn != 0 && closure->is_reading) {
        return code; /* it will be written again */
    }
    if (code == SQLITE_OK && !own.is_complex && !own.is_held && !own.is_entangled) {
        code = load_own_elsewhere(&own);
    }
    if (code != SQLITE_OK || own.is_complex) {
        return code;
    }
    if (!own.is_held) {
        if (own.is_entangled || bounds_waiters) {
            return SQLITE_OK;
        }
        if (own.turn == 0 && ask->style != LK_TRY) {
            code = lk_sql_make_line_indexes(&closure->store->sql);
        } else if (own.turn != 0) {
            code = may_close_cycle(closure, ask, own.turn, &has_more);
        }
        if (code == SQLITE_OK && !has_more) {
            code = load_in_the_way(closure, ask, own.turn, &is_refused);
        }
        if (code != SQLITE_OK || has_more || (own.turn != 0 && !is_refused)) {
            return code;
        }
    }
    *ret_is_enough = true;
    return load_for_answer(closure, ask);
}

/* ---- units ----------------------------------------------------------------------------------- */

static int note_units(void *context, uint64_t id, uint32_t units) {
    struct lk_closure *closure = context;

    closure->units_elsewhere += lk_closure_has(closure, id) ? 0 : units;
    return SQLITE_OK;
}

int lk_crowd_count_units(struct lk_closure *closure, const struct lk_path *path) {
    const struct lk_sql_turns held = {0, 0};

    return lk_sql_each_counted_at(&closure->store->sql, lk_closure_fetch_slice(path), held,
                                  closure->now_us, 0, note_units, closure);
}

/* ---- both ------------------------------------------------------------------------------------ */

int lk_crowd_load(struct lk_closure *closure, const struct lk_command *command,
                  bool *ret_is_enough) {
    bool bounds_waiters =
        command->kind == LK_COMMAND_ASK && command->ask.style != LK_TRY && closure->bounds_waiters;

    closure->in_crowd = true;
    if (command->kind == LK_COMMAND_ASK) {
        return load_ask(closure, &command->ask, bounds_waiters, ret_is_enough);
    }
    *ret_is_enough = true;
    return lk_crowd_load_release(closure, &command->release.target);
}
