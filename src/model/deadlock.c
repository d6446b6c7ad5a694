/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A breadth-first search over the graph of owners, from the asker back to the asker.
 *
 * An edge leads from owner A to owner B where a request of B must end before a waiting request of A
 * can be granted. The list of owners and the way back are kept in the owners' struct lk_waits, so
 * that the search needs no memory. Wait queues record how far the search has read their lists: each
 * queue entry is read once, however many requests wait behind it.
 */

#include "model/blockers.h"
#include "model/wait_queue.h"

struct search {
    struct lk_model *model;
    uint32_t mark;
    lk_id asker;
    lk_id target; /* a granted request that the cycle must end at; 0: any of the asker's */
    lk_id owner;  /* the owner whose requests are expanded now */
    lk_id last;   /* end of the list of owners to search */
    bool is_found;
    /* Of the current limited part: it waits for requests with more units than this. */
    uint32_t room;
};

/* Owners that do not wait lead nowhere. */
static void enqueue(struct search *search, lk_id id) {
    struct lk_waits *waits;

    if (lk_owner_waiting(search->model, id) == 0) {
        return;
    }
    waits = lk_waits_of(search->model, id);
    if (waits->mark == search->mark) {
        return;
    }
    waits->mark = search->mark;
    waits->waited_by = search->owner;
    waits->next_owner = 0;
    waits->next_request = 0;
    lk_waits_of(search->model, search->last)->next_owner = id;
    search->last = id;
}

/* search->owner waits for this part entry's request. */
static bool follow(struct search *search, const struct lk_part_entry *entry) {
    lk_id owner = lk_part_entry_owner(search->model, entry);

    if (search->target != 0 ? entry->request == search->target : owner == search->asker) {
        search->is_found = true;
        return false;
    }
    enqueue(search, owner);
    return true;
}

static bool visit_conflict(void *context, lk_id entry_id) {
    struct search *search = context;
    const struct lk_part_entry *entry = lk_part_entry_at(search->model, entry_id);

    return lk_part_entry_owner(search->model, entry) == search->owner || follow(search, entry);
}

static bool visit_limit(void *context, lk_id entry_id) {
    struct search *search = context;
    const struct lk_part_entry *entry = lk_part_entry_at(search->model, entry_id);

    return entry->units <= search->room || follow(search, entry);
}

/* Whether the search has already seen all that matters for this part; records that it has now. */
static bool is_limit_searched(const struct search *search, const struct lk_probe *probe,
                              const struct lk_probed_part *part) {
    struct lk_wait_queue *queue =
        lk_wait_queue_at(search->model, lk_node_at(search->model, part->node)->queue);

    if (search->owner == search->asker) {
        return false;
    }
    if (queue->limit_searched == search->mark && queue->limit_searched_room <= search->room
        && queue->limit_searched_ticket >= probe->ticket) {
        return true;
    }
    queue->limit_searched = search->mark;
    queue->limit_searched_room = search->room;
    queue->limit_searched_ticket = probe->ticket;
    return false;
}

/*
 * Follows every edge that starts at this waiting request. false: the cycle is found. A walk leaves
 * out the requests of its own owner. So walks of the asker do not count as having seen everything:
 * what they leave out is what the other walks search for.
 */
static bool expand(struct search *search, lk_id request) {
    uint32_t mark = search->owner == search->asker ? 0 : search->mark;
    struct lk_probe probe;
    bool is_covered;

    lk_probe_of_request(search->model, request, &probe);
    is_covered = lk_probe_is_covered(search->model, &probe); /* R8: only limits are in its way */
    for (size_t i = 0; i < probe.count; i++) {
        const struct lk_probed_part *part = &probe.parts[i];
        if (!is_covered
            && !lk_blockers_conflicting(search->model, &probe, i, mark, visit_conflict, search)) {
            return false;
        }
        if (part->limit == 0) {
            continue;
        }
        search->room = part->limit - part->units;
        if (!is_limit_searched(search, &probe, part)
            && !lk_blockers_counting(search->model, &probe, i, visit_limit, search)) {
            return false;
        }
    }
    return true;
}

static bool expand_owner(struct search *search, lk_id id) {
    lk_id first = lk_owner_waiting(search->model, id);
    lk_id at = first;

    search->owner = id;
    while (at != 0) {
        lk_id next = lk_request_at(search->model, at)->next;
        if (!expand(search, at)) {
            return false;
        }
        at = next != first ? next : 0;
    }
    return true;
}

/* Writes the way asker -> ... -> last, which waits for the asker, into the answer. */
static size_t name_cycle(const struct search *search) {
    struct lk_model *model = search->model;
    size_t length = 1;
    size_t at;

    for (lk_id o = search->owner; o != search->asker; o = lk_waits_of(model, o)->waited_by) {
        length++;
    }
    at = length;
    for (lk_id o = search->owner; at-- > 0; o = lk_waits_of(model, o)->waited_by) {
        if (at < LK_CYCLE_MAX) {
            model->cycle[at] = lk_name_text(&lk_owner_at(model, o)->name);
        }
    }
    return length < LK_CYCLE_MAX ? length : LK_CYCLE_MAX;
}

bool lk_deadlock_search(struct lk_model *model, lk_id id, size_t *ret_count) {
    const struct lk_model_request *request = lk_request_at(model, id);
    bool held = request->state == LK_STATE_HELD;
    struct search search = {.model = model,
                            .asker = request->owner,
                            .target = held ? id : 0,
                            .owner = request->owner,
                            .last = request->owner};

    if (lk_owner_waiting(model, request->owner) == 0) {
        return false; /* no request of its owner waits */
    }
    search.mark = ++model->mark;
    lk_waits_of(model, search.asker)->mark = search.mark;
    lk_waits_of(model, search.asker)->next_owner = 0;
    lk_waits_of(model, search.asker)->next_request = 0;
    if (held) {
        expand_owner(&search, search.asker);
    } else {
        expand(&search, id);
    }
    for (lk_id at = lk_waits_of(model, search.asker)->next_owner; at != 0 && !search.is_found;
         at = lk_waits_of(model, at)->next_owner) {
        expand_owner(&search, at);
    }
    if (search.is_found) {
        *ret_count = name_cycle(&search);
    }
    model->mark++;
    return search.is_found;
}
