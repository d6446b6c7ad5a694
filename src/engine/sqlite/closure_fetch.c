/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a closure, each loaded once, and all that follows from them. */
#include <stdio.h>

#include "engine/sqlite/crowd_search.h"
#include "sql/values.h"

/* The key of a request in a set. */
static struct lk_slice slice_of_id(const uint64_t *id) {
    return (struct lk_slice){(const char *)id, sizeof *id};
}

static int code_of(struct lk_sqlite *store, lk_outcome outcome, uint64_t id) {
    if (outcome == LK_OK) {
        return SQLITE_OK;
    }
    if (outcome == LK_INTERNAL) {
        return SQLITE_NOMEM;
    }
    (void)snprintf(store->sql.complaint, sizeof store->sql.complaint,
                   "request %llu: no rule could have made it", (unsigned long long)id);
    return SQLITE_CORRUPT;
}

/* Adds a key to a set; *ret_is_new is false, too, when memory is exhausted. */
int lk_closure_fetch_once(struct lk_set *set, struct lk_slice key, bool *ret_is_new) {
    *ret_is_new = false;
    return lk_set_add(set, key, ret_is_new) ? SQLITE_OK : SQLITE_NOMEM;
}

/* S5. */
int lk_closure_fetch_draw(struct lk_closure *closure, const struct lk_path *path) {
    struct lk_slice root = lk_path_root(path);
    uint64_t last_draw = 0;
    bool is_new;
    int code = lk_closure_fetch_once(&closure->roots, root, &is_new);

    if (!is_new) {
        return code;
    }
    code = lk_sql_root_load(&closure->store->sql, root, &last_draw);
    if (code == SQLITE_OK && last_draw > 0
        && lk_model_restore_draw(closure->model, root, last_draw) != LK_OK) {
        code = SQLITE_NOMEM;
    }
    return code;
}

/* Adds a path to expand. */
int lk_closure_fetch_path(struct lk_closure *closure, const struct lk_path *path) {
    bool is_new;

    return lk_closure_fetch_once(&closure->paths, lk_closure_fetch_slice(path), &is_new);
}

int lk_closure_fetch_owner(struct lk_closure *closure, struct lk_slice owner) {
    bool is_new;

    return lk_closure_fetch_once(&closure->owners, owner, &is_new);
}

bool lk_closure_fetch_has_part_at(const struct lk_record *record, const struct lk_path *path) {
    for (size_t i = 0; i < record->part_count; i++) {
        if (lk_path_equal(&record->parts[i].path, path)) {
            return true;
        }
    }
    return false;
}

/* Whether the request is overdue, or may end by this very event. */
static bool may_end(const struct lk_closure *closure, const struct lk_record *record) {
    return record->deadline_us <= closure->now_us
           || (closure->ending != NULL && lk_closure_fetch_has_part_at(record, closure->ending));
}

/* ---- values, queues and items ---------------------------------------------------------------- */

struct placed {
    struct lk_closure *closure;
    const struct lk_path *path;
};

static int restore_value(void *context, struct lk_slice bytes, bool in_doubt) {
    const struct placed *placed = context;

    return lk_model_restore_value(placed->closure->model, placed->path, bytes, in_doubt) == LK_OK
               ? SQLITE_OK
               : SQLITE_NOMEM;
}

/* S6. */
int lk_closure_fetch_value(struct lk_closure *closure, const struct lk_path *path) {
    struct placed placed = {closure, path};
    bool is_new;
    int code = lk_closure_fetch_once(&closure->values, lk_closure_fetch_slice(path), &is_new);

    if (!is_new) {
        return code;
    }
    code = lk_sql_value_load(&closure->store->sql, lk_closure_fetch_slice(path), restore_value,
                             &placed);
    return code == SQLITE_EMPTY ? SQLITE_OK : code;
}

int lk_closure_fetch_values(struct lk_closure *closure, const struct lk_part *parts, size_t count) {
    int code = SQLITE_OK;

    for (size_t i = 0; i < count && code == SQLITE_OK; i++) {
        code = lk_closure_fetch_value(closure, &parts[i].path);
    }
    return code;
}

/* S7: what was counted, and the root's last draw, which a push goes on from. */
int lk_closure_fetch_queue(struct lk_closure *closure, const struct lk_path *queue) {
    struct lk_queue_counts counts;
    bool is_new;
    int code = lk_closure_fetch_once(&closure->queues, lk_closure_fetch_slice(queue), &is_new);

    if (!is_new) {
        return code;
    }
    code = lk_closure_fetch_draw(closure, queue);
    if (code == SQLITE_OK) {
        code = lk_sql_queue_load(&closure->store->sql, lk_closure_fetch_slice(queue), &counts);
    }
    if (code == SQLITE_OK && lk_model_restore_queue(closure->model, queue, &counts) != LK_OK) {
        code = SQLITE_NOMEM;
    }
    return code == SQLITE_EMPTY ? SQLITE_OK : code;
}

/*
 * The item becomes claimed when its claim is restored. Where the claim is not loaded, the event
 * does not depend on the state of the item.
 */
int lk_closure_fetch_row(struct lk_closure *closure) {
    struct lk_item_record *record = &closure->store->item.record;
    lk_outcome outcome;
    int code = lk_closure_fetch_queue(closure, &record->queue);

    if (code != SQLITE_OK) {
        return code;
    }
    if (record->state == LK_ITEM_CLAIMED) {
        record->state = LK_ITEM_READY;
    }
    outcome = lk_model_restore_item(closure->model, record);
    if (outcome == LK_INVALID) {
        (void)snprintf(closure->store->sql.complaint, sizeof closure->store->sql.complaint,
                       "an item of %.*s: no rule could have made it", (int)record->queue.size,
                       record->queue.bytes);
        return SQLITE_CORRUPT;
    }
    return outcome == LK_OK ? SQLITE_OK : SQLITE_NOMEM;
}

/* S7: the item at this path, once. SQLITE_EMPTY: there is none. */
int lk_closure_fetch_item(struct lk_closure *closure, const struct lk_path *path) {
    struct lk_sql *sql = &closure->store->sql;
    struct lk_slice id = lk_path_segment(path, path->depth - 1u);
    bool is_new;
    int code = lk_closure_fetch_once(&closure->items, lk_closure_fetch_slice(path), &is_new);

    if (!is_new || path->depth < 2) {
        return code;
    }
    code = lk_sql_item_load(sql, (struct lk_slice){path->bytes, path->size - id.size - 1u}, id,
                            &closure->store->item);
    return code == SQLITE_OK ? lk_closure_fetch_row(closure) : code;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* A claim needs its item, which is restored first and becomes claimed by it. */
static int load_item_of(struct lk_closure *closure, const struct lk_record *record) {
    int code =
        record->is_claim ? lk_closure_fetch_item(closure, &record->parts[0].path) : SQLITE_OK;

    if (code == SQLITE_EMPTY) {
        (void)snprintf(closure->store->sql.complaint, sizeof closure->store->sql.complaint,
                       "request %llu: it claims an item that is not there",
                       (unsigned long long)record->id);
        return SQLITE_CORRUPT;
    }
    return code;
}

/* A waiting request that crowd.c decides about, once the statement that led to it has ended. */
static int want_check(struct lk_closure *closure, const struct lk_record *record) {
    lk_ref request =
        lk_model_find(closure->model, record->owner, record->parts, record->part_count);
    bool is_new;

    return lk_closure_fetch_once(
        &closure->waiting, (struct lk_slice){(const char *)&request, sizeof request}, &is_new);
}

/* S2 to S6, of a request that has been loaded. */
static int want_around(struct lk_closure *closure, const struct lk_record *record) {
    bool may_go = may_end(closure, record);
    bool is_checked = closure->in_crowd && !may_go && record->state == LK_STATE_WAITING;
    bool needs_grant_pass = may_go || (record->state == LK_STATE_WAITING && !is_checked);
    int code = closure->with_owners ? lk_closure_fetch_owner(closure, record->owner) : SQLITE_OK;

    closure->has_overdue = closure->has_overdue || record->deadline_us <= closure->now_us;
    if (code == SQLITE_OK && is_checked) {
        code = want_check(closure, record);
    }

    if (code == SQLITE_OK && may_go && record->wants_value) {
        code = lk_closure_fetch_values(closure, record->parts, record->part_count);
    }
    for (size_t i = 0; i < record->part_count && code == SQLITE_OK; i++) {
        code = lk_closure_fetch_draw(closure, &record->parts[i].path);
        if (code == SQLITE_OK && needs_grant_pass && !closure->with_all) {
            code = lk_closure_fetch_path(closure, &record->parts[i].path);
        }
    }
    return code;
}

/* Loads a request, once, and adds what follows from it. */
int lk_closure_fetch_request(void *context, uint64_t id) {
    struct lk_closure *closure = context;
    struct lk_sqlite *store = closure->store;
    const struct lk_record *record = &store->request.record;
    bool is_new;
    int code = lk_closure_fetch_once(&closure->requests, slice_of_id(&id), &is_new);

    if (!is_new) {
        return code;
    }
    code = lk_sql_request_load(&store->sql, id, &store->request);
    if (code == SQLITE_OK) {
        code = load_item_of(closure, record);
    }
    if (code == SQLITE_OK) {
        code = code_of(store, lk_model_restore(closure->model, record), id);
    }
    return code == SQLITE_OK ? want_around(closure, record) : code;
}

/* Loads the requests at the path and above it, by equality. */
int lk_closure_fetch_above(struct lk_closure *closure, struct lk_slice path) {
    struct lk_sql *sql = &closure->store->sql;

    for (size_t end = 1; end <= path.size; end++) {
        if (end == path.size || path.bytes[end] == '/') {
            int code = lk_sql_each_at(sql, (struct lk_slice){path.bytes, end},
                                      lk_closure_fetch_request, closure);
            if (code != SQLITE_OK) {
                return code;
            }
        }
    }
    return SQLITE_OK;
}

/* Loads all that is related to the path: what is below it, by a range. */
static int expand(struct lk_closure *closure, struct lk_slice wanted) {
    char bytes[LK_PATH_BYTES_MAX]; /* a copy: loading may move what the set keeps */
    struct lk_slice path = {bytes, wanted.size};
    int code;

    memcpy(bytes, wanted.bytes, wanted.size);
    code = lk_closure_fetch_above(closure, path);
    return code == SQLITE_OK
               ? lk_sql_each_below(&closure->store->sql, path, lk_closure_fetch_request, closure)
               : code;
}

/* S3. */
static int load_waiting_of(struct lk_closure *closure, struct lk_slice owner) {
    char bytes[LK_IDENTITY_BYTES_MAX]; /* a copy, as above */

    memcpy(bytes, owner.bytes, owner.size);
    return lk_sql_each_waiting_of(&closure->store->sql, (struct lk_slice){bytes, owner.size},
                                  lk_closure_fetch_request, closure);
}

/* Until nothing is left to load. The sets are the lists of work, and grow meanwhile. */
int lk_closure_follow(struct lk_closure *closure) {
    int code = SQLITE_OK;

    while (code == SQLITE_OK && !closure->with_all) {
        if (closure->paths_done < closure->paths.item_count) {
            code = expand(closure, lk_set_at(&closure->paths, closure->paths_done++));
        } else if (closure->owners_done < closure->owners.item_count) {
            code = load_waiting_of(closure, lk_set_at(&closure->owners, closure->owners_done++));
        } else if (closure->waiting_done < closure->waiting.item_count) {
            lk_ref request;
            memcpy(&request, lk_set_at(&closure->waiting, closure->waiting_done++).bytes,
                   sizeof request);
            code = lk_crowd_check(closure, request);
        } else {
            break;
        }
    }
    return code;
}

bool lk_closure_has(const struct lk_closure *closure, uint64_t id) {
    return lk_set_has(&closure->requests, slice_of_id(&id));
}
