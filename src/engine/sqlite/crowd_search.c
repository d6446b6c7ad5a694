/* SPDX-License-Identifier: Apache-2.0 */
/* Searches in a crowd. */
#include "engine/sqlite/crowd_search.h"

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
