/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking over what is in the way. The walks go where demand.c looks for the first obstacle, but to
 * the end.
 */
#include "model/obstacles.h"

#include "model/lines.h"
#include "model/rules.h"
#include "model/tree.h"

struct walk {
    const struct lk_model *model;
    const struct lk_demand *demand;
    const struct lk_demanded *part;
    uint32_t search; /* 0: none */
    lk_obstacle_visit *visit;
    void *context;
};

/* ---- held ---- */

static bool walk_holders(const struct walk *walk, lk_id node, bool exclusive_only) {
    lk_id first = lk_node_at(walk->model, node)->holders;
    lk_id at = first;

    while (at != 0) {
        const struct lk_stake *stake = lk_stake_at(walk->model, at);
        if (exclusive_only && !lk_stake_is_exclusive(stake)) {
            break;
        }
        if (!walk->visit(walk->context, at)) {
            return false;
        }
        at = stake->next != first ? stake->next : 0;
    }
    return true;
}

/* Whether this search has seen what an asker of this mode sees there; notes that it has now. */
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
    lk_id line = lk_node_at(walk->model, node)->line;

    if (line != 0 && is_searched(walk, lk_line_at(walk->model, line)->searched_holders)) {
        return true;
    }
    return walk_holders(walk, node, walk->part->units != 0);
}

static bool walk_holders_below(const struct walk *walk, lk_id top) {
    bool exclusive_only = walk->part->units != 0;
    lk_id line = lk_node_at(walk->model, top)->line;
    lk_id at = top;

    if (line != 0 && is_searched(walk, lk_line_at(walk->model, line)->searched_below)) {
        return true;
    }
    while (at != 0) {
        const struct lk_node *node = lk_node_at(walk->model, at);
        uint32_t held = exclusive_only ? node->exclusive_below : node->held_below;
        if (held > 0 && !walk_holders(walk, at, exclusive_only)) {
            return false;
        }
        at = lk_node_next_in_subtree(walk->model, top, at, held == 0);
    }
    return true;
}

/* ---- waiting ---- */

static bool walk_list(const struct walk *walk, lk_id line_id, enum lk_list_kind kind) {
    const struct lk_model *model = walk->model;
    struct lk_line_list *list = &lk_line_at(model, line_id)->lists[kind];
    bool resumes = walk->search != 0 && list->searched_mark == walk->search;
    lk_id last = resumes ? list->searched : 0;
    lk_id at = resumes ? lk_place_at(model, last)->next : list->first;

    while (at != 0 && lk_place_ticket(model, lk_place_at(model, at)) < walk->demand->ticket) {
        if (!walk->visit(walk->context, lk_place_at(model, at)->stake)) {
            return false;
        }
        last = at;
        at = lk_place_at(model, at)->next;
    }
    if (walk->search != 0 && last != 0) {
        list->searched_mark = walk->search;
        list->searched = last;
    }
    return true;
}

static bool walk_waiting(const struct walk *walk, lk_id node, enum lk_list_kind exclusive_kind,
                         enum lk_list_kind shared_kind) {
    lk_id line = lk_node_at(walk->model, node)->line;

    return line == 0
           || (walk_list(walk, line, exclusive_kind)
               && (walk->part->units != 0 || walk_list(walk, line, shared_kind)));
}

/* ---- both ---- */

bool lk_obstacles_conflicting(const struct lk_model *model, const struct lk_demand *demand,
                              size_t part, uint32_t search, lk_obstacle_visit *visit,
                              void *context) {
    struct walk walk = {model, demand, &demand->parts[part], search, visit, context};
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

/* A visitor that lets neither exclusive stakes nor the demand's own through. */
static bool visit_counting(void *context, lk_id stake_id) {
    const struct walk *walk = context;
    const struct lk_stake *stake = lk_stake_at(walk->model, stake_id);

    return lk_stake_is_exclusive(stake) || stake->request == walk->demand->self
           || walk->visit(walk->context, stake_id);
}

bool lk_obstacles_counting(const struct lk_model *model, const struct lk_demand *demand,
                           size_t part, lk_obstacle_visit *visit, void *context) {
    struct walk inner = {model, demand, &demand->parts[part], 0, visit, context};
    struct walk walk = inner;
    lk_id line;

    if (!inner.part->is_there) {
        return true;
    }
    walk.visit = visit_counting;
    walk.context = &inner;
    line = lk_node_at(model, inner.part->node)->line;
    return walk_holders(&walk, inner.part->node, false)
           && (line == 0 || walk_list(&walk, line, LK_HERE_SHARED));
}

/* ---- explanations ---- */

struct explanation {
    const struct lk_model *model;
    const struct lk_demand *demand;
    bool is_covered;             /* R8: only limits are in its way */
    bool is_short[LK_PARTS_MAX]; /* R7c: the limit of this part is not met */
    size_t part;                 /* where the walk is */
    bool is_counting;            /* which of the two walks it is */
    size_t total;
    size_t count;
    size_t max;
    struct lk_blocker *blockers;
};

static bool is_ahead_or_held(const struct explanation *e, const struct lk_request *request) {
    return request->state == LK_STATE_HELD || request->ticket < e->demand->ticket;
}

/* Whether this stake is in the way of that part by a conflict (R7a, R7b). */
static bool conflicts(const struct explanation *e, size_t part_index,
                      const struct lk_stake *stake) {
    const struct lk_demanded *part = &e->demand->parts[part_index];
    const struct lk_request *request = lk_request_at(e->model, stake->request);

    return !e->is_covered && request->owner != e->demand->owner && is_ahead_or_held(e, request)
           && lk_modes_conflict(lk_mode_of_units(part->units), lk_mode_of_units(stake->units))
           && part->node != 0
           && (lk_node_contains(e->model, stake->node, part->node)
               || (part->is_there && lk_node_contains(e->model, part->node, stake->node)));
}

static bool counts(const struct explanation *e, size_t part_index, const struct lk_stake *stake) {
    const struct lk_demanded *part = &e->demand->parts[part_index];

    return e->is_short[part_index] && part->is_there && stake->node == part->node
           && stake->request != e->demand->self && !lk_stake_is_exclusive(stake)
           && is_ahead_or_held(e, lk_request_at(e->model, stake->request));
}

/* Whether the walk meets this request here first: so that it is named once. */
static bool is_met_first(const struct explanation *e, lk_id stake_id) {
    const struct lk_request *request =
        lk_request_at(e->model, lk_stake_at(e->model, stake_id)->request);

    if (e->demand->count == 1 && request->stake_count == 1) {
        /* It is met once, and the walks go only where it stands in the way; but for its owner. */
        return e->is_counting || request->owner != e->demand->owner;
    }
    for (size_t part = 0; part <= e->part; part++) {
        for (int counting = 0; counting <= 1; counting++) {
            lk_id at = request->first_stake;
            for (; at != 0; at = lk_stake_at(e->model, at)->next_stake) {
                const struct lk_stake *stake = lk_stake_at(e->model, at);
                if (counting ? counts(e, part, stake) : conflicts(e, part, stake)) {
                    return part == e->part && counting == e->is_counting && at == stake_id;
                }
            }
        }
    }
    return false;
}

static bool is_named_before(const struct lk_model *model, lk_ref a, lk_ref b) {
    const struct lk_request *left = lk_request_at(model, a);
    const struct lk_request *right = lk_request_at(model, b);

    if (left->state != right->state) {
        return left->state == LK_STATE_HELD;
    }
    return left->ticket < right->ticket;
}

static uint32_t part_index_of(const struct lk_model *model, lk_id stake_id) {
    lk_id at = lk_request_at(model, lk_stake_at(model, stake_id)->request)->first_stake;
    uint32_t index = 0;

    for (; at != stake_id; at = lk_stake_at(model, at)->next_stake) {
        index++;
    }
    return index;
}

/* Keeps the first `max` in a sorted array; most come in order and go to its end. */
static bool note_blocker(void *context, lk_id stake_id) {
    struct explanation *e = context;
    lk_ref request = lk_stake_at(e->model, stake_id)->request;
    size_t at;

    if (!is_met_first(e, stake_id)) {
        return true;
    }
    e->total++;
    if (e->count == e->max
        && !is_named_before(e->model, request, e->blockers[e->max - 1].request)) {
        return true;
    }
    at = e->count;
    while (at > 0 && is_named_before(e->model, request, e->blockers[at - 1].request)) {
        at--;
    }
    e->count += e->count < e->max;
    for (size_t i = e->count - 1; i > at; i--) {
        e->blockers[i] = e->blockers[i - 1];
    }
    e->blockers[at] = (struct lk_blocker){request, part_index_of(e->model, stake_id)};
    return true;
}

size_t lk_obstacles_explain(const struct lk_model *model, const struct lk_demand *demand,
                            struct lk_blocker *ret_blockers, size_t max) {
    struct explanation e = {.model = model, .demand = demand, .max = max, .blockers = ret_blockers};

    e.is_covered = lk_demand_is_covered(model, demand);
    for (size_t i = 0; i < demand->count; i++) {
        const struct lk_demanded *part = &demand->parts[i];
        e.is_short[i] =
            part->limit != 0
            && !lk_units_fit(part->limit, part->units, lk_demand_units_taken(model, demand, part));
    }
    for (e.part = 0; e.part < demand->count; e.part++) {
        e.is_counting = false;
        if (!e.is_covered) {
            lk_obstacles_conflicting(model, demand, e.part, 0, note_blocker, &e);
        }
        e.is_counting = true;
        if (e.is_short[e.part]) {
            lk_obstacles_counting(model, demand, e.part, note_blocker, &e);
        }
    }
    return e.total;
}
