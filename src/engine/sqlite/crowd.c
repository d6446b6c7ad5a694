/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The closure of an ask or a release in a crowd. What is said here is about an ask; the section of
 * the release has its own argument. crowd_search.c says what an obstacle is, and loads what follows
 * from a waiting request.
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
 * which the store notes (sql/lines.h). In all other cases everything is loaded: a conversion,
 * coverage by the asker's own leases, OWN_MAX.
 */
#include "engine/sqlite/crowd.h"

#include "engine/sqlite/crowd_search.h"
#include "sql/lines.h"

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

/* ---- a release ------------------------------------------------------------------------------- */

/*
 * What ends can let in only waiting requests that are related to it and, if it waited itself, are
 * behind it. At each of its paths these are loaded as far as they can be let in:
 *
 *   - None, if another lease at or above the path is exclusive: it is in the way of all.
 *   - Up to the first exclusive request that waits at or above the path: it keeps all behind it
 *     waiting, as in the model's pass (model/grant.c).
 *   - If what ends is shared, it was in the way of exclusive requests, and of those whose limit
 *     counts it. Another lease at or above the path keeps the exclusive ones out, too.
 *   - Of those with a limit at one path as many as leave room within the widest limit there,
 *     counted with what is held and waits ahead. The others have no room, whatever is granted
 *     before them.
 *
 * R8 goes before all of this: an owner's requests pass those that wait. So the waiting requests of
 * the releaser are loaded, those of each owner of a loaded request, and those of the owner of the
 * lease that keeps the others out.
 */

struct ending {
    struct lk_closure *closure;
    const struct lk_target *target;
    uint64_t turn;                   /* of what ends */
    bool is_exclusive[LK_PARTS_MAX]; /* parts of the target, in its order */
};

/* One part of what ends, and how far its end can reach. */
struct reach {
    struct lk_closure *closure;
    struct lk_slice path;
    struct lk_sql_turns turns;
    bool lets_in_shared;    /* what ends is exclusive here */
    bool lets_in_exclusive; /* no other lease at or above the path */
};

static void note_ending(struct ending *ending, const struct lk_record *record) {
    ending->closure->leaving = record->id;
    ending->turn = record->state == LK_STATE_WAITING ? record->ticket : 0;
    for (size_t i = 0; i < ending->target->part_count; i++) {
        const struct lk_part *part =
            lk_crowd_find_part(record->parts, record->part_count, &ending->target->parts[i].path);
        ending->is_exclusive[i] = part->mode == LK_EXCLUSIVE;
    }
}

/* One of the releaser's requests. If it is the one, it ends. */
static int load_target(void *context, uint64_t id) {
    struct ending *ending = context;
    struct lk_closure *closure = ending->closure;
    const struct lk_record *record = &closure->store->request.record;
    size_t before = closure->requests.item_count;
    bool is_same;
    int code = lk_closure_fetch_request(closure, id);

    if (code == SQLITE_OK && closure->requests.item_count > before
        && lk_crowd_has_paths(record, ending->target->parts, ending->target->part_count,
                              &is_same)) {
        note_ending(ending, record);
    }
    return code;
}

/* Another lease keeps others out, but not its owner's requests (R8). */
static int load_keeper(struct lk_closure *closure, uint64_t id) {
    size_t before = closure->requests.item_count;
    int code = lk_closure_fetch_request(closure, id);

    /* If it is loaded already, so are its owner's: it is the releaser's, or has been met before. */
    return code == SQLITE_OK && closure->requests.item_count > before
               ? lk_closure_fetch_owner(closure, closure->store->request.record.owner)
               : code;
}

/* Looks at the leases at and above the path. *ret_has_end: one of them is in the way of all. */
static int find_keepers(struct reach *reach, bool *ret_has_end) {
    struct lk_closure *closure = reach->closure;
    struct lk_sql_held_modes modes;
    int code = SQLITE_OK;

    *ret_has_end = false;
    reach->lets_in_exclusive = true;
    for (size_t end = 0; code == SQLITE_OK && end < reach->path.size && !*ret_has_end;) {
        end = lk_crowd_next_end(reach->path, end);
        code = lk_sql_held_modes(&closure->store->sql, (struct lk_slice){reach->path.bytes, end},
                                 (struct lk_slice){NULL, 0}, closure->now_us, closure->leaving,
                                 &modes);
        if (code == SQLITE_OK && modes.any != 0) {
            code = load_keeper(closure, modes.exclusive != 0 ? modes.exclusive : modes.any);
            reach->lets_in_exclusive = false;
            *ret_has_end = modes.exclusive != 0;
        }
    }
    return code;
}

/* Up to the first exclusive request at or above the path. */
static int find_first_exclusive(struct reach *reach) {
    struct lk_closure *closure = reach->closure;
    int code = SQLITE_OK;

    for (size_t end = 0; code == SQLITE_OK && end < reach->path.size;) {
        uint64_t first = LK_SQL_TURN_LAST;

        end = lk_crowd_next_end(reach->path, end);
        code =
            lk_sql_first_exclusive(&closure->store->sql, (struct lk_slice){reach->path.bytes, end},
                                   reach->turns.from, closure->now_us, &first);
        reach->turns.to = first < reach->turns.to ? first : reach->turns.to;
    }
    return code;
}

/* A walk along a line for a limit, which ends when no limit there has room. */
struct walk {
    const struct reach *reach;
    uint64_t units;
    uint32_t limit; /* the widest */
    bool loads;
};

static int note_limited(void *context, uint64_t id, uint32_t units) {
    struct walk *walk = context;
    int code = walk->loads ? lk_closure_fetch_request(walk->reach->closure, id) : SQLITE_OK;

    walk->units += units;
    return code == SQLITE_OK && walk->units >= walk->limit ? SQLITE_DONE : code;
}

static int load_limited(const struct reach *reach, struct lk_slice path) {
    struct lk_closure *closure = reach->closure;
    struct lk_sql *sql = &closure->store->sql;
    const struct lk_sql_turns ahead = {0, reach->turns.from - 1};
    struct walk walk = {.reach = reach};
    int code = lk_sql_greatest_limit(sql, path, &walk.limit);

    if (code == SQLITE_OK && walk.limit > 0) {
        code = lk_sql_each_counted_at(sql, path, ahead, closure->now_us, closure->leaving,
                                      note_limited, &walk);
    }
    walk.loads = true;
    return code == SQLITE_OK && walk.units < walk.limit ? lk_sql_each_counted_at(
               sql, path, reach->turns, closure->now_us, closure->leaving, note_limited, &walk)
                                                        : code;
}

/* Shared requests at the path, or above it. */
static int load_shared_at(const struct reach *reach, struct lk_slice path) {
    struct lk_closure *closure = reach->closure;
    int code = SQLITE_OK;

    if (reach->lets_in_shared || path.size == reach->path.size) {
        code = load_limited(reach, path);
    }
    return code == SQLITE_OK && reach->lets_in_shared ? lk_sql_each_unlimited_at(
               &closure->store->sql, path, reach->turns, lk_closure_fetch_request, closure)
                                                      : code;
}

/* Exclusive requests at the path, or above it: the first, whose owner's may pass it (R8). */
static int load_exclusive_at(const struct reach *reach, struct lk_slice path) {
    struct lk_closure *closure = reach->closure;
    struct lk_sql_obstacles wanted = {
        .turns = reach->turns, .exclusive_only = true, .after_us = INT64_MIN};

    if (!reach->lets_in_exclusive) {
        wanted.turns.from = reach->turns.to;
    }
    return lk_sql_each_obstacle_at(&closure->store->sql, path, &wanted, lk_closure_fetch_request,
                                   closure);
}

static int load_let_in(struct reach *reach) {
    struct lk_closure *closure = reach->closure;
    bool has_end;
    int code = find_keepers(reach, &has_end);

    if (code != SQLITE_OK || has_end) {
        return code;
    }
    code = find_first_exclusive(reach);
    for (size_t end = 0; code == SQLITE_OK && end < reach->path.size;) {
        struct lk_slice prefix = {reach->path.bytes, end = lk_crowd_next_end(reach->path, end)};

        code = load_shared_at(reach, prefix);
        if (code == SQLITE_OK) {
            code = load_exclusive_at(reach, prefix);
        }
    }
    return code == SQLITE_OK && (reach->lets_in_exclusive || reach->lets_in_shared)
               ? lk_sql_each_waiting_below(&closure->store->sql, reach->path, reach->turns,
                                           lk_closure_fetch_request, closure)
               : code;
}

static int load_release(struct lk_closure *closure, const struct lk_target *target) {
    struct ending ending = {.closure = closure, .target = target};
    struct lk_sql *sql = &closure->store->sql;
    int code = lk_sql_each_held_at_of(sql, lk_closure_fetch_slice(&target->parts[0].path),
                                      target->owner, load_target, &ending);

    closure->with_owners_of_waiting = true;
    if (code == SQLITE_OK) {
        code = lk_sql_each_waiting_of(sql, target->owner, load_target, &ending);
    }
    for (size_t i = 0; i < target->part_count && code == SQLITE_OK && closure->leaving != 0; i++) {
        struct reach reach = {.closure = closure,
                              .path = lk_closure_fetch_slice(&target->parts[i].path),
                              .turns = {ending.turn + 1, LK_SQL_TURN_LAST},
                              .lets_in_shared = ending.is_exclusive[i]};
        code = load_let_in(&reach);
    }
    return code;
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
    return load_release(closure, &command->release.target);
}
