/* SPDX-License-Identifier: Apache-2.0 */
/* Listings of queues and of parked items, held against what the reference has. */
#include "lockstep.h"

/* ---- queues ---- */

/* A walk that should meet the wanted queues of the reference, each once, in order. */
struct queues_walk {
    const struct lockstep *lockstep;
    const struct lk_path *prefix; /* NULL: all */
    struct lk_slice behind;       /* what was met last */
    char path[LK_PATH_BYTES_MAX + 1];
    size_t count;
    bool is_wrong;
};

static bool is_wanted(const struct queues_walk *walk, const struct lk_path *path,
                      struct lk_slice behind) {
    return (walk->prefix == NULL || lk_path_contains(walk->prefix, path))
           && lk_slice_compare((struct lk_slice){path->bytes, path->size}, behind) > 0;
}

static bool visit_queue(void *context, lk_queue_ref queue) {
    struct queues_walk *walk = context;
    struct lk_queue_counts counts;
    struct lk_path path;
    char text[LK_PATH_BYTES_MAX + 1];

    lk_model_queue_record(walk->lockstep->model, queue, text, &counts);
    walk->is_wrong = lk_path_parse(lk_slice_of(text), &path, NULL) != LK_OK
                     || !is_wanted(walk, &path, walk->behind);
    memcpy(walk->path, text, sizeof text);
    walk->behind = lk_slice_of(walk->path);
    walk->count++;
    return !walk->is_wrong;
}

static bool is_listed(const struct lockstep *lockstep, const struct lk_path *prefix,
                      struct lk_slice behind) {
    struct queues_walk walk = {.lockstep = lockstep, .prefix = prefix, .behind = behind};
    size_t count;
    const struct lk_reference_queue *queues = lk_reference_queues(lockstep->reference, &count);
    size_t expected = 0;

    for (size_t i = 0; i < count; i++) {
        expected += is_wanted(&walk, &queues[i].path, behind);
    }
    lk_model_each_queue(lockstep->model, prefix, behind, visit_queue, &walk);
    return !walk.is_wrong && walk.count == expected;
}

/* ---- parked items ---- */

struct parked_walk {
    const struct lk_model *model;
    uint64_t reached;
    size_t count;
    bool is_wrong;
};

static bool visit_parked(void *context, lk_item_ref item) {
    struct parked_walk *walk = context;
    struct lk_item_record record;

    lk_model_item_record(walk->model, item, &record);
    walk->is_wrong = record.state != LK_ITEM_PARKED || record.sequence <= walk->reached;
    walk->reached = record.sequence;
    walk->count++;
    return !walk->is_wrong && walk->count % 2 != 0; /* by twos */
}

static bool are_parked_listed(const struct lockstep *lockstep, const struct lk_path *queue) {
    struct parked_walk walk = {.model = lockstep->model};
    size_t count;
    const struct lk_reference_item *items = lk_reference_items(lockstep->reference, &count);
    size_t expected = 0;
    size_t last;

    for (size_t i = 0; i < count; i++) {
        expected += lk_path_equal(&items[i].queue, queue) && items[i].state == LK_ITEM_PARKED;
    }
    do {
        last = walk.count;
        lk_model_each_parked(lockstep->model, queue, walk.reached, visit_parked, &walk);
    } while (!walk.is_wrong && walk.count != last);
    return !walk.is_wrong && walk.count == expected;
}

const char *lockstep_queues_compare(const struct lockstep *lockstep) {
    const struct lk_slice first = {NULL, 0};

    if (!is_listed(lockstep, NULL, first)) {
        return "the list of all queues";
    }
    for (size_t i = 0; i < lockstep->path_count; i++) {
        const struct lk_path *path = &lockstep->paths[i]->path;

        if (!is_listed(lockstep, path, first)
            || !is_listed(lockstep, NULL, (struct lk_slice){path->bytes, path->size})
            || !is_listed(lockstep, path, (struct lk_slice){path->bytes, path->size})) {
            return "a list of queues";
        }
        if (!are_parked_listed(lockstep, path)) {
            return "a list of parked items";
        }
    }
    return NULL;
}
