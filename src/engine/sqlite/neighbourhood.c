/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading the neighbourhood of an event.
 *
 * To *expand* a path is to load every request with a part related to it (R5). Loaded are
 *
 *   S1  all that is related to the event's own paths: those asked for, ended, broken; for a renewal
 *       nothing but the request itself, which lives on and lets nobody in;
 *   S2  every request that waits or is overdue or may be broken among what is loaded: all that is
 *       related to each of its parts;
 *   S3  for an ask: everything that waits of each owner that is loaded, and of the asker;
 *   S4  a bounded number of requests that are overdue elsewhere, for somebody has to sweep them;
 *   S5  the last draw of each root that has a part in what is loaded, and the floor (R4);
 *
 * until nothing more follows. Claim: a step on this gives the same answer and the same changes as
 * a step on everything, up to overdue requests elsewhere, which nobody has learnt of yet (R11).
 *
 *   - What an event can end or weaken is its own target, what is broken, and what is overdue. All
 *     of these are expanded (S1, S2), so every waiting request that their end could let in is
 *     loaded: by R7 a request is kept waiting only by what is related to it.
 *   - Whether a waiting request is granted depends on what is related to its parts (R7a, b), on
 *     what stands at exactly its paths (R7c) and on leases of its owner at or above them (R8):
 *     all related to it, all loaded (S2).
 *   - A grant can let in others of the same owner that it covers (R8). They are related to what
 *     was granted, which waited (expanded) or is the event's own (expanded).
 *   - A search for a cycle (R13) goes from a waiting request to what is in its way (related, S2)
 *     to that one's owner to all that waits of that owner (S3), and so on; and from a grant to
 *     what waits for it (related, S1). Only asks search.
 *   - R3's search for the asker's own request with these paths finds it among the related (S1).
 *     Limits, positions, blockers and units in use look at related requests only.
 *   - A held request that lives on is not expanded: nothing looks at its other parts, as it
 *     neither ends nor waits.
 *   - Quotas (R22) count everything: where one is set, an ask loads everything.
 */
#include "engine/sqlite/neighbourhood.h"

#include <stdio.h>

static struct lk_slice slice_of_path(const struct lk_path *path) {
    return (struct lk_slice){path->bytes, path->size};
}

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

/* S5. */
static int load_draw(struct lk_neighbourhood *hood, const struct lk_path *path) {
    struct lk_slice root = lk_path_root(path);
    uint64_t last_draw = 0;
    bool is_new = false;
    int code;

    if (!lk_set_add(&hood->roots, root, &is_new)) {
        return SQLITE_NOMEM;
    }
    if (!is_new) {
        return SQLITE_OK;
    }
    code = lk_sql_root_load(&hood->store->sql, root, &last_draw);
    if (code == SQLITE_OK && last_draw > 0
        && lk_model_restore_draw(hood->model, root, last_draw) != LK_OK) {
        code = SQLITE_NOMEM;
    }
    return code;
}

/* Wants the path expanded. */
static int want_path(struct lk_neighbourhood *hood, const struct lk_path *path) {
    bool is_new;

    return lk_set_add(&hood->paths, slice_of_path(path), &is_new) ? SQLITE_OK : SQLITE_NOMEM;
}

static int want_owner(struct lk_neighbourhood *hood, struct lk_slice owner) {
    bool is_new;

    return lk_set_add(&hood->owners, owner, &is_new) ? SQLITE_OK : SQLITE_NOMEM;
}

static bool stands_at(const struct lk_record *record, const struct lk_path *path) {
    for (size_t i = 0; i < record->part_count; i++) {
        if (lk_path_equal(&record->parts[i].path, path)) {
            return true;
        }
    }
    return false;
}

/* S2: whether the request waits, or may end by this very event. */
static bool is_unsettled(const struct lk_neighbourhood *hood, const struct lk_record *record) {
    return record->state == LK_STATE_WAITING || record->deadline_us <= hood->now_us
           || (hood->broken != NULL && stands_at(record, hood->broken));
}

/* Loads a request, once, and wants what follows from it. */
static int load_request(void *context, uint64_t id) {
    struct lk_neighbourhood *hood = context;
    struct lk_sqlite *store = hood->store;
    const struct lk_record *record = &store->request.record;
    bool is_new = false;
    int code;

    if (!lk_set_add(&hood->requests, slice_of_id(&id), &is_new)) {
        return SQLITE_NOMEM;
    }
    if (!is_new) {
        return SQLITE_OK;
    }
    code = lk_sql_request_load(&store->sql, id, &store->request);
    if (code == SQLITE_OK) {
        code = code_of(store, lk_model_restore(hood->model, record), id);
    }
    if (code == SQLITE_OK && hood->with_owners) {
        code = want_owner(hood, record->owner);
    }
    for (size_t i = 0; i < record->part_count && code == SQLITE_OK; i++) {
        code = load_draw(hood, &record->parts[i].path);
        if (code == SQLITE_OK && !hood->with_all && is_unsettled(hood, record)) {
            code = want_path(hood, &record->parts[i].path);
        }
    }
    return code;
}

/* Loads all that is related to the path: at and above it by exact looks, below it by a range. */
static int expand(struct lk_neighbourhood *hood, struct lk_slice wanted) {
    struct lk_sql *sql = &hood->store->sql;
    char bytes[LK_PATH_BYTES_MAX]; /* a copy: loading may move what the set keeps */
    struct lk_slice path = {bytes, wanted.size};

    memcpy(bytes, wanted.bytes, wanted.size);
    for (size_t end = 1; end <= path.size; end++) {
        if (end == path.size || bytes[end] == '/') {
            int code = lk_sql_each_at(sql, (struct lk_slice){bytes, end}, load_request, hood);
            if (code != SQLITE_OK) {
                return code;
            }
        }
    }
    return lk_sql_each_below(sql, path, load_request, hood);
}

/* S3. */
static int load_waiting_of(struct lk_neighbourhood *hood, struct lk_slice owner) {
    char bytes[LK_OWNER_BYTES_MAX]; /* a copy, as above */

    memcpy(bytes, owner.bytes, owner.size);
    return lk_sql_each_waiting_of(&hood->store->sql, (struct lk_slice){bytes, owner.size},
                                  load_request, hood);
}

/* Until nothing more is wanted: the sets are the lists of what is, and grow meanwhile. */
static int follow(struct lk_neighbourhood *hood) {
    size_t paths_done = 0;
    size_t owners_done = 0;
    int code = SQLITE_OK;

    while (code == SQLITE_OK) {
        if (paths_done < hood->paths.item_count) {
            code = expand(hood, lk_set_at(&hood->paths, paths_done++));
        } else if (owners_done < hood->owners.item_count) {
            code = load_waiting_of(hood, lk_set_at(&hood->owners, owners_done++));
        } else {
            break;
        }
    }
    return code;
}

static int want_parts(struct lk_neighbourhood *hood, const struct lk_part *parts, size_t count) {
    int code = SQLITE_OK;

    for (size_t i = 0; i < count && code == SQLITE_OK; i++) {
        code = load_draw(hood, &parts[i].path);
        if (code == SQLITE_OK) {
            code = want_path(hood, &parts[i].path);
        }
    }
    return code;
}

static bool has_paths(const struct lk_record *record, const struct lk_target *target) {
    for (size_t i = 0; i < target->part_count; i++) {
        if (!stands_at(record, &target->parts[i].path)) {
            return false;
        }
    }
    return record->part_count == target->part_count;
}

struct own {
    struct lk_neighbourhood *hood;
    const struct lk_target *target;
};

/* Of the requests of this owner at the target's first path, up to the target itself. */
static int load_own(void *context, uint64_t id) {
    const struct own *own = context;
    int code = load_request(own->hood, id);

    if (code == SQLITE_OK && has_paths(&own->hood->store->request.record, own->target)) {
        code = SQLITE_DONE;
    }
    return code;
}

/*
 * S1 of a renewal. With a long line at the path it matters that a lease stands early in it; if it
 * is overdue, what it keeps waiting follows (S2).
 */
static int want_own(struct lk_neighbourhood *hood, const struct lk_target *target) {
    struct own own = {.hood = hood, .target = target};

    return lk_sql_each_at_of(&hood->store->sql, slice_of_path(&target->parts[0].path),
                             target->owner, load_own, &own);
}

/* S1, and the asker for S3. */
static int want_event(struct lk_neighbourhood *hood, const struct lk_event *event,
                      const struct lk_path *prefix) {
    int code;

    switch (event->kind) {
    case LK_EVENT_ASK:
        code = want_parts(hood, event->ask.parts, event->ask.part_count);
        return code == SQLITE_OK ? want_owner(hood, event->ask.owner) : code;
    case LK_EVENT_RENEW:
        return want_own(hood, &event->renew.target);
    case LK_EVENT_RELEASE:
        return want_parts(hood, event->release.target.parts, event->release.target.part_count);
    case LK_EVENT_BREAK:
        return want_path(hood, &event->broken.path);
    case LK_EVENT_TICK:
        break;
    }
    return prefix != NULL ? want_path(hood, prefix) : SQLITE_OK;
}

static bool has_quota(const struct lk_quotas *quotas) {
    return (quotas->live_max | quotas->live_per_owner_max | quotas->live_per_root_max
            | quotas->waiters_per_path_max)
           != 0;
}

static bool needs_all(const struct lk_sqlite_turn *turn, const struct lk_event *event,
                      const struct lk_path *prefix) {
    return (event->kind == LK_EVENT_TICK && prefix == NULL)
           || (event->kind == LK_EVENT_ASK && has_quota(&turn->meta.quotas));
}

/* The next id: above all that live, and by the clock above those that lived and were forgotten. */
static int restore_next_id(struct lk_neighbourhood *hood, int64_t wall_us) {
    uint64_t greatest = 0;
    uint64_t by_clock = wall_us > 0 ? (uint64_t)wall_us : 1;
    int code = lk_sql_request_greatest(&hood->store->sql, &greatest);

    if (code == SQLITE_OK) {
        lk_model_restore_next_id(hood->model, greatest < by_clock ? by_clock : greatest + 1);
    }
    return code;
}

int lk_neighbourhood_load(struct lk_neighbourhood *hood, struct lk_sqlite_turn *turn,
                          const struct lk_event *event, const struct lk_path *prefix) {
    const struct lk_model_config config = {.quotas = turn->meta.quotas,
                                           .hash_seed = lk_random_next(&turn->store->random)};
    struct lk_sql *sql = &turn->store->sql;
    int code;

    *hood = (struct lk_neighbourhood){
        .store = turn->store,
        .model = lk_model_new(&config),
        .now_us = event->times.now_us,
        .broken = event->kind == LK_EVENT_BREAK ? &event->broken.path : NULL,
        .with_all = needs_all(turn, event, prefix),
    };
    if (hood->model == NULL) {
        return SQLITE_NOMEM;
    }
    hood->with_owners = event->kind == LK_EVENT_ASK && !hood->with_all;
    lk_model_restore_floor(hood->model, turn->meta.draw_floor);
    code = restore_next_id(hood, event->times.wall_us);
    if (code == SQLITE_OK) {
        code = want_event(hood, event, prefix);
    }
    if (code == SQLITE_OK && hood->with_all) {
        return lk_sql_each(sql, load_request, hood);
    }
    if (code == SQLITE_OK && event->kind != LK_EVENT_TICK) {
        /* S4; a look leaves the sweeping to those who write. */
        code = lk_sql_each_overdue(sql, hood->now_us, turn->store->options.overdue_max,
                                   load_request, hood);
    }
    return code == SQLITE_OK ? follow(hood) : code;
}

void lk_neighbourhood_done(struct lk_neighbourhood *hood) {
    lk_model_free(hood->model);
    hood->model = NULL;
    lk_set_done(&hood->requests);
    lk_set_done(&hood->paths);
    lk_set_done(&hood->owners);
    lk_set_done(&hood->roots);
}

bool lk_neighbourhood_has(const struct lk_neighbourhood *hood, uint64_t id) {
    return lk_set_has(&hood->requests, slice_of_id(&id));
}
