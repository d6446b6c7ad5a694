/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The closure of a release in a crowd.
 *
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
#include "engine/sqlite/crowd_release.h"

#include "engine/sqlite/crowd_search.h"

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

/* ---- what ends ------------------------------------------------------------------------------- */

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

/* ---- what it lets in ------------------------------------------------------------------------- */

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

static int note_units(void *context, uint64_t id, uint32_t units) {
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
                                      note_units, &walk);
    }
    walk.loads = true;
    return code == SQLITE_OK && walk.units < walk.limit ? lk_sql_each_counted_at(
               sql, path, reach->turns, closure->now_us, closure->leaving, note_units, &walk)
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

int lk_crowd_load_release(struct lk_closure *closure, const struct lk_target *target) {
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
