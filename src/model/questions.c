/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the state, which change nothing. */
#include "model/demand.h"
#include "model/lines.h"
#include "model/obstacles.h"
#include "model/requests.h"
#include "model/tree.h"

lk_ref lk_model_find(const struct lk_model *model, struct lk_slice owner,
                     const struct lk_part *parts, size_t part_count) {
    struct lk_demand demand;

    lk_demand_of_ask(model, lk_owner_find(model, owner), parts, part_count, &demand);
    return lk_request_find(model, &demand);
}

void lk_model_each(const struct lk_model *model, lk_visit *visit, void *context) {
    for (uint32_t i = 0; i < model->deadlines.count; i++) {
        if (!visit(context, model->deadlines.ids[i])) {
            return;
        }
    }
}

/* ---- requests at, below and above a path ---- */

struct visiting {
    const struct lk_model *model;
    lk_id below_of; /* wanted: what is at or below this node... */
    lk_id above_of; /* ...or at or above this one; 0: none */
    lk_visit *visit;
    void *context;
};

static bool is_wanted(const struct visiting *visiting, lk_id node) {
    return (visiting->below_of != 0 && lk_node_contains(visiting->model, visiting->below_of, node))
           || (visiting->above_of != 0
               && lk_node_contains(visiting->model, node, visiting->above_of));
}

/* Visits the stake's request, if this is the first of its stakes that is wanted. */
static bool visit_once(const struct visiting *visiting, lk_id stake_id) {
    const struct lk_stake *stake = lk_stake_at(visiting->model, stake_id);
    lk_id at = lk_request_at(visiting->model, stake->request)->first_stake;

    while (at != stake_id && !is_wanted(visiting, lk_stake_at(visiting->model, at)->node)) {
        at = lk_stake_at(visiting->model, at)->next_stake;
    }
    return at != stake_id || visiting->visit(visiting->context, stake->request);
}

static bool visit_at(const struct visiting *visiting, lk_id node_id) {
    const struct lk_model *model = visiting->model;
    const struct lk_node *node = lk_node_at(model, node_id);
    lk_id at = node->holders;

    while (at != 0) {
        if (!visit_once(visiting, at)) {
            return false;
        }
        at = lk_stake_at(model, at)->next;
        at = at != node->holders ? at : 0;
    }
    for (int kind = LK_HERE_EXCLUSIVE; node->line != 0 && kind <= LK_HERE_SHARED; kind++) {
        at = lk_line_at(model, node->line)->lists[kind].first;
        for (; at != 0; at = lk_place_at(model, at)->next) {
            if (!visit_once(visiting, lk_place_at(model, at)->stake)) {
                return false;
            }
        }
    }
    return true;
}

static bool visit_below(const struct visiting *visiting, lk_id top) {
    lk_id at = top;

    while (at != 0) {
        if (!visit_at(visiting, at)) {
            return false;
        }
        at = lk_node_next_in_subtree(visiting->model, top, at, false);
    }
    return true;
}

void lk_model_each_below(const struct lk_model *model, const struct lk_path *prefix,
                         lk_visit *visit, void *context) {
    lk_id top = lk_node_find(model, prefix);
    struct visiting visiting = {model, top, 0, visit, context};

    if (top != 0) {
        visit_below(&visiting, top);
    }
}

void lk_model_each_related(const struct lk_model *model, const struct lk_path *path,
                           lk_visit *visit, void *context) {
    unsigned depth;
    lk_id node = lk_node_descend(model, path, &depth);
    struct visiting visiting = {model, 0, node, visit, context};

    if (node != 0 && depth == path->depth) {
        visiting.below_of = node;
        if (!visit_below(&visiting, node)) {
            return;
        }
        node = lk_node_parent(lk_node_at(model, node));
    }
    for (; node != 0; node = lk_node_parent(lk_node_at(model, node))) {
        if (!visit_at(&visiting, node)) {
            return;
        }
    }
}

/* ---- numbers ---- */

size_t lk_model_blockers(const struct lk_model *model, lk_ref request,
                         struct lk_blocker *ret_blockers, size_t max) {
    struct lk_demand demand;

    if (lk_request_at(model, request)->state != LK_STATE_WAITING) {
        return 0;
    }
    lk_demand_of_request(model, request, &demand);
    return lk_obstacles_explain(model, &demand, ret_blockers, max);
}

struct lk_standing lk_model_standing(const struct lk_model *model, lk_ref request) {
    const struct lk_request *of = lk_request_at(model, request);

    return (struct lk_standing){.ticket = of->ticket, .id = of->id};
}

uint64_t lk_model_item_sequence(const struct lk_model *model, lk_item_ref item) {
    return lk_item_at(model, item)->sequence;
}

uint64_t lk_model_units_held(const struct lk_model *model, const struct lk_path *path) {
    lk_id node = lk_node_find(model, path);

    return node != 0 ? lk_node_units_held(lk_node_at(model, node)) : 0;
}

void lk_model_stats(const struct lk_model *model, struct lk_model_stats *ret_stats) {
    ret_stats->live = model->live;
    ret_stats->waiting = model->waiting;
    ret_stats->owners = model->owner_index.count;
    ret_stats->nodes = model->node_index.count;
    ret_stats->values = model->value_index.count;
    ret_stats->items = model->item_index.count;
    ret_stats->queues = model->work_index.count;
    ret_stats->bytes = sizeof *model + lk_pool_bytes(&model->nodes) + lk_pool_bytes(&model->roots)
                       + lk_pool_bytes(&model->requests) + lk_pool_bytes(&model->stakes)
                       + lk_pool_bytes(&model->owners) + lk_pool_bytes(&model->waits)
                       + lk_pool_bytes(&model->lines) + lk_pool_bytes(&model->values)
                       + lk_pool_bytes(&model->items) + lk_pool_bytes(&model->works)
                       + lk_pool_bytes(&model->places) + lk_index_bytes(&model->node_index)
                       + lk_index_bytes(&model->request_index) + lk_index_bytes(&model->owner_index)
                       + lk_deadlines_bytes(&model->deadlines)
                       + model->ended.capacity * sizeof *model->ended.tokens
                       + model->change_capacity * sizeof *model->changes
                       + model->scratch_capacity * sizeof *model->scratch;
}
