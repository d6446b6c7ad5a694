/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A breadth-first search over the graph of owners, from the asker back to the asker.
 *
 * An edge leads from owner A to owner B where a request of B must end before a waiting request of
 * A can be granted. The list and the way back are kept in the owners' queues, so that the search
 * needs no memory. Lines remember how far the search has looked into them: each place is
 * looked at once however many wait behind it.
 */
#include "model/deadlock.h"

#include "model/lines.h"
#include "model/obstacles.h"

struct search {
    struct lk_model *model;
    uint32_t mark;
    lk_id asker;
    lk_id target; /* a granted request that somebody must wait for; 0: any of the asker's */
    lk_id owner;  /* whose requests are looked at now */
    lk_id last;   /* end of the list of owners to look at */
    bool is_found;
    uint32_t room; /* of the limited part that is looked at now: who has more units is waited for */
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

/* search->owner waits for this stake's request. */
static bool follow(struct search *search, const struct lk_stake *stake) {
    lk_id owner = lk_stake_owner(search->model, stake);

    if (search->target != 0 ? stake->request == search->target : owner == search->asker) {
        search->is_found = true;
        return false;
    }
    enqueue(search, owner);
    return true;
}

static bool visit_conflict(void *context, lk_id stake_id) {
    struct search *search = context;
    const struct lk_stake *stake = lk_stake_at(search->model, stake_id);

    return lk_stake_owner(search->model, stake) == search->owner || follow(search, stake);
}

static bool visit_limit(void *context, lk_id stake_id) {
    struct search *search = context;
    const struct lk_stake *stake = lk_stake_at(search->model, stake_id);

    return stake->units <= search->room || follow(search, stake);
}

/* Whether the search has seen all that matter for this part already; notes that it has now. */
static bool is_limit_searched(const struct search *search, const struct lk_demand *demand,
                              const struct lk_demanded *part) {
    struct lk_line *line = lk_line_at(search->model, lk_node_at(search->model, part->node)->line);

    if (search->owner == search->asker) {
        return false;
    }
    if (line->limit_searched == search->mark && line->limit_searched_room <= search->room
        && line->limit_searched_ticket >= demand->ticket) {
        return true;
    }
    line->limit_searched = search->mark;
    line->limit_searched_room = search->room;
    line->limit_searched_ticket = demand->ticket;
    return false;
}

/*
 * Follows every edge that starts at this waiting request. false: the cycle is found. A walk leaves
 * out what is its own owner's, so walks of the asker must not count as having seen everything:
 * what they leave out is just what the others look for.
 */
static bool expand(struct search *search, lk_id request) {
    uint32_t mark = search->owner == search->asker ? 0 : search->mark;
    struct lk_demand demand;
    bool is_covered;

    lk_demand_of_request(search->model, request, &demand);
    is_covered = lk_demand_is_covered(search->model, &demand); /* R8: only limits are in its way */
    for (size_t i = 0; i < demand.count; i++) {
        const struct lk_demanded *part = &demand.parts[i];
        if (!is_covered
            && !lk_obstacles_conflicting(search->model, &demand, i, mark, visit_conflict, search)) {
            return false;
        }
        if (part->limit == 0) {
            continue;
        }
        search->room = part->limit - part->units;
        if (!is_limit_searched(search, &demand, part)
            && !lk_obstacles_counting(search->model, &demand, i, visit_limit, search)) {
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
    const struct lk_request *request = lk_request_at(model, id);
    bool held = request->state == LK_STATE_HELD;
    struct search search = {.model = model,
                            .asker = request->owner,
                            .target = held ? id : 0,
                            .owner = request->owner,
                            .last = request->owner};

    if (lk_owner_waiting(model, request->owner) == 0) {
        return false; /* it waits for nobody */
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
