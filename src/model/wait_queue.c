/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wait queues. A part entry of depth d is in d + 1 lists: in the "here" list of its node, and in
 * the "below" list of its node and of every parent. Tickets only grow within a root (R4), so that
 * new entries go to the end.
 */
#include "model/wait_queue.h"

bool lk_wait_queue_reserve(struct lk_model *model, lk_id node) {
    uint32_t depth = 0;

    for (; node != 0; node = lk_node_parent(lk_node_at(model, node))) {
        depth++;
    }
    /* Enough for all parts of a request: reservations of several parts do not add up. */
    return lk_pool_reserve(&model->queues, depth * LK_PARTS_MAX)
           && lk_pool_reserve(&model->queue_entries, (depth + 1) * LK_PARTS_MAX);
}

static struct lk_wait_queue *queue_of(struct lk_model *model, lk_id node_id) {
    struct lk_node *node = lk_node_at(model, node_id);

    if (node->queue == 0) {
        node->queue = lk_pool_take(&model->queues);
    }
    return lk_wait_queue_at(model, node->queue);
}

/* Inserts behind every smaller ticket, searching from the end, where new entries belong. */
static void insert(struct lk_model *model, struct lk_wait_list *list, lk_id id, uint64_t ticket) {
    struct lk_queue_entry *queue_entry = lk_queue_entry_at(model, id);
    lk_id before = list->last;

    assert((before == 0) == (list->first == 0));
    while (before != 0 && lk_queue_entry_ticket(model, lk_queue_entry_at(model, before)) > ticket) {
        before = lk_queue_entry_at(model, before)->previous;
    }
    queue_entry->previous = before;
    if (before != 0) {
        queue_entry->next = lk_queue_entry_at(model, before)->next;
        lk_queue_entry_at(model, before)->next = id;
    } else {
        queue_entry->next = list->first;
        list->first = id;
    }
    if (queue_entry->next != 0) {
        lk_queue_entry_at(model, queue_entry->next)->previous = id;
    } else {
        list->last = id;
    }
}

static void stand_in(struct lk_model *model, lk_id entry_id, lk_id node, enum lk_list_kind kind) {
    struct lk_part_entry *entry = lk_part_entry_at(model, entry_id);
    lk_id id = lk_pool_take(&model->queue_entries);
    struct lk_queue_entry *queue_entry = lk_queue_entry_at(model, id);
    struct lk_wait_queue *queue = queue_of(model, node);

    queue_entry->entry = entry_id;
    queue_entry->node = node;
    queue_entry->list = (uint8_t)kind;
    queue_entry->next_queue_entry = entry->first_queue_entry;
    entry->first_queue_entry = id;
    insert(model, &queue->lists[kind], id, lk_request_at(model, entry->request)->ticket);
}

void lk_wait_queue_enter(struct lk_model *model, lk_id entry_id) {
    const struct lk_part_entry *entry = lk_part_entry_at(model, entry_id);
    bool exclusive = lk_part_entry_is_exclusive(entry);
    struct lk_wait_queue *here = queue_of(model, entry->node);

    assert(entry->first_queue_entry == 0);
    here->waiters_here++;
    here->units_waiting += entry->units;
    if (!exclusive) {
        here->shared_here++;
    }
    if (entry->limit != 0) {
        here->limit_bound = here->limited_here == 0 || entry->limit > here->limit_bound
                                ? entry->limit
                                : here->limit_bound;
        here->limited_here++;
    }
    assert(here->shared_here <= here->waiters_here && here->limited_here <= here->waiters_here);
    stand_in(model, entry_id, entry->node, exclusive ? LK_HERE_EXCLUSIVE : LK_HERE_SHARED);
    for (lk_id node = entry->node; node != 0; node = lk_node_parent(lk_node_at(model, node))) {
        stand_in(model, entry_id, node, exclusive ? LK_BELOW_EXCLUSIVE : LK_BELOW_SHARED);
        queue_of(model, node)->shared_below += !exclusive;
    }
}

/* Corrects the running sum of a pass when an entry in front of its position leaves. */
static void correct_sum(const struct lk_model *model, struct lk_wait_queue *queue,
                        const struct lk_queue_entry *queue_entry, lk_id id) {
    if (queue->summed_pass != model->mark) {
        return;
    }
    if (queue->summed_to == id) {
        queue->summed_to = queue_entry->next;
    } else if (queue->summed_to == 0
               || lk_queue_entry_ticket(model, queue_entry)
                      < lk_queue_entry_ticket(model, lk_queue_entry_at(model, queue->summed_to))) {
        assert(queue->summed_units >= lk_part_entry_at(model, queue_entry->entry)->units);
        queue->summed_units -= lk_part_entry_at(model, queue_entry->entry)->units;
    }
}

static void leave_list(struct lk_model *model, lk_id id) {
    struct lk_queue_entry *queue_entry = lk_queue_entry_at(model, id);
    struct lk_wait_queue *queue =
        lk_wait_queue_at(model, lk_node_at(model, queue_entry->node)->queue);
    struct lk_wait_list *list = &queue->lists[queue_entry->list];

    if (queue_entry->list == LK_HERE_SHARED) {
        correct_sum(model, queue, queue_entry, id);
    }
    if (list->searched == id) {
        list->searched_mark = 0;
    }
    if (queue_entry->previous != 0) {
        lk_queue_entry_at(model, queue_entry->previous)->next = queue_entry->next;
    } else {
        assert(list->first == id);
        list->first = queue_entry->next;
    }
    if (queue_entry->next != 0) {
        lk_queue_entry_at(model, queue_entry->next)->previous = queue_entry->previous;
    } else {
        assert(list->last == id);
        list->last = queue_entry->previous;
    }
}

static void drop_queue_if_empty(struct lk_model *model, lk_id node_id) {
    struct lk_node *node = lk_node_at(model, node_id);
    const struct lk_wait_queue *queue = lk_wait_queue_at(model, node->queue);

    if (queue->lists[LK_BELOW_EXCLUSIVE].first == 0 && queue->lists[LK_BELOW_SHARED].first == 0) {
        assert(queue->waiters_here == 0 && queue->units_waiting == 0);
        assert(queue->shared_here == 0 && queue->shared_below == 0 && queue->limited_here == 0);
        lk_pool_give(&model->queues, node->queue);
        node->queue = 0;
    }
}

void lk_wait_queue_leave(struct lk_model *model, lk_id entry_id) {
    struct lk_part_entry *entry = lk_part_entry_at(model, entry_id);
    bool shared = !lk_part_entry_is_exclusive(entry);
    struct lk_wait_queue *here = lk_wait_queue_at(model, lk_node_at(model, entry->node)->queue);
    lk_id id = entry->first_queue_entry;

    assert(id != 0 && here->waiters_here > 0 && here->units_waiting >= entry->units);
    assert(here->shared_here >= shared && here->limited_here >= (entry->limit != 0));
    here->waiters_here--;
    here->units_waiting -= entry->units;
    here->shared_here -= shared;
    here->limited_here -= entry->limit != 0;
    while (id != 0) {
        const struct lk_queue_entry *queue_entry = lk_queue_entry_at(model, id);
        lk_id next = queue_entry->next_queue_entry;
        leave_list(model, id);
        lk_pool_give(&model->queue_entries, id);
        id = next;
    }
    entry->first_queue_entry = 0;
    for (lk_id node = entry->node; node != 0; node = lk_node_parent(lk_node_at(model, node))) {
        struct lk_wait_queue *queue = lk_wait_queue_at(model, lk_node_at(model, node)->queue);
        assert(queue->shared_below >= shared);
        queue->shared_below -= shared;
        drop_queue_if_empty(model, node);
    }
}

uint64_t lk_wait_queue_units_ahead(const struct lk_model *model, lk_id node, uint64_t ticket,
                                   uint32_t pass) {
    lk_id queue_id = lk_node_at(model, node)->queue;
    struct lk_wait_queue *queue;
    lk_id at;
    uint64_t units = 0;

    if (queue_id == 0) {
        return 0;
    }
    queue = lk_wait_queue_at(model, queue_id);
    if (ticket == UINT64_MAX) {
        return queue->units_waiting;
    }
    at = queue->lists[LK_HERE_SHARED].first;
    if (pass != 0 && queue->summed_pass == pass) {
        lk_id before = queue->summed_to != 0 ? lk_queue_entry_at(model, queue->summed_to)->previous
                                             : queue->lists[LK_HERE_SHARED].last;
        if (before == 0
            || lk_queue_entry_ticket(model, lk_queue_entry_at(model, before)) < ticket) {
            at = queue->summed_to;
            units = queue->summed_units;
        }
    }
    while (at != 0 && lk_queue_entry_ticket(model, lk_queue_entry_at(model, at)) < ticket) {
        units += lk_part_entry_at(model, lk_queue_entry_at(model, at)->entry)->units;
        at = lk_queue_entry_at(model, at)->next;
    }
    if (pass != 0) {
        queue->summed_pass = pass;
        queue->summed_to = at;
        queue->summed_units = units;
    }
    return units;
}
