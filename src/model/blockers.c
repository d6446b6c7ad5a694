/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks over the part entries in the way of a probe. The walks follow probe.c, which stops at the
 * first blocker, to the end.
 */
#include "model/blockers.h"

#include "model/tree.h"
#include "model/wait_queue.h"

struct walk {
    const struct lk_model *model;
    const struct lk_probe *probe;
    const struct lk_probed_part *part;
    uint32_t search; /* 0: none */
    lk_blocker_visit *visit;
    void *context;
};

/* ---- held ---- */

bool lk_blockers_held_at(const struct lk_model *model, lk_id node, bool exclusive_only,
                         lk_blocker_visit *visit, void *context) {
    lk_id first = lk_node_at(model, node)->holders;
    lk_id at = first;

    while (at != 0) {
        const struct lk_part_entry *entry = lk_part_entry_at(model, at);
        if (exclusive_only && !lk_part_entry_is_exclusive(entry)) {
            break;
        }
        if (!visit(context, at)) {
            return false;
        }
        at = entry->next != first ? entry->next : 0;
    }
    return true;
}

bool lk_blockers_held_below(const struct lk_model *model, lk_id top, bool exclusive_only,
                            lk_blocker_visit *visit, void *context) {
    lk_id at = top;

    while (at != 0) {
        const struct lk_node *node = lk_node_at(model, at);
        uint32_t held = exclusive_only ? node->exclusive_below : node->held_below;
        if (held > 0 && !lk_blockers_held_at(model, at, exclusive_only, visit, context)) {
            return false;
        }
        at = lk_node_next_in_subtree(model, top, at, held == 0);
    }
    return true;
}

/* Whether this search has seen what a probe of this mode sees there; records that it has now. */
static bool is_searched(const struct walk *walk, uint32_t marks[2]) {
    bool shared = walk->part->units != 0;

    if (walk->search == 0) {
        return false;
    }
    if (marks[0] == walk->search || (shared && marks[1] == walk->search)) {
        return true;
    }
    marks[shared] = walk->search;
    return false;
}

static bool walk_holders_above(const struct walk *walk, lk_id node) {
    lk_id queue = lk_node_at(walk->model, node)->queue;

    if (queue != 0 && is_searched(walk, lk_wait_queue_at(walk->model, queue)->searched_holders)) {
        return true;
    }
    return lk_blockers_held_at(walk->model, node, walk->part->units != 0, walk->visit,
                               walk->context);
}

static bool walk_holders_below(const struct walk *walk, lk_id top) {
    lk_id queue = lk_node_at(walk->model, top)->queue;

    if (queue != 0 && is_searched(walk, lk_wait_queue_at(walk->model, queue)->searched_below)) {
        return true;
    }
    return lk_blockers_held_below(walk->model, top, walk->part->units != 0, walk->visit,
                                  walk->context);
}

/* ---- waiting ---- */

static bool walk_list(const struct walk *walk, lk_id queue_id, enum lk_list_kind kind) {
    const struct lk_model *model = walk->model;
    struct lk_wait_list *list = &lk_wait_queue_at(model, queue_id)->lists[kind];
    bool resumes = walk->search != 0 && list->searched_mark == walk->search;
    lk_id last = resumes ? list->searched : 0;
    lk_id at = resumes ? lk_queue_entry_at(model, last)->next : list->first;

    while (at != 0
           && lk_queue_entry_ticket(model, lk_queue_entry_at(model, at)) < walk->probe->ticket) {
        if (!walk->visit(walk->context, lk_queue_entry_at(model, at)->entry)) {
            return false;
        }
        last = at;
        at = lk_queue_entry_at(model, at)->next;
    }
    if (walk->search != 0 && last != 0) {
        list->searched_mark = walk->search;
        list->searched = last;
    }
    return true;
}

static bool walk_waiting(const struct walk *walk, lk_id node, enum lk_list_kind exclusive_kind,
                         enum lk_list_kind shared_kind) {
    lk_id queue = lk_node_at(walk->model, node)->queue;

    return queue == 0
           || (walk_list(walk, queue, exclusive_kind)
               && (walk->part->units != 0 || walk_list(walk, queue, shared_kind)));
}

/* ---- both ---- */

bool lk_blockers_conflicting(const struct lk_model *model, const struct lk_probe *probe,
                             size_t part, uint32_t search, lk_blocker_visit *visit, void *context) {
    struct walk walk = {model, probe, &probe->parts[part], search, visit, context};
    lk_id above = walk.part->node;

    if (walk.part->is_there) {
        if (!walk_holders_below(&walk, above)
            || !walk_waiting(&walk, above, LK_BELOW_EXCLUSIVE, LK_BELOW_SHARED)) {
            return false;
        }
        above = lk_node_parent(lk_node_at(model, above));
    }
    for (; above != 0; above = lk_node_parent(lk_node_at(model, above))) {
        if (!walk_holders_above(&walk, above)
            || !walk_waiting(&walk, above, LK_HERE_EXCLUSIVE, LK_HERE_SHARED)) {
            return false;
        }
    }
    return true;
}

/* Passes on all part entries but exclusive ones and the probe's own. */
static bool visit_counting(void *context, lk_id entry_id) {
    const struct walk *walk = context;
    const struct lk_part_entry *entry = lk_part_entry_at(walk->model, entry_id);

    return lk_part_entry_is_exclusive(entry) || entry->request == walk->probe->self
           || walk->visit(walk->context, entry_id);
}

bool lk_blockers_counting(const struct lk_model *model, const struct lk_probe *probe, size_t part,
                          lk_blocker_visit *visit, void *context) {
    struct walk inner = {model, probe, &probe->parts[part], 0, visit, context};
    struct walk walk = inner;
    lk_id queue;

    if (!inner.part->is_there) {
        return true;
    }
    walk.visit = visit_counting;
    walk.context = &inner;
    queue = lk_node_at(model, inner.part->node)->queue;
    return lk_blockers_held_at(model, inner.part->node, false, walk.visit, walk.context)
           && (queue == 0 || walk_list(&walk, queue, LK_HERE_SHARED));
}
