/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting lines. A stake of depth d stands in d + 1 lists: in the "here" list of its node, and in
 * the "below" list of its node and of every parent. Tickets only grow within a root (R4), so that
 * newcomers go to the end.
 */
#include "model/lines.h"

bool lk_line_reserve(struct lk_model *model, lk_id node) {
    uint32_t depth = 0;

    for (; node != 0; node = lk_node_parent(lk_node_at(model, node))) {
        depth++;
    }
    /* Enough for every part of a request, whatever was reserved for the others. */
    return lk_pool_reserve(&model->lines, depth * LK_PARTS_MAX)
           && lk_pool_reserve(&model->places, (depth + 1) * LK_PARTS_MAX);
}

static struct lk_line *line_of(struct lk_model *model, lk_id node_id) {
    struct lk_node *node = lk_node_at(model, node_id);

    if (node->line == 0) {
        node->line = lk_pool_take(&model->lines);
    }
    return lk_line_at(model, node->line);
}

/* Inserts behind every smaller ticket, looking from the end, where newcomers belong. */
static void insert(struct lk_model *model, struct lk_line_list *list, lk_id id, uint64_t ticket) {
    struct lk_place *place = lk_place_at(model, id);
    lk_id before = list->last;

    while (before != 0 && lk_place_ticket(model, lk_place_at(model, before)) > ticket) {
        before = lk_place_at(model, before)->previous;
    }
    place->previous = before;
    if (before != 0) {
        place->next = lk_place_at(model, before)->next;
        lk_place_at(model, before)->next = id;
    } else {
        place->next = list->first;
        list->first = id;
    }
    if (place->next != 0) {
        lk_place_at(model, place->next)->previous = id;
    } else {
        list->last = id;
    }
}

static void stand_in(struct lk_model *model, lk_id stake_id, lk_id node, enum lk_list_kind kind) {
    struct lk_stake *stake = lk_stake_at(model, stake_id);
    lk_id id = lk_pool_take(&model->places);
    struct lk_place *place = lk_place_at(model, id);
    struct lk_line *line = line_of(model, node);

    place->stake = stake_id;
    place->node = node;
    place->list = (uint8_t)kind;
    place->next_place = stake->first_place;
    stake->first_place = id;
    insert(model, &line->lists[kind], id, lk_request_at(model, stake->request)->ticket);
}

void lk_line_stand(struct lk_model *model, lk_id stake_id) {
    const struct lk_stake *stake = lk_stake_at(model, stake_id);
    bool exclusive = lk_stake_is_exclusive(stake);
    struct lk_line *here = line_of(model, stake->node);

    here->waiters_here++;
    here->units_waiting += stake->units;
    if (!exclusive) {
        here->shared_here++;
    }
    if (stake->limit != 0) {
        here->limit_bound = here->limited_here == 0 || stake->limit > here->limit_bound
                                ? stake->limit
                                : here->limit_bound;
        here->limited_here++;
    }
    stand_in(model, stake_id, stake->node, exclusive ? LK_HERE_EXCLUSIVE : LK_HERE_SHARED);
    for (lk_id node = stake->node; node != 0; node = lk_node_parent(lk_node_at(model, node))) {
        stand_in(model, stake_id, node, exclusive ? LK_BELOW_EXCLUSIVE : LK_BELOW_SHARED);
        line_of(model, node)->shared_below += !exclusive;
    }
}

/* Keeps the running sum of a pass right when a place in front of its mark goes. */
static void correct_sum(const struct lk_model *model, struct lk_line *line,
                        const struct lk_place *place, lk_id id) {
    if (line->summed_pass != model->mark) {
        return;
    }
    if (line->summed_to == id) {
        line->summed_to = place->next;
    } else if (line->summed_to == 0
               || lk_place_ticket(model, place)
                      < lk_place_ticket(model, lk_place_at(model, line->summed_to))) {
        line->summed_units -= lk_stake_at(model, place->stake)->units;
    }
}

static void leave_list(struct lk_model *model, lk_id id) {
    struct lk_place *place = lk_place_at(model, id);
    struct lk_line *line = lk_line_at(model, lk_node_at(model, place->node)->line);
    struct lk_line_list *list = &line->lists[place->list];

    if (place->list == LK_HERE_SHARED) {
        correct_sum(model, line, place, id);
    }
    if (list->searched == id) {
        list->searched_mark = 0;
    }
    if (place->previous != 0) {
        lk_place_at(model, place->previous)->next = place->next;
    } else {
        list->first = place->next;
    }
    if (place->next != 0) {
        lk_place_at(model, place->next)->previous = place->previous;
    } else {
        list->last = place->previous;
    }
}

static void drop_line_if_empty(struct lk_model *model, lk_id node_id) {
    struct lk_node *node = lk_node_at(model, node_id);
    const struct lk_line *line = lk_line_at(model, node->line);

    if (line->lists[LK_BELOW_EXCLUSIVE].first == 0 && line->lists[LK_BELOW_SHARED].first == 0) {
        assert(line->waiters_here == 0 && line->units_waiting == 0);
        lk_pool_give(&model->lines, node->line);
        node->line = 0;
    }
}

void lk_line_leave(struct lk_model *model, lk_id stake_id) {
    struct lk_stake *stake = lk_stake_at(model, stake_id);
    bool shared = !lk_stake_is_exclusive(stake);
    struct lk_line *here = lk_line_at(model, lk_node_at(model, stake->node)->line);
    lk_id id = stake->first_place;

    here->waiters_here--;
    here->units_waiting -= stake->units;
    here->shared_here -= shared;
    here->limited_here -= stake->limit != 0;
    while (id != 0) {
        const struct lk_place *place = lk_place_at(model, id);
        lk_id next = place->next_place;
        leave_list(model, id);
        lk_pool_give(&model->places, id);
        id = next;
    }
    stake->first_place = 0;
    for (lk_id node = stake->node; node != 0; node = lk_node_parent(lk_node_at(model, node))) {
        lk_line_at(model, lk_node_at(model, node)->line)->shared_below -= shared;
        drop_line_if_empty(model, node);
    }
}

uint64_t lk_line_units_ahead(const struct lk_model *model, lk_id node, uint64_t ticket,
                             uint32_t pass) {
    lk_id line_id = lk_node_at(model, node)->line;
    struct lk_line *line;
    lk_id at;
    uint64_t units = 0;

    if (line_id == 0) {
        return 0;
    }
    line = lk_line_at(model, line_id);
    if (ticket == UINT64_MAX) {
        return line->units_waiting;
    }
    at = line->lists[LK_HERE_SHARED].first;
    if (pass != 0 && line->summed_pass == pass) {
        lk_id before = line->summed_to != 0 ? lk_place_at(model, line->summed_to)->previous
                                            : line->lists[LK_HERE_SHARED].last;
        if (before == 0 || lk_place_ticket(model, lk_place_at(model, before)) < ticket) {
            at = line->summed_to;
            units = line->summed_units;
        }
    }
    while (at != 0 && lk_place_ticket(model, lk_place_at(model, at)) < ticket) {
        units += lk_stake_at(model, lk_place_at(model, at)->stake)->units;
        at = lk_place_at(model, at)->next;
    }
    if (pass != 0) {
        line->summed_pass = pass;
        line->summed_to = at;
        line->summed_units = units;
    }
    return units;
}
