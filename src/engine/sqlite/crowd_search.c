/* SPDX-License-Identifier: Apache-2.0 */
/* Searches in a crowd, and what decides about a waiting request of it. */
#include "engine/sqlite/crowd_search.h"

enum { MODEL_PIN_MAX = 64 }; /* so many are checked by the model before rows are read */

/* ---- parts ----------------------------------------------------------------------------------- */

size_t lk_crowd_next_end(struct lk_slice path, size_t end) {
    do {
        end++;
    } while (end < path.size && path.bytes[end] != '/');
    return end;
}

const struct lk_part *lk_crowd_find_part(const struct lk_part *parts, size_t count,
                                         const struct lk_path *path) {
    for (size_t i = 0; i < count; i++) {
        if (lk_path_equal(&parts[i].path, path)) {
            return &parts[i];
        }
    }
    return NULL;
}

bool lk_crowd_has_paths(const struct lk_record *record, const struct lk_part *parts, size_t count,
                        bool *ret_is_same) {
    *ret_is_same = true;
    for (size_t i = 0; i < record->part_count; i++) {
        const struct lk_part *own = &record->parts[i];
        const struct lk_part *part = lk_crowd_find_part(parts, count, &own->path);
        if (part == NULL) {
            return false;
        }
        *ret_is_same = *ret_is_same && part->mode == own->mode && part->limit == own->limit
                       && part->units == own->units;
    }
    return record->part_count == count && !record->is_claim;
}

/* ---- conflicts ------------------------------------------------------------------------------- */

struct lk_crowd_search lk_crowd_search_held(struct lk_closure *closure, struct lk_slice owner,
                                            size_t max) {
    return (struct lk_crowd_search){
        .closure = closure,
        .wanted = {.owner = owner, .after_us = closure->now_us, .request = closure->leaving},
        .left = max,
        .loads = true,
    };
}

static int note_obstacle(void *context, uint64_t id) {
    struct lk_crowd_search *search = context;
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
static int search_around(struct lk_crowd_search *search, const struct lk_part *part) {
    struct lk_slice path = lk_closure_fetch_slice(&part->path);
    struct lk_sql *sql = &search->closure->store->sql;
    int code = SQLITE_OK;

    search->wanted.exclusive_only = part->mode != LK_EXCLUSIVE;
    for (size_t end = 0; code == SQLITE_OK && search->left > 0 && end < path.size;) {
        end = lk_crowd_next_end(path, end);
        code = lk_sql_each_obstacle_at(sql, (struct lk_slice){path.bytes, end}, &search->wanted,
                                       note_obstacle, search);
    }
    if (code == SQLITE_OK && search->left > 0) {
        code = lk_sql_each_obstacle_below(sql, path, &search->wanted, note_obstacle, search);
    }
    return code;
}

int lk_crowd_search_parts(struct lk_crowd_search *search, const struct lk_part *parts,
                          size_t count) {
    int code = SQLITE_OK;

    for (size_t i = 0; i < count && code == SQLITE_OK && search->left > 0; i++) {
        code = search_around(search, &parts[i]);
    }
    return code;
}

/* ---- units ----------------------------------------------------------------------------------- */

/* A sum of units, up to more than `room`; then, if it loads, up to `min` requests. */
struct counting {
    struct lk_closure *closure;
    uint64_t room;
    uint64_t units;
    size_t min;
    size_t count;
    bool loads;
};

static int note_units(void *context, uint64_t id, uint32_t units) {
    struct counting *counting = context;
    int code = counting->loads ? lk_closure_fetch_request(counting->closure, id) : SQLITE_OK;

    counting->units += units;
    counting->count++;
    return code == SQLITE_OK && counting->units > counting->room && counting->count >= counting->min
               ? SQLITE_DONE
               : code;
}

static int count_units(struct counting *counting, struct lk_slice path, struct lk_sql_turns turns) {
    struct lk_closure *closure = counting->closure;

    return lk_sql_each_counted_at(&closure->store->sql, path, turns, closure->now_us,
                                  closure->leaving, note_units, counting);
}

int lk_crowd_find_shortage(struct lk_closure *closure, const struct lk_part *part, uint64_t turn,
                           size_t min, bool *ret_is_short) {
    struct lk_slice path = lk_closure_fetch_slice(&part->path);
    const struct lk_sql_turns ahead = {0, turn - 1};
    struct counting counting = {.closure = closure, .room = part->limit - part->units};
    int code = count_units(&counting, path, ahead);

    *ret_is_short = counting.units > counting.room;
    if (code == SQLITE_OK && *ret_is_short) {
        counting =
            (struct counting){.closure = closure, .room = counting.room, .min = min, .loads = true};
        code = count_units(&counting, path, ahead);
    }
    return code;
}

int lk_crowd_load_counted(struct lk_closure *closure, struct lk_slice path,
                          struct lk_sql_turns turns) {
    struct counting counting = {.closure = closure, .room = UINT64_MAX, .loads = true};

    return count_units(&counting, path, turns);
}

/* ---- all ------------------------------------------------------------------------------------- */

int lk_crowd_load_held(struct lk_closure *closure, struct lk_slice path) {
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

int lk_crowd_load_waiting_around(struct lk_closure *closure, struct lk_slice path,
                                 struct lk_sql_turns turns) {
    struct lk_sql *sql = &closure->store->sql;
    int code = lk_sql_each_waiting_below(sql, path, turns, lk_closure_fetch_request, closure);

    for (size_t end = 0; code == SQLITE_OK && end < path.size;) {
        end = lk_crowd_next_end(path, end);
        code = lk_sql_each_waiting_at(sql, (struct lk_slice){path.bytes, end}, turns,
                                      lk_closure_fetch_request, closure);
    }
    return code;
}

/* ---- a waiting request ----------------------------------------------------------------------- */

/*
 * An *obstacle* keeps a request waiting through the whole step, whatever else ends or is granted.
 * It is loaded, and then nothing follows from the request. An obstacle is not overdue, does not end
 * by this event, and is one of these:
 *
 *   - A lease of another owner that conflicts. R8 does not help against it, because a lease that
 *     would cover the request would conflict with the obstacle too; and leases that its owner has
 *     had before cover no waiting request without a limit, or it would have been granted.
 *   - The units held at the path of a limited part, and of those that wait there ahead of it, which
 *     leave no room in its limit (R7c). Those that are granted in the step count as before, and
 *     R8 is checked against limits, too.
 *   - A request of another owner that conflicts, waits ahead, and is exclusive where this one is
 *     shared, if the owner of this one has no other request: so no lease can cover it.
 *
 * Otherwise the request has to be decided from all that R7 names: what is held at, above and below
 * its paths, and what waits there with a smaller turn. Of that no lease of another owner conflicts.
 * So at a shared part there are only those that count for its limit, which has room for them; its
 * owner's leases, which may cover it; and exclusive requests ahead. What is behind a request does
 * not matter to it: a grant lets in only requests of the same owner, and the waiting requests of
 * its owner are loaded.
 */

/*
 * Whether the first in the way, of what is loaded, is an obstacle. Where nothing ends, anything is:
 * a request that waits already is not covered, and nothing new will cover it.
 */
static bool has_loaded_obstacle(const struct lk_closure *closure, lk_ref request, bool has_limit) {
    bool is_ending = closure->leaving != 0 || closure->with_owners_of_waiting;
    struct lk_record *record = &closure->store->request.record;
    struct lk_blocker blocker;

    if (lk_model_blockers(closure->model, request, &blocker, 1) == 0) {
        return false;
    }
    if (!is_ending && !closure->has_overdue) {
        return true;
    }
    if (has_limit) {
        return false; /* it may be one of those that count, of which one is not enough */
    }
    lk_model_record_head(closure->model, blocker.request, record);
    return record->state == LK_STATE_HELD && record->deadline_us > closure->now_us
           && record->id != closure->leaving;
}

static bool has_limit(const struct lk_record *record) {
    for (size_t i = 0; i < record->part_count; i++) {
        if (record->parts[i].limit != 0) {
            return true;
        }
    }
    return false;
}

/* A conflicting lease. */
static int find_lease(struct lk_closure *closure, const struct lk_record *record,
                      bool *ret_is_found) {
    struct lk_crowd_search search = lk_crowd_search_held(closure, record->owner, 1);
    int code = SQLITE_OK;

    for (size_t i = 0; i < record->part_count && code == SQLITE_OK && search.found == 0; i++) {
        code = lk_crowd_search_parts(&search, &record->parts[i], 1);
    }
    *ret_is_found = search.found > 0;
    return code;
}

/* Units that leave no room. */
static int find_shortage(struct lk_closure *closure, const struct lk_record *record,
                         bool *ret_is_found) {
    int code = SQLITE_OK;

    for (size_t i = 0; i < record->part_count && code == SQLITE_OK && !*ret_is_found; i++) {
        if (record->parts[i].limit != 0) {
            code =
                lk_crowd_find_shortage(closure, &record->parts[i], record->ticket, 1, ret_is_found);
        }
    }
    return code;
}

/* A shared part behind an exclusive request, if its owner has nothing else. */
static int find_exclusive_ahead(struct lk_closure *closure, const struct lk_record *record,
                                bool *ret_is_found) {
    struct lk_crowd_search search = lk_crowd_search_held(closure, record->owner, 1);
    bool is_alone = false;
    int code = lk_sql_has_only_one(&closure->store->sql, record->owner, &is_alone);

    search.wanted.turns = (struct lk_sql_turns){1, record->ticket - 1};
    for (size_t i = 0; i < record->part_count && code == SQLITE_OK && is_alone; i++) {
        if (record->parts[i].mode == LK_SHARED && search.found == 0) {
            code = lk_crowd_search_parts(&search, &record->parts[i], 1);
        }
    }
    *ret_is_found = search.found > 0;
    return code;
}

/* All that is held around a path. */
static int load_held_around(struct lk_closure *closure, struct lk_slice path) {
    char below[LK_PATH_BYTES_MAX + 1];
    int code = SQLITE_OK;

    for (size_t end = 0; code == SQLITE_OK && end < path.size;) {
        end = lk_crowd_next_end(path, end);
        code = lk_crowd_load_held(closure, (struct lk_slice){path.bytes, end});
    }
    memcpy(below, path.bytes, path.size);
    below[path.size] = '/';
    return code == SQLITE_OK ? lk_crowd_load_held(closure, (struct lk_slice){below, path.size + 1})
                             : code;
}

/* What the owner holds at or above a path. */
static int load_covering(struct lk_closure *closure, struct lk_slice owner, struct lk_slice path) {
    int code = SQLITE_OK;

    for (size_t end = 0; code == SQLITE_OK && end < path.size;) {
        end = lk_crowd_next_end(path, end);
        code = lk_sql_each_held_at_of(&closure->store->sql, (struct lk_slice){path.bytes, end},
                                      owner, lk_closure_fetch_request, closure);
    }
    return code;
}

static int load_around_shared(struct lk_closure *closure, const struct lk_record *record,
                              const struct lk_part *part) {
    const struct lk_sql_turns counted = {0, record->ticket - 1};
    struct lk_crowd_search search = lk_crowd_search_held(closure, record->owner, SIZE_MAX);
    struct lk_slice path = lk_closure_fetch_slice(&part->path);
    int code = load_covering(closure, record->owner, path);

    search.wanted.turns = (struct lk_sql_turns){1, record->ticket - 1};
    if (code == SQLITE_OK) {
        code = lk_crowd_search_parts(&search, part, 1);
    }
    return code == SQLITE_OK && part->limit != 0 ? lk_crowd_load_counted(closure, path, counted)
                                                 : code;
}

static int load_around_exclusive(struct lk_closure *closure, const struct lk_record *record,
                                 const struct lk_part *part) {
    const struct lk_sql_turns ahead = {1, record->ticket - 1};
    struct lk_slice path = lk_closure_fetch_slice(&part->path);
    int code = load_held_around(closure, path);

    return code == SQLITE_OK ? lk_crowd_load_waiting_around(closure, path, ahead) : code;
}

/* R7 from the rows, where no lease of another owner conflicts and limits have room. */
static int load_around(struct lk_closure *closure, const struct lk_record *record) {
    int code = lk_closure_fetch_owner(closure, record->owner);

    for (size_t i = 0; i < record->part_count && code == SQLITE_OK; i++) {
        code = record->parts[i].mode == LK_EXCLUSIVE
                   ? load_around_exclusive(closure, record, &record->parts[i])
                   : load_around_shared(closure, record, &record->parts[i]);
    }
    return code;
}

int lk_crowd_check(struct lk_closure *closure, lk_ref request) {
    struct lk_record *record = &closure->store->checked;
    bool is_found = false;
    int code = SQLITE_OK;

    lk_model_record(closure->model, request, record);
    if (closure->with_owners_of_waiting) {
        code = lk_closure_fetch_owner(closure, record->owner);
    }
    if (code == SQLITE_OK && closure->waiting.item_count <= MODEL_PIN_MAX
        && has_loaded_obstacle(closure, request, has_limit(record))) {
        return SQLITE_OK;
    }
    if (code == SQLITE_OK) {
        code = find_lease(closure, record, &is_found);
    }
    if (code == SQLITE_OK && !is_found) {
        code = find_shortage(closure, record, &is_found);
    }
    if (code == SQLITE_OK && !is_found) {
        code = find_exclusive_ahead(closure, record, &is_found);
    }
    return code == SQLITE_OK && !is_found ? load_around(closure, record) : code;
}
