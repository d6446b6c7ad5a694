/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The invariants of the state, each recounted from the requests alone. For tests: O(everything),
 * and for lines O(n^2).
 */
#include "model/demand.h"
#include "model/lines.h"
#include "model/requests.h"
#include "model/tree.h"

struct count {
    uint32_t held;
    uint32_t exclusive;
    uint32_t stakes;
    uint64_t units;
    uint64_t units_waiting;
    uint32_t waiters;
    uint32_t limited;
    uint32_t shared_here;
    uint32_t shared_below;
    uint32_t waiting_below;
};

static void count_stake(const struct lk_model *model, lk_id node, const struct lk_stake *stake,
                        bool held, struct count *count) {
    bool exclusive = lk_stake_is_exclusive(stake);

    if (lk_node_contains(model, node, stake->node)) {
        count->held += held;
        count->exclusive += held && exclusive;
        count->waiting_below += !held;
        count->shared_below += !held && !exclusive;
    }
    if (stake->node == node) {
        count->stakes++;
        count->units += held ? stake->units : 0;
        count->units_waiting += held ? 0 : stake->units;
        count->waiters += !held;
        count->limited += !held && stake->limit != 0;
        count->shared_here += !held && !exclusive;
    }
}

static void recount(const struct lk_model *model, lk_id node, struct count *count) {
    *count = (struct count){.held = 0};
    for (uint32_t i = 0; i < model->deadlines.count; i++) {
        const struct lk_request *request = lk_request_at(model, model->deadlines.ids[i]);
        lk_id at = request->first_stake;
        for (; at != 0; at = lk_stake_at(model, at)->next_stake) {
            count_stake(model, node, lk_stake_at(model, at), request->state == LK_STATE_HELD,
                        count);
        }
    }
}

static const char *check_line(const struct lk_model *model, const struct lk_node *node,
                              const struct count *count) {
    const struct lk_line *line;

    if (node->line == 0) {
        return count->waiting_below == 0 ? NULL : "a node has waiters but no line";
    }
    line = lk_line_at(model, node->line);
    if (count->waiting_below == 0 || line->waiters_here != count->waiters
        || line->units_waiting != count->units_waiting || line->limited_here != count->limited
        || line->shared_here != count->shared_here || line->shared_below != count->shared_below) {
        return "a line counts what does not wait there";
    }
    for (int kind = 0; kind < LK_LIST_KINDS; kind++) {
        uint64_t ticket = 0;
        for (lk_id at = line->lists[kind].first; at != 0; at = lk_place_at(model, at)->next) {
            uint64_t next = lk_place_ticket(model, lk_place_at(model, at));
            if (next < ticket) {
                return "a line is not in the order of tickets";
            }
            ticket = next;
        }
    }
    return NULL;
}

static const char *check_node(const struct lk_model *model, lk_id id) {
    const struct lk_node *node = lk_node_at(model, id);
    struct count count;

    recount(model, id, &count);
    if (node->held_below != count.held || node->exclusive_below != count.exclusive
        || lk_node_units_held(node) != count.units) {
        return "a node counts what is not held there";
    }
    if (node->stakes < count.stakes) {
        return "a node does not know all of its stakes";
    }
    return check_line(model, node, &count);
}

static const char *check_nodes(const struct lk_model *model) {
    for (lk_id root = model->first_root; root != 0; root = lk_node_at(model, root)->next_sibling) {
        for (lk_id at = root; at != 0; at = lk_node_next_in_subtree(model, root, at, false)) {
            const char *wrong = check_node(model, at);
            if (wrong != NULL) {
                return wrong;
            }
        }
    }
    return NULL;
}

static const char *check_request(const struct lk_model *model, lk_id id) {
    const struct lk_request *request = lk_request_at(model, id);
    struct lk_demand demand;

    if (request->state == LK_STATE_ENDED) {
        return "an ended request has a deadline";
    }
    lk_demand_of_request(model, id, &demand);
    if (!request->is_claim && lk_request_find(model, &demand) != id) {
        return "R3: a request is not found by its owner and paths";
    }
    if ((request->state == LK_STATE_HELD) != (request->token != 0)) {
        return "R4: leases have tokens, and only they";
    }
    for (lk_id at = request->first_stake; at != 0; at = lk_stake_at(model, at)->next_stake) {
        const struct lk_root *root = lk_root_of(model, lk_stake_at(model, at)->node);
        if (request->ticket > root->last_draw || request->token > root->last_draw) {
            return "R4: a root has forgotten a draw";
        }
    }
    if (request->state == LK_STATE_WAITING && !model->is_unsettled
        && lk_demand_judge(model, &demand, NULL) == LK_VERDICT_GRANT) {
        return "R7: a request waits that could be granted";
    }
    return NULL;
}

static const char *check_heap(const struct lk_model *model) {
    const struct lk_deadlines *heap = &model->deadlines;

    for (uint32_t i = 0; i < heap->count; i++) {
        if (lk_request_at(model, heap->ids[i])->deadline_at != i) {
            return "a request does not know its place in the heap";
        }
        if (i > 0 && heap->keys[(i - 1) / 4] > heap->keys[i]) {
            return "the heap of deadlines is out of order";
        }
    }
    return NULL;
}

const char *lk_model_check(const struct lk_model *model) {
    const char *wrong = check_heap(model);
    uint32_t waiting = 0;

    if (model->live != model->deadlines.count
        || model->live != model->request_index.count + model->claims) {
        return "live requests are not counted right";
    }
    for (uint32_t i = 0; i < model->deadlines.count && wrong == NULL; i++) {
        waiting += lk_request_at(model, model->deadlines.ids[i])->state == LK_STATE_WAITING;
        wrong = check_request(model, model->deadlines.ids[i]);
    }
    if (wrong == NULL && waiting != model->waiting) {
        wrong = "waiting requests are not counted right";
    }
    return wrong != NULL ? wrong : check_nodes(model);
}
