/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The invariants of the state, each recounted from the requests alone. For tests: O(everything),
 * and O(n^2) for wait queues.
 */
#include "model/groups.h"
#include "model/heads.h"
#include "model/order.h"
#include "model/probe.h"
#include "model/requests.h"
#include "model/storage.h"
#include "model/tree.h"
#include "model/wait_queue.h"

struct count {
    uint32_t held;
    uint32_t exclusive;
    uint32_t entries;
    uint64_t units;
    uint64_t units_waiting;
    uint32_t waiters;
    uint32_t limited;
    uint32_t shared_here;
    uint32_t shared_below;
    uint32_t waiting_below;
};

static void count_entry(const struct lk_model *model, lk_id node, const struct lk_part_entry *entry,
                        bool held, struct count *count) {
    bool exclusive = lk_part_entry_is_exclusive(entry);

    if (lk_node_contains(model, node, entry->node)) {
        count->held += held;
        count->exclusive += held && exclusive;
        count->waiting_below += !held;
        count->shared_below += !held && !exclusive;
    }
    if (entry->node == node) {
        count->entries++;
        count->units += held ? entry->units : 0;
        count->units_waiting += held ? 0 : entry->units;
        count->waiters += !held;
        count->limited += !held && entry->limit != 0;
        count->shared_here += !held && !exclusive;
    }
}

static void recount(const struct lk_model *model, lk_id node, struct count *count) {
    *count = (struct count){.held = 0};
    for (uint32_t i = 0; i < model->deadlines.count; i++) {
        const struct lk_model_request *request = lk_request_at(model, model->deadlines.ids[i]);
        lk_id at = request->first_entry;
        for (; at != 0; at = lk_part_entry_at(model, at)->next_entry) {
            count_entry(model, node, lk_part_entry_at(model, at), request->state == LK_STATE_HELD,
                        count);
        }
    }
}

static const char *check_wait_queue(const struct lk_model *model, const struct lk_node *node,
                                    const struct count *count) {
    const struct lk_wait_queue *queue;

    if (node->queue == 0) {
        return count->waiting_below == 0 ? NULL : "a node has waiters but no line";
    }
    queue = lk_wait_queue_at(model, node->queue);
    if (count->waiting_below == 0 || queue->waiters_here != count->waiters
        || queue->units_waiting != count->units_waiting || queue->limited_here != count->limited
        || queue->shared_here != count->shared_here || queue->shared_below != count->shared_below) {
        return "a line counts what does not wait there";
    }
    for (int kind = 0; kind < LK_LIST_KINDS; kind++) {
        uint64_t ticket = 0;
        for (lk_id at = queue->lists[kind].first; at != 0;
             at = lk_queue_entry_at(model, at)->next) {
            uint64_t next = lk_queue_entry_ticket(model, lk_queue_entry_at(model, at));
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
    if (node->entries < count.entries) {
        return "a node does not know all of its part entries";
    }
    return check_wait_queue(model, node, &count);
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
    const struct lk_model_request *request = lk_request_at(model, id);
    struct lk_probe probe;

    if (request->state == LK_STATE_ENDED) {
        return "an ended request has a deadline";
    }
    lk_probe_of_request(model, id, &probe);
    if (!request->is_claim && lk_request_find(model, &probe) != id) {
        return "R3: a request is not found by its owner and paths";
    }
    if ((request->state == LK_STATE_HELD) != (request->token != 0)) {
        return "R4: leases have tokens, and only they";
    }
    for (lk_id at = request->first_entry; at != 0; at = lk_part_entry_at(model, at)->next_entry) {
        const struct lk_root *root = lk_root_of(model, lk_part_entry_at(model, at)->node);
        if (request->ticket > root->last_draw || request->token > root->last_draw) {
            return "R4: a root has forgotten a draw";
        }
    }
    if (request->state == LK_STATE_WAITING && !model->needs_grant_pass
        && lk_probe_check(model, &probe, NULL) == LK_VERDICT_GRANT) {
        return "R7: a request waits that could be granted";
    }
    return NULL;
}

/* Every live request is at its ticket's position in the treap. */
static bool are_requests_in_order(const struct lk_model *model) {
    return lk_order_check(model, LK_ORDER_REQUESTS, &model->requests_by_ticket) == model->live;
}

/* When the first of the queue's unclaimed items is ready. */
static int64_t first_ready_us(const struct lk_model *model, const struct lk_work *work) {
    lk_id first = lk_order_first(model, LK_ORDER_READY, &work->unclaimed);

    return first != 0 ? lk_item_at(model, first)->ready_us : LK_NEVER;
}

/*
 * A queue has its items by age, and those of each state but the claimed and the done by rank, the
 * ready ones that need something in groups; or it is idle.
 */
static const char *check_queue(const struct lk_model *model, const struct lk_work *work,
                               uint32_t *items, uint32_t *done) {
    const struct lk_queue_counts *counts = &work->counts;
    uint64_t count =
        counts->ready + counts->delayed + counts->claimed + counts->parked_now + counts->done_now;
    uint32_t in_groups = lk_groups_check(model, work);

    *items += (uint32_t)count;
    *done += (uint32_t)counts->done_now;
    if (lk_order_check(model, LK_ORDER_AGE, &work->items) != count || in_groups == UINT32_MAX
        || lk_order_check(model, LK_ORDER_RANK, &work->ready) != counts->ready - in_groups
        || lk_order_check(model, LK_ORDER_RANK, &work->delayed) != counts->delayed
        || lk_order_check(model, LK_ORDER_RANK, &work->parked) != counts->parked_now
        || lk_order_check(model, LK_ORDER_READY, &work->unclaimed)
               != counts->ready + counts->delayed
        || work->ready_us != first_ready_us(model, work)) {
        return "the items of a queue are not in order, or not counted right";
    }
    return NULL;
}

/* Each of the `waiting` queues with unclaimed items is in its root's tree, such roots in theirs. */
static bool are_waits_in_order(const struct lk_model *model, uint32_t waiting) {
    uint32_t queues = 0;
    uint32_t roots = 0;

    for (lk_id at = model->first_root; at != 0; at = lk_node_at(model, at)->next_sibling) {
        const struct lk_root *root = lk_root_at(model, at);
        lk_id first = lk_order_first(model, LK_ORDER_WAITS, &root->unclaimed);

        if (root->ready_us != (first != 0 ? lk_work_at(model, first)->ready_us : LK_NEVER)) {
            return false;
        }
        queues += lk_order_check(model, LK_ORDER_WAITS, &root->unclaimed);
        roots += first != 0;
    }
    return queues == waiting
           && lk_order_check(model, LK_ORDER_ROOTS, &model->roots_by_ready) == roots;
}

static const char *check_queues(const struct lk_model *model) {
    const char *wrong = NULL;
    uint32_t waiting = 0;
    uint32_t items = 0;
    uint32_t done = 0;
    uint32_t idle = 0;
    uint32_t in_list = 0;

    for (uint32_t i = 0; i < model->work_index.slot_count && wrong == NULL; i++) {
        if (model->work_index.slots[i].id != 0) {
            const struct lk_work *work = lk_work_at(model, model->work_index.slots[i].id);
            wrong = check_queue(model, work, &items, &done);
            waiting += work->unclaimed.root != 0;
            idle += work->items.root == 0;
        }
    }
    if (wrong == NULL && !are_waits_in_order(model, waiting)) {
        wrong = "items are not in the order in which they are ready";
    }
    for (lk_id at = model->first_idle; at != 0; at = lk_work_at(model, at)->next_idle) {
        in_list += lk_work_at(model, at)->items.root == 0;
    }
    if (wrong == NULL && done != lk_order_check(model, LK_ORDER_DONE, &model->done_items)) {
        wrong = "items that are done are not in the order in which they are forgotten";
    }
    if (wrong == NULL && items != model->item_index.count) {
        wrong = "an item is in no queue";
    }
    return wrong == NULL && (idle != model->idle || in_list != idle)
               ? "idle queues are not counted right"
               : wrong;
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

/* Claimed items are found by their owners and ask numbers; damaged stores may repeat these. */
static bool are_claims_found(const struct lk_model *model) {
    uint32_t count = 0;

    for (uint32_t i = 0; i < model->item_index.slot_count; i++) {
        lk_id id = model->item_index.slots[i].id;
        const struct lk_item *item = id != 0 ? lk_item_at(model, id) : NULL;
        if (item != NULL && item->claim != 0 && item->ask_number != 0) {
            count++;
            if (lk_claims_find(model, item->work, lk_request_at(model, item->claim)->owner,
                               item->ask_number)
                == 0) {
                return false;
            }
        }
    }
    return count == model->claim_index.count;
}

/* Each value is in the tree of all, and each in doubt is in that of those; no other is. */
static bool are_values_in_order(const struct lk_model *model) {
    uint32_t doubts = 0;

    for (uint32_t i = 0; i < model->value_index.slot_count; i++) {
        lk_id id = model->value_index.slots[i].id;
        doubts += id != 0 && lk_kept_value_at(model, id)->in_doubt;
    }
    return lk_order_check(model, LK_ORDER_VALUES, &model->values_by_path)
               == model->value_index.count
           && lk_order_check(model, LK_ORDER_DOUBTS, &model->doubts_by_path) == doubts;
}

/* The bytes of values and items match their counter. */
static bool is_kept_counted(const struct lk_model *model) {
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < model->value_index.slot_count; i++) {
        lk_id id = model->value_index.slots[i].id;
        bytes += id != 0 ? lk_kept_value_at(model, id)->size + (uint64_t)LK_KEPT_COST_BYTES : 0;
    }
    for (uint32_t i = 0; i < model->item_index.slot_count; i++) {
        lk_id id = model->item_index.slots[i].id;
        bytes += id != 0 ? lk_item_kept_bytes(lk_item_at(model, id)) : 0;
    }
    return bytes == model->kept_bytes;
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
    if (wrong == NULL && !is_kept_counted(model)) {
        wrong = "the bytes of values and items are not counted right";
    }
    if (wrong == NULL && !are_claims_found(model)) {
        wrong = "a claim is not found by its owner and ask number";
    }
    if (wrong == NULL && !lk_heads_check(model)) {
        wrong = "a head is not found by its strict needs";
    }
    if (wrong == NULL && !are_requests_in_order(model)) {
        wrong = "requests are not in the order of tickets";
    }
    if (wrong == NULL
        && lk_order_check(model, LK_ORDER_QUEUES, &model->queues_by_path)
               != model->work_index.count) {
        wrong = "queues are not in the order of their paths";
    }
    if (wrong == NULL && !are_values_in_order(model)) {
        wrong = "values are not in the order of their paths";
    }
    wrong = wrong != NULL ? wrong : check_queues(model);
    return wrong != NULL ? wrong : check_nodes(model);
}
