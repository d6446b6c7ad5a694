/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a neighbourhood, each loaded once, and all that follows from them. */
#include "engine/sqlite/gather.h"

#include <stdio.h>

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
int lk_gather_once(struct lk_set *set, struct lk_slice key, bool *ret_is_new) {
    *ret_is_new = false;
    return lk_set_add(set, key, ret_is_new) ? SQLITE_OK : SQLITE_NOMEM;
}

/* S5. */
int lk_gather_draw(struct lk_neighbourhood *hood, const struct lk_path *path) {
    struct lk_slice root = lk_path_root(path);
    uint64_t last_draw = 0;
    bool is_new;
    int code = lk_gather_once(&hood->roots, root, &is_new);

    if (!is_new) {
        return code;
    }
    code = lk_sql_root_load(&hood->store->sql, root, &last_draw);
    if (code == SQLITE_OK && last_draw > 0
        && lk_model_restore_draw(hood->model, root, last_draw) != LK_OK) {
        code = SQLITE_NOMEM;
    }
    return code;
}

/* Wants the path expanded. */
int lk_gather_path(struct lk_neighbourhood *hood, const struct lk_path *path) {
    bool is_new;

    return lk_gather_once(&hood->paths, lk_gather_slice(path), &is_new);
}

int lk_gather_owner(struct lk_neighbourhood *hood, struct lk_slice owner) {
    bool is_new;

    return lk_gather_once(&hood->owners, owner, &is_new);
}

bool lk_gather_stands_at(const struct lk_record *record, const struct lk_path *path) {
    for (size_t i = 0; i < record->part_count; i++) {
        if (lk_path_equal(&record->parts[i].path, path)) {
            return true;
        }
    }
    return false;
}

/* Whether the request is overdue, or may end by this very event. */
static bool may_end(const struct lk_neighbourhood *hood, const struct lk_record *record) {
    return record->deadline_us <= hood->now_us
           || (hood->ending != NULL && lk_gather_stands_at(record, hood->ending));
}

/* ---- values, queues and items ---------------------------------------------------------------- */

struct placed {
    struct lk_neighbourhood *hood;
    const struct lk_path *path;
};

static int restore_value(void *context, struct lk_slice bytes, bool in_doubt) {
    const struct placed *placed = context;

    return lk_model_restore_value(placed->hood->model, placed->path, bytes, in_doubt) == LK_OK
               ? SQLITE_OK
               : SQLITE_NOMEM;
}

/* S6. */
int lk_gather_value(struct lk_neighbourhood *hood, const struct lk_path *path) {
    struct placed placed = {hood, path};
    bool is_new;
    int code = lk_gather_once(&hood->values, lk_gather_slice(path), &is_new);

    if (!is_new) {
        return code;
    }
    code = lk_sql_value_load(&hood->store->sql, lk_gather_slice(path), restore_value, &placed);
    return code == SQLITE_EMPTY ? SQLITE_OK : code;
}

/* S7: what was counted, and the root's last draw, which a push goes on from. */
int lk_gather_queue(struct lk_neighbourhood *hood, const struct lk_path *queue) {
    struct lk_queue_counts counts;
    bool is_new;
    int code = lk_gather_once(&hood->queues, lk_gather_slice(queue), &is_new);

    if (!is_new) {
        return code;
    }
    code = lk_gather_draw(hood, queue);
    if (code == SQLITE_OK) {
        code = lk_sql_queue_load(&hood->store->sql, lk_gather_slice(queue), &counts);
    }
    if (code == SQLITE_OK && lk_model_restore_queue(hood->model, queue, &counts) != LK_OK) {
        code = SQLITE_NOMEM;
    }
    return code == SQLITE_EMPTY ? SQLITE_OK : code;
}

/*
 * The item becomes claimed with its claim. One that is claimed, by its row, and whose claim is not
 * loaded is not looked into: it is there, and that is all.
 */
int lk_gather_row(struct lk_neighbourhood *hood) {
    struct lk_item_record *record = &hood->store->item.record;
    lk_outcome outcome;
    int code = lk_gather_queue(hood, &record->queue);

    if (code != SQLITE_OK) {
        return code;
    }
    if (record->state == LK_ITEM_CLAIMED) {
        record->state = LK_ITEM_READY;
    }
    outcome = lk_model_restore_item(hood->model, record);
    if (outcome == LK_INVALID) {
        (void)snprintf(hood->store->sql.complaint, sizeof hood->store->sql.complaint,
                       "an item of %.*s: no rule could have made it", (int)record->queue.size,
                       record->queue.bytes);
        return SQLITE_CORRUPT;
    }
    return outcome == LK_OK ? SQLITE_OK : SQLITE_NOMEM;
}

/* S7: the item at this path, once. SQLITE_EMPTY: there is none. */
int lk_gather_item(struct lk_neighbourhood *hood, const struct lk_path *path) {
    struct lk_sql *sql = &hood->store->sql;
    struct lk_slice id = lk_path_segment(path, path->depth - 1u);
    bool is_new;
    int code = lk_gather_once(&hood->items, lk_gather_slice(path), &is_new);

    if (!is_new || path->depth < 2) {
        return code;
    }
    code = lk_sql_item_load(sql, (struct lk_slice){path->bytes, path->size - id.size - 1u}, id,
                            &hood->store->item);
    return code == SQLITE_OK ? lk_gather_row(hood) : code;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* What a request brings along: the item of a claim before, for it becomes claimed by it. */
static int load_item_of(struct lk_neighbourhood *hood, const struct lk_record *record) {
    int code = record->is_claim ? lk_gather_item(hood, &record->parts[0].path) : SQLITE_OK;

    if (code == SQLITE_EMPTY) {
        (void)snprintf(hood->store->sql.complaint, sizeof hood->store->sql.complaint,
                       "request %llu: it claims an item that is not there",
                       (unsigned long long)record->id);
        return SQLITE_CORRUPT;
    }
    return code;
}

/* S2 to S6, of a request that has been loaded. */
static int want_around(struct lk_neighbourhood *hood, const struct lk_record *record) {
    bool may_go = may_end(hood, record);
    bool is_unsettled = may_go || record->state == LK_STATE_WAITING;
    int code = hood->with_owners ? lk_gather_owner(hood, record->owner) : SQLITE_OK;

    if (code == SQLITE_OK && may_go && record->wants_value) {
        code = lk_gather_value(hood, &record->parts[0].path);
    }
    for (size_t i = 0; i < record->part_count && code == SQLITE_OK; i++) {
        code = lk_gather_draw(hood, &record->parts[i].path);
        if (code == SQLITE_OK && is_unsettled && !hood->with_all) {
            code = lk_gather_path(hood, &record->parts[i].path);
        }
    }
    return code;
}

/* Loads a request, once, and wants what follows from it. */
int lk_gather_request(void *context, uint64_t id) {
    struct lk_neighbourhood *hood = context;
    struct lk_sqlite *store = hood->store;
    const struct lk_record *record = &store->request.record;
    bool is_new;
    int code = lk_gather_once(&hood->requests, slice_of_id(&id), &is_new);

    if (!is_new) {
        return code;
    }
    code = lk_sql_request_load(&store->sql, id, &store->request);
    if (code == SQLITE_OK) {
        code = load_item_of(hood, record);
    }
    if (code == SQLITE_OK) {
        code = code_of(store, lk_model_restore(hood->model, record), id);
    }
    return code == SQLITE_OK ? want_around(hood, record) : code;
}

/* Loads what stands at the path and above it, by exact looks. */
int lk_gather_above(struct lk_neighbourhood *hood, struct lk_slice path) {
    struct lk_sql *sql = &hood->store->sql;

    for (size_t end = 1; end <= path.size; end++) {
        if (end == path.size || path.bytes[end] == '/') {
            int code =
                lk_sql_each_at(sql, (struct lk_slice){path.bytes, end}, lk_gather_request, hood);
            if (code != SQLITE_OK) {
                return code;
            }
        }
    }
    return SQLITE_OK;
}

/* Loads all that is related to the path: what is below it by a range. */
static int expand(struct lk_neighbourhood *hood, struct lk_slice wanted) {
    char bytes[LK_PATH_BYTES_MAX]; /* a copy: loading may move what the set keeps */
    struct lk_slice path = {bytes, wanted.size};
    int code;

    memcpy(bytes, wanted.bytes, wanted.size);
    code = lk_gather_above(hood, path);
    return code == SQLITE_OK ? lk_sql_each_below(&hood->store->sql, path, lk_gather_request, hood)
                             : code;
}

/* S3. */
static int load_waiting_of(struct lk_neighbourhood *hood, struct lk_slice owner) {
    char bytes[LK_OWNER_BYTES_MAX]; /* a copy, as above */

    memcpy(bytes, owner.bytes, owner.size);
    return lk_sql_each_waiting_of(&hood->store->sql, (struct lk_slice){bytes, owner.size},
                                  lk_gather_request, hood);
}

/* Until nothing more is wanted: the sets are the lists of what is, and grow meanwhile. */
int lk_neighbourhood_follow(struct lk_neighbourhood *hood) {
    int code = SQLITE_OK;

    while (code == SQLITE_OK && !hood->with_all) {
        if (hood->paths_done < hood->paths.item_count) {
            code = expand(hood, lk_set_at(&hood->paths, hood->paths_done++));
        } else if (hood->owners_done < hood->owners.item_count) {
            code = load_waiting_of(hood, lk_set_at(&hood->owners, hood->owners_done++));
        } else {
            break;
        }
    }
    return code;
}

bool lk_neighbourhood_has(const struct lk_neighbourhood *hood, uint64_t id) {
    return lk_set_has(&hood->requests, slice_of_id(&id));
}
