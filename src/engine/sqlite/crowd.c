/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The closure of an ask or a release in a crowd.
 *
 * An *obstacle* of a request is a lease of another owner that conflicts with it, is not overdue and
 * does not end by this event. One is enough to keep a request waiting through the whole step,
 * whatever else ends or is granted: R8 does not help, because a lease that would cover the request
 * would conflict with the obstacle too, and leases that its owner has had before cover no waiting
 * request without a limit, or it would have been granted.
 *
 * So of a loaded request that waits, has no limit and has a loaded obstacle nothing follows.
 * Otherwise it has to be decided from all that R7 names: what is held at, above and below its
 * paths, and what waits there with a smaller turn. (What is behind it does not matter to it. A
 * grant lets in only requests of the same owner, and the waiting requests of its owner are loaded.)
 * Where parts are shared or limited, everything related is loaded, as for any other event (S2).
 *
 *   ask      A new request with an obstacle is refused or waits. So does one that is in line, if
 *            the ask changes nothing of it. Besides the obstacle, those in the way are loaded up to
 *            the bound of an explanation. A lease that is asked for again, unchanged, needs
 *            nothing but itself. A cycle of owners (R13) must lead back to the asker: if no other
 *            owner's request waits at, above or below what the asker holds, or behind its own
 *            place, there is none. In all other cases everything is loaded: a limit, a conversion,
 *            coverage by the asker's own leases, no obstacle, OWN_MAX.
 *
 *   release  What ends can let in only waiting requests that are related to it and, if it waited
 *            itself, are behind it. At each of its paths these are loaded up to the first exclusive
 *            one at or above the path, which keeps all behind it waiting, as in the model's pass
 *            (model/grant.c). Not its owner's: they are loaded, as are those of the releaser, and
 *            of an owner who holds the path exclusively and may wait for a limit.
 *
 * For both, units in use at the first path are counted from all leases there.
 */
#include "engine/sqlite/crowd.h"

#include "sql/lines.h"

enum {
    OWN_MAX = 16,       /* an asker with more requests has everything loaded */
    MODEL_PIN_MAX = 64, /* so many are checked by the model before rows are read */
};

/* The end of the prefix of a path behind the one that ends at `end`; 0 begins. */
static size_t next_end(struct lk_slice path, size_t end) {
    do {
        end++;
    } while (end < path.size && path.bytes[end] != '/');
    return end;
}

/* ---- how many -------------------------------------------------------------------------------- */

static int count_related(struct lk_closure *closure, struct lk_slice path, int max,
                         int64_t *count) {
    struct lk_sql *sql = &closure->store->sql;
    int64_t found = 0;
    int code = lk_sql_count_below(sql, path, max, &found);

    *count += found;
    for (size_t end = 0; code == SQLITE_OK && *count < max && end < path.size;) {
        end = next_end(path, end);
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

/* ---- obstacles ------------------------------------------------------------------------------- */

/* A search for what is in the way, up to `left` requests. */
struct search {
    struct lk_closure *closure;
    struct lk_sql_obstacles wanted;
    size_t left;
    size_t found; /* rows */
    bool loads;   /* them */
};

static int note_obstacle(void *context, uint64_t id) {
    struct search *search = context;
    size_t before = search->closure->requests.item_count;
    int code = SQLITE_OK;

    if (search->left == 0) {
        return SQLITE_DONE;
    }
    search->found++;
    if (search->loads) {
        code = lk_closure_fetch_request(search->closure, id);
    }
    search->left -= !search->loads || search->closure->requests.item_count > before;
    return code == SQLITE_OK && search->left == 0 ? SQLITE_DONE : code;
}

/* In the way of one part: at its path, above it and below it. */
static int search_around(struct search *search, const struct lk_part *part) {
    struct lk_slice path = lk_closure_fetch_slice(&part->path);
    struct lk_sql *sql = &search->closure->store->sql;
    int code = SQLITE_OK;

    search->wanted.exclusive_only = part->mode != LK_EXCLUSIVE;
    for (size_t end = 0; code == SQLITE_OK && search->left > 0 && end < path.size;) {
        end = next_end(path, end);
        code = lk_sql_each_obstacle_at(sql, (struct lk_slice){path.bytes, end}, &search->wanted,
                                       note_obstacle, search);
    }
    if (code == SQLITE_OK && search->left > 0) {
        code = lk_sql_each_obstacle_below(sql, path, &search->wanted, note_obstacle, search);
    }
    return code;
}

static int search_parts(struct search *search, const struct lk_part *parts, size_t count) {
    int code = SQLITE_OK;

    for (size_t i = 0; i < count && code == SQLITE_OK && search->left > 0; i++) {
        code = search_around(search, &parts[i]);
    }
    return code;
}

/* For leases that are obstacles to an owner's request. */
static struct search search_of_held(struct lk_closure *closure, struct lk_slice owner, size_t max) {
    return (struct search){
        .closure = closure,
        .wanted = {.owner = owner, .after_us = closure->now_us, .request = closure->leaving},
        .left = max,
        .loads = true,
    };
}

/* Whether others wait around these parts, of whatever mode, with a turn from `from` on. */
static int has_waiters(struct lk_closure *closure, struct lk_slice owner,
                       const struct lk_part *parts, size_t count, uint64_t from, bool *ret_has) {
    struct search search = {
        .closure = closure,
        .wanted = {.turns = {from, LK_SQL_TURN_LAST}, .owner = owner, .after_us = INT64_MIN},
        .left = 1,
    };
    int code = SQLITE_OK;

    for (size_t i = 0; i < count && code == SQLITE_OK && search.left > 0; i++) {
        const struct lk_part any = {.path = parts[i].path, .mode = LK_EXCLUSIVE};
        code = search_around(&search, &any);
    }
    *ret_has = search.left == 0;
    return code;
}

/* ---- one that waits -------------------------------------------------------------------------- */

/* Whether the first in the way, of what is loaded, is an obstacle. It has no limit. */
static bool has_loaded_obstacle(const struct lk_closure *closure, lk_ref request) {
    struct lk_record *record = &closure->store->request.record;
    struct lk_blocker blocker;

    if (lk_model_blockers(closure->model, request, &blocker, 1) == 0) {
        return false;
    }
    lk_model_record_head(closure->model, blocker.request, record);
    return record->state == LK_STATE_HELD && record->deadline_us > closure->now_us
           && record->id != closure->leaving;
}

static int find_obstacle(struct lk_closure *closure, const struct lk_record *record,
                         bool *ret_is_found) {
    struct search search = search_of_held(closure, record->owner, 1);
    int code = SQLITE_OK;

    for (size_t i = 0; i < record->part_count && code == SQLITE_OK && search.found == 0; i++) {
        code = search_around(&search, &record->parts[i]);
    }
    *ret_is_found = search.found > 0;
    return code;
}

/* What is held at a path, and below it if it ends in a slash; once. */
static int load_held(struct lk_closure *closure, struct lk_slice path) {
    struct lk_sql *sql = &closure->store->sql;
    bool is_new;
    int code = lk_closure_fetch_once(&closure->held, path, &is_new);

    if (!is_new) {
        return code;
    }
    if (path.bytes[path.size - 1] != '/') {
        return lk_sql_each_held_at(sql, path, lk_closure_fetch_request, closure);
    }
    path.size--;
    return lk_sql_each_held_below(sql, path, lk_closure_fetch_request, closure);
}

/* All that is held around a path. */
static int load_held_around(struct lk_closure *closure, struct lk_slice path) {
    char below[LK_PATH_BYTES_MAX + 1];
    int code = SQLITE_OK;

    for (size_t end = 0; code == SQLITE_OK && end < path.size;) {
        end = next_end(path, end);
        code = load_held(closure, (struct lk_slice){path.bytes, end});
    }
    memcpy(below, path.bytes, path.size);
    below[path.size] = '/';
    return code == SQLITE_OK ? load_held(closure, (struct lk_slice){below, path.size + 1}) : code;
}

/* All that waits around a path with one of these turns. */
static int load_waiting_around(struct lk_closure *closure, struct lk_slice path,
                               struct lk_sql_turns turns) {
    struct lk_sql *sql = &closure->store->sql;
    int code = lk_sql_each_waiting_below(sql, path, turns, lk_closure_fetch_request, closure);

    for (size_t end = 0; code == SQLITE_OK && end < path.size;) {
        end = next_end(path, end);
        code = lk_sql_each_waiting_at(sql, (struct lk_slice){path.bytes, end}, turns,
                                      lk_closure_fetch_request, closure);
    }
    return code;
}

/* R7 from the rows; everything related if there are shared parts, of which many may wait. */
static int load_around(struct lk_closure *closure, const struct lk_record *record) {
    const struct lk_sql_turns ahead = {1, record->ticket - 1};
    bool is_exclusive = true;
    int code = lk_closure_fetch_owner(closure, record->owner);

    for (size_t i = 0; i < record->part_count; i++) {
        is_exclusive = is_exclusive && record->parts[i].mode == LK_EXCLUSIVE;
    }
    for (size_t i = 0; i < record->part_count && code == SQLITE_OK; i++) {
        struct lk_slice path = lk_closure_fetch_slice(&record->parts[i].path);
        if (!is_exclusive) {
            code = lk_closure_fetch_path(closure, &record->parts[i].path);
            continue;
        }
        code = load_held_around(closure, path);
        if (code == SQLITE_OK) {
            code = load_waiting_around(closure, path, ahead);
        }
    }
    return code;
}

int lk_crowd_judge(struct lk_closure *closure, lk_ref request) {
    struct lk_record *record = &closure->store->judged;
    bool has_limit = false;
    bool is_found = false;
    int code = SQLITE_OK;

    lk_model_record(closure->model, request, record);
    for (size_t i = 0; i < record->part_count; i++) {
        has_limit = has_limit || record->parts[i].limit != 0;
    }
    if (closure->with_owners_of_waiting) {
        code = lk_closure_fetch_owner(closure, record->owner);
    }
    if (code == SQLITE_OK && !has_limit) {
        if (closure->waiting.item_count <= MODEL_PIN_MAX && has_loaded_obstacle(closure, request)) {
            return SQLITE_OK;
        }
        code = find_obstacle(closure, record, &is_found);
    }
    return code == SQLITE_OK && !is_found ? load_around(closure, record) : code;
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

static const struct lk_part *find_part(const struct lk_part *parts, size_t count,
                                       const struct lk_path *path) {
    for (size_t i = 0; i < count; i++) {
        if (lk_path_equal(&parts[i].path, path)) {
            return &parts[i];
        }
    }
    return NULL;
}

/* R3: whether the request has exactly these paths; *ret_is_same: and the same parts. */
static bool has_paths(const struct lk_record *record, const struct lk_part *parts, size_t count,
                      bool *ret_is_same) {
    *ret_is_same = true;
    for (size_t i = 0; i < record->part_count; i++) {
        const struct lk_part *own = &record->parts[i];
        const struct lk_part *part = find_part(parts, count, &own->path);
        if (part == NULL) {
            return false;
        }
        *ret_is_same = *ret_is_same && part->mode == own->mode && part->limit == own->limit
                       && part->units == own->units;
    }
    return record->part_count == count && !record->is_claim;
}

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
    } else if (has_paths(record, own->ask->parts, own->ask->part_count, &is_same)) {
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
            end = next_end(path, end);
            code = lk_sql_each_held_at_of(sql, (struct lk_slice){path.bytes, end}, ask->owner,
                                          load_own, own);
        }
    }
    own->count = 0;
    return code;
}

static int note_that_one_waits(void *context, uint64_t id) {
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
        code = lk_sql_each_waiting_of_others(sql, own->ask->owner, note_that_one_waits, &one_waits);
    }
    return code == SQLITE_OK && one_waits
               ? lk_sql_each_of_owner(sql, own->ask->owner, OWN_MAX + 1, load_own, own)
               : code;
}

static bool has_limits(const struct lk_ask *ask) {
    for (size_t i = 0; i < ask->part_count; i++) {
        if (ask->parts[i].limit != 0) {
            return true;
        }
    }
    return false;
}

/* An obstacle, and what else an explanation has to name or count. */
static int load_in_the_way(struct lk_closure *closure, const struct lk_ask *ask, uint64_t turn,
                           bool *ret_is_enough) {
    size_t max = ask->blockers_max < LK_BLOCKERS_MAX ? ask->blockers_max : LK_BLOCKERS_MAX;
    struct search search;
    int code;

    max = max == 0 ? 1 : max < LK_SQLITE_CROWD_MAX ? LK_SQLITE_CROWD_MAX : max;
    search = search_of_held(closure, ask->owner, max);
    code = search_parts(&search, ask->parts, ask->part_count);
    *ret_is_enough = search.found > 0;
    if (code == SQLITE_OK && search.found > 0 && ask->blockers_max > 0) {
        search.wanted.turns = (struct lk_sql_turns){1, turn != 0 ? turn - 1 : LK_SQL_TURN_LAST};
        code = search_parts(&search, ask->parts, ask->part_count);
    }
    return code;
}

/* What every answer has: units in use, the root's last draw, a value. */
static int load_for_answer(struct lk_closure *closure, const struct lk_ask *ask) {
    int code = load_held(closure, lk_closure_fetch_slice(&ask->parts[0].path));

    for (size_t i = 0; i < ask->part_count && code == SQLITE_OK; i++) {
        code = lk_closure_fetch_draw(closure, &ask->parts[i].path);
    }
    return code == SQLITE_OK && ask->wants_value
               ? lk_closure_fetch_value(closure, &ask->parts[0].path)
               : code;
}

static int load_ask(struct lk_closure *closure, const struct lk_ask *ask, bool bounds_waiters,
                    bool *ret_is_enough) {
    struct own own = {.closure = closure, .ask = ask};
    bool has_more = false;
    int code = load_own_near(&own);

    *ret_is_enough = false;
    if (code == SQLITE_OK && !own.is_complex && !own.is_held && !own.is_entangled) {
        code = load_own_elsewhere(&own);
    }
    if (code != SQLITE_OK || own.is_complex) {
        return code;
    }
    if (!own.is_held) {
        if (own.is_entangled || has_limits(ask) || bounds_waiters) {
            return SQLITE_OK;
        }
        if (own.turn != 0) {
            code = has_waiters(closure, ask->owner, ask->parts, ask->part_count, own.turn + 1,
                               &has_more);
        }
        if (code == SQLITE_OK && !has_more) {
            code = load_in_the_way(closure, ask, own.turn, ret_is_enough);
        }
        if (code != SQLITE_OK || !*ret_is_enough) {
            return code;
        }
    }
    *ret_is_enough = true;
    return load_for_answer(closure, ask);
}

/* ---- a release ------------------------------------------------------------------------------- */

struct ending {
    struct lk_closure *closure;
    const struct lk_target *target;
    uint64_t turn; /* of what ends */
};

/* One of the releaser's requests. If it is the one, it ends. */
static int load_target(void *context, uint64_t id) {
    struct ending *ending = context;
    struct lk_closure *closure = ending->closure;
    const struct lk_record *record = &closure->store->request.record;
    size_t before = closure->requests.item_count;
    bool is_same;
    int code = lk_closure_fetch_request(closure, id);

    if (code == SQLITE_OK && closure->requests.item_count > before
        && has_paths(record, ending->target->parts, ending->target->part_count, &is_same)) {
        closure->leaving = id;
        ending->turn = record->state == LK_STATE_WAITING ? record->ticket : 0;
    }
    return code;
}

static int load_exclusive_holder(void *context, uint64_t id) {
    struct lk_closure *closure = context;
    size_t before = closure->requests.item_count;
    int code = lk_closure_fetch_request(closure, id);

    if (code == SQLITE_OK && closure->requests.item_count > before) {
        code = lk_closure_fetch_owner(closure, closure->store->request.record.owner);
    }
    return code;
}

/* Those that the end of this part may let in. */
static int load_let_in(const struct ending *ending, struct lk_slice path) {
    struct lk_closure *closure = ending->closure;
    struct lk_sql *sql = &closure->store->sql;
    struct lk_sql_turns turns = {ending->turn + 1, LK_SQL_TURN_LAST};
    int code = SQLITE_OK;

    for (size_t end = 0; code == SQLITE_OK && end < path.size;) {
        struct lk_slice prefix = {path.bytes, end = next_end(path, end)};
        uint64_t first = LK_SQL_TURN_LAST;

        code = lk_sql_first_exclusive(sql, prefix, turns.from, closure->now_us, &first);
        turns.to = first < turns.to ? first : turns.to;
        if (code == SQLITE_OK) {
            code = lk_sql_each_held_exclusively(sql, prefix, load_exclusive_holder, closure);
        }
    }
    return code == SQLITE_OK ? load_waiting_around(closure, path, turns) : code;
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
        code = load_let_in(&ending, lk_closure_fetch_slice(&target->parts[i].path));
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
