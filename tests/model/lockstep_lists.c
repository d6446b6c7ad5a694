/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the model lists, held against a walk over everything or against what the reference has:
 * explanations of many requests (R20), one by one and together; pages, with each entry on exactly
 * one of them, in the order of the standings, whichever way the model finds it; queues and parked
 * items.
 */
#include <stdlib.h>

#include "lockstep.h"
#include "model/page.h"

/* ---- explanations ---------------------------------------------------------------------------- */

struct waiting {
    const struct lk_model *model;
    lk_ref *requests;
    size_t count;
};

static bool add_waiting(void *context, lk_ref request) {
    struct waiting *waiting = context;
    struct lk_record record;
    size_t at = waiting->count;

    lk_model_record(waiting->model, request, &record);
    if (record.state != LK_STATE_WAITING) {
        return true;
    }
    waiting->requests =
        lockstep_grown(waiting->requests, waiting->count, sizeof *waiting->requests);
    while (at > 0
           && lk_model_standing(waiting->model, waiting->requests[at - 1]).ticket > record.ticket) {
        waiting->requests[at] = waiting->requests[at - 1];
        at--;
    }
    waiting->requests[at] = request;
    waiting->count++;
    return true;
}

static bool is_same(const struct lk_model *model, lk_ref request, struct lk_explaining *explaining,
                    size_t max) {
    struct lk_blocker alone[LK_EXPLAINED_MAX];
    struct lk_blocker together[LK_EXPLAINED_MAX];
    size_t total = lk_model_blockers(model, request, alone, max);

    if (lk_model_explain(model, request, explaining, together, max) != total) {
        return false;
    }
    for (size_t i = 0; i < total && i < max; i++) {
        if (alone[i].request != together[i].request || alone[i].part != together[i].part) {
            return false;
        }
    }
    return true;
}

const char *lockstep_explain_compare(const struct lockstep *lockstep) {
    struct waiting waiting = {.model = lockstep->model};
    struct lk_explaining *explaining;
    bool are_same = true;

    lk_model_each(lockstep->model, add_waiting, &waiting);
    if (waiting.count == 0) {
        return NULL;
    }
    explaining = lockstep_grown(NULL, 0, sizeof *explaining);
    memset(explaining, 0, sizeof *explaining);
    for (size_t i = 0; i < waiting.count && are_same; i++) {
        are_same = is_same(lockstep->model, waiting.requests[i], explaining,
                           i % 4 == 3 ? 2 : LK_EXPLAINED_MAX);
    }
    free(waiting.requests);
    free(explaining);
    return are_same ? NULL : "what is in the way, explained together (R20)";
}

/* ---- pages ----------------------------------------------------------------------------------- */

enum { ROWS_MAX = 3 };

struct everything {
    const struct lk_model *model;
    struct lk_page_row *rows;
    size_t count;
};

static void add(struct everything *all, struct lk_standing standing, uint32_t ref) {
    all->rows = lockstep_grown(all->rows, all->count, sizeof *all->rows);
    all->rows[all->count++] = (struct lk_page_row){standing, ref};
}

static bool add_request(void *context, lk_ref request) {
    struct everything *all = context;

    add(all, lk_model_standing(all->model, request), request);
    return true;
}

static bool add_item(void *context, lk_item_ref item) {
    struct everything *all = context;

    add(all, (struct lk_standing){.ticket = lk_model_item_sequence(all->model, item)}, item);
    return true;
}

static int compare(const void *left, const void *right) {
    const struct lk_standing a = ((const struct lk_page_row *)left)->standing;
    const struct lk_standing b = ((const struct lk_page_row *)right)->standing;

    return a.ticket != b.ticket ? (a.ticket > b.ticket) - (a.ticket < b.ticket)
                                : (a.id > b.id) - (a.id < b.id);
}

enum what { ALL, BELOW, RELATED, ITEMS, WHATS };

static void collect(const struct lockstep *lockstep, enum what what, const struct lk_path *path,
                    struct everything *all) {
    switch (what) {
    case ALL:
        lk_model_each(lockstep->model, add_request, all);
        break;
    case BELOW:
        lk_model_each_below(lockstep->model, path, add_request, all);
        break;
    case RELATED:
        lk_model_each_related(lockstep->model, path, add_request, all);
        break;
    default:
        lk_model_each_item(lockstep->model, path, add_item, all);
        break;
    }
    if ((what == BELOW || what == RELATED) && all->count > 1) { /* the others are in order */
        qsort(all->rows, all->count, sizeof *all->rows, compare);
    }
}

static void turn(const struct lockstep *lockstep, enum what what, const struct lk_path *path,
                 struct lk_page *page) {
    switch (what) {
    case ALL:
        lk_model_page(lockstep->model, page);
        break;
    case BELOW:
        lk_model_page_at(lockstep->model, path, LK_PAGE_BELOW, false, page);
        break;
    case RELATED:
        lk_model_page_at(lockstep->model, path, LK_PAGE_RELATED, false, page);
        break;
    default:
        lk_model_page_items(lockstep->model, path, page);
        break;
    }
}

static const char *read_pages(const struct lockstep *lockstep, enum what what,
                              const struct lk_path *path, const struct everything *all) {
    struct lk_page_row rows[ROWS_MAX];
    struct lk_page page = {.rows = rows,
                           .max = 1 + lockstep->match_count % ROWS_MAX,
                           .walk_steps = 1 + all->count % 5};
    size_t at = 0;

    do {
        turn(lockstep, what, path, &page);
        for (size_t i = 0; i < page.count; i++, at++) {
            if (at == all->count || rows[i].ref != all->rows[at].ref) {
                return "a page holds another entry than comes next";
            }
        }
        if (page.has_more && page.count == 0) {
            return "a page is empty, and yet there are more";
        }
        page.behind = page.reached;
    } while (page.has_more);
    return at == all->count ? NULL : "pages end before everything was listed";
}

/* One of the paths a step, and all kinds: there are many steps. */
const char *lockstep_pages_compare(const struct lockstep *lockstep) {
    const char *wrong = NULL;
    size_t number = (size_t)lockstep->seen_us / 1000 + lockstep->match_count;
    const struct lk_path *path =
        lockstep->path_count > 0 ? &lockstep->paths[number % lockstep->path_count]->path : NULL;

    for (enum what what = ALL; what < (path != NULL ? WHATS : BELOW) && wrong == NULL; what++) {
        struct everything all = {.model = lockstep->model};

        collect(lockstep, what, path, &all);
        wrong = read_pages(lockstep, what, path, &all);
        free(all.rows);
    }
    return wrong;
}

/* ---- queues ---------------------------------------------------------------------------------- */

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

/* ---- parked items ---------------------------------------------------------------------------- */

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
