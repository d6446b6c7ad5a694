/* SPDX-License-Identifier: Apache-2.0 */
/* Queries, which change nothing. */
#include "model/blockers.h"
#include "model/probe.h"
#include "model/requests.h"
#include "model/tree.h"
#include "model/wait_queue.h"

lk_ref lk_model_find(const struct lk_model *model, struct lk_slice owner,
                     const struct lk_part *parts, size_t part_count) {
    struct lk_probe probe;

    lk_probe_of_ask(model, lk_owner_find(model, owner), parts, part_count, &probe);
    return lk_request_find(model, &probe);
}

lk_ref lk_model_holder(const struct lk_model *model, const struct lk_path *path, uint64_t token) {
    lk_id node = lk_node_find(model, path);
    lk_id first = node != 0 ? lk_node_at(model, node)->holders : 0;
    lk_id at = first;

    while (at != 0) {
        const struct lk_part_entry *entry = lk_part_entry_at(model, at);

        if (lk_request_at(model, entry->request)->token == token) {
            return entry->request;
        }
        at = entry->next != first ? entry->next : 0;
    }
    return 0;
}

size_t lk_model_blockers(const struct lk_model *model, lk_ref request,
                         struct lk_blocker *ret_blockers, size_t max) {
    struct lk_probe probe;

    if (lk_request_at(model, request)->state != LK_STATE_WAITING) {
        return 0;
    }
    lk_probe_of_request(model, request, &probe);
    return lk_explain(model, &probe, ret_blockers, max);
}

size_t lk_model_explain(const struct lk_model *model, lk_ref request,
                        struct lk_explaining *explaining, struct lk_blocker *ret_blockers,
                        size_t max) {
    struct lk_probe probe;

    if (lk_request_at(model, request)->state != LK_STATE_WAITING) {
        return 0;
    }
    lk_probe_of_request(model, request, &probe);
    return lk_explain_next(model, &probe, explaining, ret_blockers, max);
}

struct lk_standing lk_model_standing(const struct lk_model *model, lk_ref request) {
    const struct lk_model_request *of = lk_request_at(model, request);

    return (struct lk_standing){.ticket = of->ticket, .id = of->id};
}

/* false: the visitor has ended the walk. */
static bool each_of_ring(const struct lk_model *model, lk_id first, lk_visit *visit,
                         void *context) {
    lk_id at = first;

    while (at != 0 && visit(context, at)) {
        at = lk_request_at(model, at)->next;
        if (at == first) {
            return true;
        }
    }
    return at == 0;
}

void lk_model_each_of_owner(const struct lk_model *model, struct lk_slice owner, lk_visit *visit,
                            void *context) {
    lk_id id = lk_owner_find(model, owner);

    if (id != 0 && each_of_ring(model, lk_owner_at(model, id)->held, visit, context)) {
        (void)each_of_ring(model, lk_owner_waiting(model, id), visit, context);
    }
}

/* false: the visitor has ended the walk. */
static bool each_holder(const struct lk_model *model, const struct lk_node *node, lk_visit *visit,
                        void *context) {
    lk_id at = node->holders;

    while (at != 0) {
        const struct lk_part_entry *entry = lk_part_entry_at(model, at);

        if (!visit(context, entry->request)) {
            return false;
        }
        at = entry->next != node->holders ? entry->next : 0;
    }
    return true;
}

void lk_model_each_at(const struct lk_model *model, const struct lk_path *path, lk_visit *visit,
                      void *context) {
    lk_id id = lk_node_find(model, path);
    const struct lk_node *node = id != 0 ? lk_node_at(model, id) : NULL;

    if (node == NULL || !each_holder(model, node, visit, context)) {
        return;
    }
    for (int kind = LK_HERE_EXCLUSIVE; node->queue != 0 && kind <= LK_HERE_SHARED; kind++) {
        lk_id at = lk_wait_queue_at(model, node->queue)->lists[kind].first;

        while (at != 0) {
            const struct lk_queue_entry *entry = lk_queue_entry_at(model, at);

            if (!visit(context, lk_queue_entry_request(model, entry))) {
                return;
            }
            at = entry->next;
        }
    }
}

enum lk_state lk_model_state(const struct lk_model *model, lk_ref request) {
    return (enum lk_state)lk_request_at(model, request)->state;
}

lk_root_ref lk_model_root(const struct lk_model *model, lk_ref request) {
    const struct lk_model_request *of = lk_request_at(model, request);

    return lk_node_root(model, lk_part_entry_at(model, of->first_entry)->node);
}

struct lk_slice lk_model_root_name(const struct lk_model *model, lk_root_ref root) {
    return lk_name_text(&lk_node_at(model, root)->name);
}

uint64_t lk_model_item_sequence(const struct lk_model *model, lk_item_ref item) {
    return lk_item_at(model, item)->sequence;
}

uint64_t lk_model_units_held(const struct lk_model *model, const struct lk_path *path) {
    lk_id node = lk_node_find(model, path);

    return node != 0 ? lk_node_units_held(lk_node_at(model, node)) : 0;
}

uint64_t lk_model_kept_bytes(const struct lk_model *model) {
    return model->kept_bytes;
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
                       + lk_pool_bytes(&model->requests) + lk_pool_bytes(&model->entries)
                       + lk_pool_bytes(&model->owners) + lk_pool_bytes(&model->waits)
                       + lk_pool_bytes(&model->queues) + lk_pool_bytes(&model->values)
                       + lk_pool_bytes(&model->items) + lk_pool_bytes(&model->works)
                       + lk_pool_bytes(&model->groups) + lk_index_bytes(&model->group_index)
                       + lk_pool_bytes(&model->queue_entries) + lk_index_bytes(&model->node_index)
                       + lk_index_bytes(&model->request_index) + lk_index_bytes(&model->claim_index)
                       + lk_index_bytes(&model->owner_index) + lk_deadlines_bytes(&model->deadlines)
                       + model->ended.capacity * sizeof *model->ended.tokens
                       + model->change_capacity * sizeof *model->changes
                       + model->scratch_capacity * sizeof *model->scratch;
}
