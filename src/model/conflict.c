/* SPDX-License-Identifier: Apache-2.0 */
/* Leases that exclude each other, in a state that was restored: no step makes such a state. */
#include "model/blockers.h"
#include "model/requests.h"
#include "model/tree.h"

struct search {
    const struct lk_model *model;
    lk_id request;
    int64_t now_us;
    bool is_found;
};

/* What is overdue excludes nothing, although it is there until a step ends it (R11). */
static bool is_live(const struct search *search, lk_id request) {
    return lk_request_deadline(search->model, lk_request_at(search->model, request))
           > search->now_us;
}

/* One held part entry at, above or below a part of the request. False ends the walk. */
static bool see(void *context, lk_id at) {
    struct search *search = context;
    const struct lk_part_entry *entry = lk_part_entry_at(search->model, at);
    lk_id own = lk_request_at(search->model, search->request)->owner;

    search->is_found =
        lk_part_entry_owner(search->model, entry) != own && is_live(search, entry->request);
    return !search->is_found;
}

/* How many part entries of the request the node counts among those held below it. */
static uint32_t count_own(const struct lk_model *model, lk_id request, lk_id node,
                          bool exclusive_only) {
    uint32_t count = 0;

    for (lk_id at = lk_request_at(model, request)->first_entry; at != 0;
         at = lk_part_entry_at(model, at)->next_entry) {
        const struct lk_part_entry *entry = lk_part_entry_at(model, at);
        count += (!exclusive_only || lk_part_entry_is_exclusive(entry))
                 && lk_node_contains(model, node, entry->node);
    }
    return count;
}

/* R5, R6: of an exclusive part everything that is related is in the way, of a shared one what is
 * exclusive. */
static void search_from(struct search *search, const struct lk_part_entry *entry) {
    const struct lk_model *model = search->model;
    bool exclusive_only = !lk_part_entry_is_exclusive(entry);
    const struct lk_node *node = lk_node_at(model, entry->node);
    uint32_t held = exclusive_only ? node->exclusive_below : node->held_below;

    if (held > count_own(model, search->request, entry->node, exclusive_only)
        && !lk_blockers_held_below(model, entry->node, exclusive_only, see, search)) {
        return;
    }
    for (lk_id above = lk_node_parent(node); above != 0;
         above = lk_node_parent(lk_node_at(model, above))) {
        if (!lk_blockers_held_at(model, above, exclusive_only, see, search)) {
            return;
        }
    }
}

lk_ref lk_model_conflict(const struct lk_model *model, int64_t now_us) {
    struct search search = {.model = model, .now_us = now_us};

    for (uint32_t i = 0; i < model->deadlines.count; i++) {
        const struct lk_model_request *request;

        search.request = model->deadlines.ids[i];
        request = lk_request_at(model, search.request);
        if (request->state != LK_STATE_HELD || !is_live(&search, search.request)) {
            continue;
        }
        for (lk_id at = request->first_entry; at != 0 && !search.is_found;
             at = lk_part_entry_at(model, at)->next_entry) {
            search_from(&search, lk_part_entry_at(model, at));
        }
        if (search.is_found) {
            return search.request;
        }
    }
    return 0;
}
