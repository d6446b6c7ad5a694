/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grant check: the rules of granting (R7, R8), each predicate citing its letter. No function
 * here changes the locks.
 */
#include "model/probe.h"

#include "model/rules.h"
#include "model/tree.h"
#include "model/wait_queue.h"

void lk_probe_of_ask(const struct lk_model *model, lk_id owner, const struct lk_part *parts,
                     size_t count, struct lk_probe *ret_probe) {
    ret_probe->owner = owner;
    ret_probe->self = 0;
    ret_probe->ticket = LK_TICKET_NEWEST;
    ret_probe->pass = 0;
    ret_probe->is_of_item = false;
    ret_probe->count = count;
    for (size_t i = 0; i < count; i++) {
        unsigned depth;
        struct lk_probed_part *probed = &ret_probe->parts[i];
        probed->node = lk_node_descend(model, &parts[i].path, &depth);
        probed->depth = (uint8_t)depth;
        probed->is_there = depth == parts[i].path.depth;
        probed->limit = parts[i].limit;
        probed->units = parts[i].units;
    }
}

void lk_probe_of_request(const struct lk_model *model, lk_id id, struct lk_probe *ret_probe) {
    const struct lk_model_request *request = lk_request_at(model, id);
    size_t count = 0;

    ret_probe->owner = request->owner;
    ret_probe->self = id;
    ret_probe->ticket = request->ticket;
    ret_probe->pass = 0;
    ret_probe->is_of_item = false;
    for (lk_id at = request->first_entry; at != 0; at = lk_part_entry_at(model, at)->next_entry) {
        const struct lk_part_entry *entry = lk_part_entry_at(model, at);
        ret_probe->parts[count++] = (struct lk_probed_part){
            .node = entry->node, .is_there = true, .limit = entry->limit, .units = entry->units};
    }
    ret_probe->count = count;
}

/* R7a at one path above the probe's: does another owner hold a conflicting part there? */
static bool is_held_at(const struct lk_model *model, lk_id node, lk_id owner, bool exclusive) {
    lk_id first = lk_node_at(model, node)->holders;
    lk_id at = first;

    while (at != 0) {
        const struct lk_part_entry *entry = lk_part_entry_at(model, at);
        if (!exclusive && !lk_part_entry_is_exclusive(entry)) {
            break; /* only shared ones follow */
        }
        if (lk_part_entry_owner(model, entry) != owner) {
            return true;
        }
        at = entry->next != first ? entry->next : 0;
    }
    return false;
}

/* How many part entries the owner holds at and below the node; only exclusive ones if so asked. */
static uint32_t own_held_below(const struct lk_model *model, lk_id owner, lk_id node,
                               bool count_shared, uint32_t enough) {
    lk_id first = owner != 0 ? lk_owner_at(model, owner)->held : 0;
    lk_id at = first;
    uint32_t own = 0;

    while (at != 0 && own < enough) {
        const struct lk_model_request *request = lk_request_at(model, at);
        for (lk_id s = request->first_entry; s != 0; s = lk_part_entry_at(model, s)->next_entry) {
            const struct lk_part_entry *entry = lk_part_entry_at(model, s);
            own += (count_shared || lk_part_entry_is_exclusive(entry))
                   && lk_node_contains(model, node, entry->node);
        }
        at = request->next != first ? request->next : 0;
    }
    return own;
}

/* R7a at the probe's path and below. */
static bool is_held_below(const struct lk_model *model, lk_id node, lk_id owner, bool exclusive) {
    const struct lk_node *at = lk_node_at(model, node);
    uint32_t held = exclusive ? at->held_below : at->exclusive_below;

    return held > 0 && own_held_below(model, owner, node, exclusive, held) < held;
}

static bool is_held_against(const struct lk_model *model, const struct lk_probe *probe,
                            const struct lk_probed_part *part) {
    bool exclusive = lk_mode_of_units(part->units) == LK_EXCLUSIVE;
    lk_id above = part->node;

    if (part->is_there) {
        if (is_held_below(model, part->node, probe->owner, exclusive)) {
            return true;
        }
        above = lk_node_parent(lk_node_at(model, part->node));
    }
    for (; above != 0; above = lk_node_parent(lk_node_at(model, above))) {
        if (is_held_at(model, above, probe->owner, exclusive)) {
            return true;
        }
    }
    return false;
}

/* R7b in one list of a wait queue. */
static bool is_ahead_in(const struct lk_model *model, lk_id queue, enum lk_list_kind kind,
                        const struct lk_probe *probe) {
    lk_id at = lk_wait_queue_at(model, queue)->lists[kind].first;

    while (at != 0) {
        const struct lk_queue_entry *queue_entry = lk_queue_entry_at(model, at);
        const struct lk_model_request *request =
            lk_request_at(model, lk_queue_entry_request(model, queue_entry));
        if (request->ticket >= probe->ticket) {
            return false;
        }
        if (request->owner != probe->owner) {
            return true;
        }
        at = queue_entry->next;
    }
    return false;
}

static bool is_ahead_of(const struct lk_model *model, const struct lk_probe *probe,
                        const struct lk_probed_part *part) {
    bool exclusive = lk_mode_of_units(part->units) == LK_EXCLUSIVE;
    lk_id above = part->node;

    if (part->is_there) {
        lk_id queue = lk_node_at(model, part->node)->queue;
        if (queue != 0
            && (is_ahead_in(model, queue, LK_BELOW_EXCLUSIVE, probe)
                || (exclusive && is_ahead_in(model, queue, LK_BELOW_SHARED, probe)))) {
            return true;
        }
        above = lk_node_parent(lk_node_at(model, part->node));
    }
    for (; above != 0; above = lk_node_parent(lk_node_at(model, above))) {
        lk_id queue = lk_node_at(model, above)->queue;
        if (queue != 0
            && (is_ahead_in(model, queue, LK_HERE_EXCLUSIVE, probe)
                || (exclusive && is_ahead_in(model, queue, LK_HERE_SHARED, probe)))) {
            return true;
        }
    }
    return false;
}

/* What `self` itself counts at the node. */
static uint32_t own_units_at(const struct lk_model *model, lk_id self, lk_id node) {
    lk_id at = lk_request_at(model, self)->first_entry;

    while (at != 0 && lk_part_entry_at(model, at)->node != node) {
        at = lk_part_entry_at(model, at)->next_entry;
    }
    return at != 0 ? lk_part_entry_at(model, at)->units : 0;
}

uint64_t lk_probe_units_taken(const struct lk_model *model, const struct lk_probe *probe,
                              const struct lk_probed_part *part) {
    uint64_t taken;

    if (!part->is_there) {
        return 0;
    }
    taken = lk_node_units_held(lk_node_at(model, part->node));
    if (probe->ticket != LK_TICKET_PASSES) {
        taken += lk_wait_queue_units_ahead(model, part->node, probe->ticket, probe->pass);
    }
    if (probe->self != 0) {
        const struct lk_model_request *self = lk_request_at(model, probe->self);
        if (self->state == LK_STATE_HELD || probe->ticket == LK_TICKET_NEWEST) {
            taken -= own_units_at(model, probe->self, part->node);
        }
    }
    return taken;
}

static bool fits(const struct lk_model *model, const struct lk_probe *probe, size_t *ret_part) {
    for (size_t i = 0; i < probe->count; i++) {
        const struct lk_probed_part *part = &probe->parts[i];
        if (part->limit != 0
            && !lk_units_fit(part->limit, part->units, lk_probe_units_taken(model, probe, part))) {
            *ret_part = i;
            return false;
        }
    }
    return true;
}

/* R8 for one part: an exclusive lease at or above it... */
static bool is_covered_exclusively(const struct lk_model *model, const struct lk_probe *probe,
                                   const struct lk_probed_part *part) {
    for (lk_id node = part->node; node != 0; node = lk_node_parent(lk_node_at(model, node))) {
        lk_id first = lk_node_at(model, node)->holders;
        lk_id at = first;
        while (at != 0) {
            const struct lk_part_entry *entry = lk_part_entry_at(model, at);
            const struct lk_model_request *request = lk_request_at(model, entry->request);
            if (!lk_part_entry_is_exclusive(entry)) {
                break;
            }
            if (request->owner == probe->owner && !request->revoked && !request->is_claim
                && entry->request != probe->self) {
                return true;
            }
            at = entry->next != first ? entry->next : 0;
        }
    }
    return false;
}

/* ...or, for a shared part without a limit, a shared lease without a limit. */
static bool is_covered_shared(const struct lk_model *model, const struct lk_probe *probe,
                              const struct lk_probed_part *part) {
    lk_id first = lk_owner_at(model, probe->owner)->held;
    lk_id at = first;

    while (at != 0) {
        const struct lk_model_request *request = lk_request_at(model, at);
        bool covers = !request->revoked && !request->is_claim && at != probe->self;
        lk_id s = covers ? request->first_entry : 0;
        for (; s != 0; s = lk_part_entry_at(model, s)->next_entry) {
            const struct lk_part_entry *entry = lk_part_entry_at(model, s);
            if (entry->limit == 0 && !lk_part_entry_is_exclusive(entry)
                && lk_node_contains(model, entry->node, part->node)) {
                return true;
            }
        }
        at = request->next != first ? request->next : 0;
    }
    return false;
}

bool lk_probe_is_covered(const struct lk_model *model, const struct lk_probe *probe) {
    if (probe->is_of_item || probe->owner == 0 || lk_owner_at(model, probe->owner)->held == 0) {
        return false;
    }
    for (size_t i = 0; i < probe->count; i++) {
        const struct lk_probed_part *part = &probe->parts[i];
        bool unlimited_reader = part->units != 0 && part->limit == 0;
        if (!is_covered_exclusively(model, probe, part)
            && !(unlimited_reader && is_covered_shared(model, probe, part))) {
            return false;
        }
    }
    return true;
}

enum lk_verdict lk_probe_check(const struct lk_model *model, const struct lk_probe *probe,
                               size_t *ret_part) {
    enum lk_verdict verdict = LK_VERDICT_GRANT;
    size_t part = 0;

    for (size_t i = 0; i < probe->count && verdict == LK_VERDICT_GRANT; i++) {
        part = i;
        if (is_held_against(model, probe, &probe->parts[i])) {
            verdict = LK_VERDICT_HELD;
        } else if (is_ahead_of(model, probe, &probe->parts[i])) {
            verdict = LK_VERDICT_AHEAD;
        }
    }
    if (verdict != LK_VERDICT_GRANT && lk_probe_is_covered(model, probe)) {
        verdict = LK_VERDICT_GRANT; /* R8: ahead of all waiting requests */
    }
    if (verdict == LK_VERDICT_GRANT && !fits(model, probe, &part)) {
        verdict = LK_VERDICT_LIMIT;
    }
    if (ret_part != NULL) {
        *ret_part = part;
    }
    return verdict;
}
