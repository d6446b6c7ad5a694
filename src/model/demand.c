/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judging demands: the rules of granting (R7, R8), each predicate citing its letter. Nothing here
 * changes the state.
 */
#include "model/demand.h"

#include "model/lines.h"
#include "model/rules.h"
#include "model/tree.h"

void lk_demand_of_ask(const struct lk_model *model, lk_id owner, const struct lk_part *parts,
                      size_t count, struct lk_demand *ret_demand) {
    ret_demand->owner = owner;
    ret_demand->self = 0;
    ret_demand->ticket = LK_TICKET_NEWEST;
    ret_demand->pass = 0;
    ret_demand->is_of_item = false;
    ret_demand->count = count;
    for (size_t i = 0; i < count; i++) {
        unsigned depth;
        struct lk_demanded *demanded = &ret_demand->parts[i];
        demanded->node = lk_node_descend(model, &parts[i].path, &depth);
        demanded->depth = (uint8_t)depth;
        demanded->is_there = depth == parts[i].path.depth;
        demanded->limit = parts[i].limit;
        demanded->units = parts[i].units;
    }
}

void lk_demand_of_request(const struct lk_model *model, lk_id id, struct lk_demand *ret_demand) {
    const struct lk_request *request = lk_request_at(model, id);
    size_t count = 0;

    ret_demand->owner = request->owner;
    ret_demand->self = id;
    ret_demand->ticket = request->ticket;
    ret_demand->pass = 0;
    ret_demand->is_of_item = false;
    for (lk_id at = request->first_stake; at != 0; at = lk_stake_at(model, at)->next_stake) {
        const struct lk_stake *stake = lk_stake_at(model, at);
        ret_demand->parts[count++] = (struct lk_demanded){
            .node = stake->node, .is_there = true, .limit = stake->limit, .units = stake->units};
    }
    ret_demand->count = count;
}

/* R7a at one path above the asker's: does another owner hold there what conflicts? */
static bool is_held_at(const struct lk_model *model, lk_id node, lk_id owner, bool exclusive) {
    lk_id first = lk_node_at(model, node)->holders;
    lk_id at = first;

    while (at != 0) {
        const struct lk_stake *stake = lk_stake_at(model, at);
        if (!exclusive && !lk_stake_is_exclusive(stake)) {
            break; /* only shared ones follow */
        }
        if (lk_stake_owner(model, stake) != owner) {
            return true;
        }
        at = stake->next != first ? stake->next : 0;
    }
    return false;
}

/* How many stakes the owner holds at and below the node; only exclusive ones if so asked. */
static uint32_t own_held_below(const struct lk_model *model, lk_id owner, lk_id node,
                               bool count_shared, uint32_t enough) {
    lk_id first = owner != 0 ? lk_owner_at(model, owner)->held : 0;
    lk_id at = first;
    uint32_t own = 0;

    while (at != 0 && own < enough) {
        const struct lk_request *request = lk_request_at(model, at);
        for (lk_id s = request->first_stake; s != 0; s = lk_stake_at(model, s)->next_stake) {
            const struct lk_stake *stake = lk_stake_at(model, s);
            own += (count_shared || lk_stake_is_exclusive(stake))
                   && lk_node_contains(model, node, stake->node);
        }
        at = request->next != first ? request->next : 0;
    }
    return own;
}

/* R7a at the asker's path and below. */
static bool is_held_below(const struct lk_model *model, lk_id node, lk_id owner, bool exclusive) {
    const struct lk_node *at = lk_node_at(model, node);
    uint32_t held = exclusive ? at->held_below : at->exclusive_below;

    return held > 0 && own_held_below(model, owner, node, exclusive, held) < held;
}

static bool is_held_against(const struct lk_model *model, const struct lk_demand *demand,
                            const struct lk_demanded *part) {
    bool exclusive = lk_mode_of_units(part->units) == LK_EXCLUSIVE;
    lk_id above = part->node;

    if (part->is_there) {
        if (is_held_below(model, part->node, demand->owner, exclusive)) {
            return true;
        }
        above = lk_node_parent(lk_node_at(model, part->node));
    }
    for (; above != 0; above = lk_node_parent(lk_node_at(model, above))) {
        if (is_held_at(model, above, demand->owner, exclusive)) {
            return true;
        }
    }
    return false;
}

/* R7b in one list of a line. */
static bool is_ahead_in(const struct lk_model *model, lk_id line, enum lk_list_kind kind,
                        const struct lk_demand *demand) {
    lk_id at = lk_line_at(model, line)->lists[kind].first;

    while (at != 0) {
        const struct lk_place *place = lk_place_at(model, at);
        const struct lk_request *request = lk_request_at(model, lk_place_request(model, place));
        if (request->ticket >= demand->ticket) {
            return false;
        }
        if (request->owner != demand->owner) {
            return true;
        }
        at = place->next;
    }
    return false;
}

static bool is_ahead_of(const struct lk_model *model, const struct lk_demand *demand,
                        const struct lk_demanded *part) {
    bool exclusive = lk_mode_of_units(part->units) == LK_EXCLUSIVE;
    lk_id above = part->node;

    if (part->is_there) {
        lk_id line = lk_node_at(model, part->node)->line;
        if (line != 0
            && (is_ahead_in(model, line, LK_BELOW_EXCLUSIVE, demand)
                || (exclusive && is_ahead_in(model, line, LK_BELOW_SHARED, demand)))) {
            return true;
        }
        above = lk_node_parent(lk_node_at(model, part->node));
    }
    for (; above != 0; above = lk_node_parent(lk_node_at(model, above))) {
        lk_id line = lk_node_at(model, above)->line;
        if (line != 0
            && (is_ahead_in(model, line, LK_HERE_EXCLUSIVE, demand)
                || (exclusive && is_ahead_in(model, line, LK_HERE_SHARED, demand)))) {
            return true;
        }
    }
    return false;
}

/* What `self` itself counts at the node. */
static uint32_t own_units_at(const struct lk_model *model, lk_id self, lk_id node) {
    lk_id at = lk_request_at(model, self)->first_stake;

    while (at != 0 && lk_stake_at(model, at)->node != node) {
        at = lk_stake_at(model, at)->next_stake;
    }
    return at != 0 ? lk_stake_at(model, at)->units : 0;
}

uint64_t lk_demand_units_taken(const struct lk_model *model, const struct lk_demand *demand,
                               const struct lk_demanded *part) {
    uint64_t taken;

    if (!part->is_there) {
        return 0;
    }
    taken = lk_node_units_held(lk_node_at(model, part->node));
    if (demand->ticket != LK_TICKET_PASSES) {
        taken += lk_line_units_ahead(model, part->node, demand->ticket, demand->pass);
    }
    if (demand->self != 0) {
        const struct lk_request *self = lk_request_at(model, demand->self);
        if (self->state == LK_STATE_HELD || demand->ticket == LK_TICKET_NEWEST) {
            taken -= own_units_at(model, demand->self, part->node);
        }
    }
    return taken;
}

static bool fits(const struct lk_model *model, const struct lk_demand *demand, size_t *ret_part) {
    for (size_t i = 0; i < demand->count; i++) {
        const struct lk_demanded *part = &demand->parts[i];
        if (part->limit != 0
            && !lk_units_fit(part->limit, part->units,
                             lk_demand_units_taken(model, demand, part))) {
            *ret_part = i;
            return false;
        }
    }
    return true;
}

/* R8 for one part: an exclusive lease at or above it... */
static bool is_covered_exclusively(const struct lk_model *model, const struct lk_demand *demand,
                                   const struct lk_demanded *part) {
    for (lk_id node = part->node; node != 0; node = lk_node_parent(lk_node_at(model, node))) {
        lk_id first = lk_node_at(model, node)->holders;
        lk_id at = first;
        while (at != 0) {
            const struct lk_stake *stake = lk_stake_at(model, at);
            const struct lk_request *request = lk_request_at(model, stake->request);
            if (!lk_stake_is_exclusive(stake)) {
                break;
            }
            if (request->owner == demand->owner && !request->revoked && !request->is_claim
                && stake->request != demand->self) {
                return true;
            }
            at = stake->next != first ? stake->next : 0;
        }
    }
    return false;
}

/* ...or, for a shared part without a limit, a shared lease without a limit. */
static bool is_covered_shared(const struct lk_model *model, const struct lk_demand *demand,
                              const struct lk_demanded *part) {
    lk_id first = lk_owner_at(model, demand->owner)->held;
    lk_id at = first;

    while (at != 0) {
        const struct lk_request *request = lk_request_at(model, at);
        bool covers = !request->revoked && !request->is_claim && at != demand->self;
        lk_id s = covers ? request->first_stake : 0;
        for (; s != 0; s = lk_stake_at(model, s)->next_stake) {
            const struct lk_stake *stake = lk_stake_at(model, s);
            if (stake->limit == 0 && !lk_stake_is_exclusive(stake)
                && lk_node_contains(model, stake->node, part->node)) {
                return true;
            }
        }
        at = request->next != first ? request->next : 0;
    }
    return false;
}

bool lk_demand_is_covered(const struct lk_model *model, const struct lk_demand *demand) {
    if (demand->is_of_item || demand->owner == 0 || lk_owner_at(model, demand->owner)->held == 0) {
        return false;
    }
    for (size_t i = 0; i < demand->count; i++) {
        const struct lk_demanded *part = &demand->parts[i];
        bool unlimited_reader = part->units != 0 && part->limit == 0;
        if (!is_covered_exclusively(model, demand, part)
            && !(unlimited_reader && is_covered_shared(model, demand, part))) {
            return false;
        }
    }
    return true;
}

enum lk_verdict lk_demand_judge(const struct lk_model *model, const struct lk_demand *demand,
                                size_t *ret_part) {
    enum lk_verdict verdict = LK_VERDICT_GRANT;
    size_t part = 0;

    for (size_t i = 0; i < demand->count && verdict == LK_VERDICT_GRANT; i++) {
        part = i;
        if (is_held_against(model, demand, &demand->parts[i])) {
            verdict = LK_VERDICT_HELD;
        } else if (is_ahead_of(model, demand, &demand->parts[i])) {
            verdict = LK_VERDICT_AHEAD;
        }
    }
    if (verdict != LK_VERDICT_GRANT && lk_demand_is_covered(model, demand)) {
        verdict = LK_VERDICT_GRANT; /* R8: ahead of anybody waiting */
    }
    if (verdict == LK_VERDICT_GRANT && !fits(model, demand, &part)) {
        verdict = LK_VERDICT_LIMIT;
    }
    if (ret_part != NULL) {
        *ret_part = part;
    }
    return verdict;
}
