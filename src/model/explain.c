/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in the way of one probe, or of many, each request once.
 *
 * One probe: the walk visits the part entries in its way, until lk_counted_max() requests are
 * found. A request with several of them counts where the walk meets it first.
 *
 * Many probes, by ticket: what is in the way of each is a prefix of a few lists of wait queues, and
 * what is held at and around its parts. Both are remembered without regard to the owner
 * (neutrally): of a list, the number of queue entries in the prefix, and where the next probe
 * continues. Then the probe's own requests are subtracted, and the first few are named from the
 * heads of the lists.
 *
 * The parts of the probe decide where a request is met first. So what is remembered of a list in
 * which a request has several part entries is valid for one signature only: nodes, modes, and the
 * limits that are not met. Lists of single part entries serve every probe of one part.
 */

#include <assert.h>

#include "model/blockers.h"
#include "model/rules.h"
#include "model/tree.h"
#include "model/wait_queue.h"

struct explanation {
    const struct lk_model *model;
    const struct lk_probe *probe;
    bool is_covered;             /* R8: only limits are in its way */
    bool is_short[LK_PARTS_MAX]; /* R7c: the limit of this part is not met */
    size_t part;                 /* where the walk is */
    bool is_counting;            /* which of the two walks it is */
    bool is_neutral;             /* owners make no difference, nor does what is ahead */
    size_t total;
    size_t count;
    size_t max;
    size_t counted_max;
    struct lk_blocker *blockers;
};

static bool is_ahead_or_held(const struct explanation *e, const struct lk_model_request *request) {
    return e->is_neutral || request->state == LK_STATE_HELD || request->ticket < e->probe->ticket;
}

/* Whether this part entry is in the way of that part by a conflict (R7a, R7b). */
static bool conflicts(const struct explanation *e, size_t part_index,
                      const struct lk_part_entry *entry) {
    const struct lk_probed_part *part = &e->probe->parts[part_index];
    const struct lk_model_request *request = lk_request_at(e->model, entry->request);

    return !e->is_covered && (e->is_neutral || request->owner != e->probe->owner)
           && is_ahead_or_held(e, request)
           && lk_modes_conflict(lk_mode_of_units(part->units), lk_mode_of_units(entry->units))
           && part->node != 0
           && (lk_node_contains(e->model, entry->node, part->node)
               || (part->is_there && lk_node_contains(e->model, part->node, entry->node)));
}

static bool counts(const struct explanation *e, size_t part_index,
                   const struct lk_part_entry *entry) {
    const struct lk_probed_part *part = &e->probe->parts[part_index];

    return e->is_short[part_index] && part->is_there && entry->node == part->node
           && (e->is_neutral || entry->request != e->probe->self)
           && !lk_part_entry_is_exclusive(entry)
           && is_ahead_or_held(e, lk_request_at(e->model, entry->request));
}

/* Whether the walk meets this request here for the first time, so that it is named once. */
static bool is_met_first(const struct explanation *e, lk_id entry_id) {
    const struct lk_model_request *request =
        lk_request_at(e->model, lk_part_entry_at(e->model, entry_id)->request);

    if (e->probe->count == 1 && request->entry_count == 1) {
        /* It has one part entry, and walks visit only blockers; its owner remains to be checked. */
        return e->is_counting || e->is_neutral || request->owner != e->probe->owner;
    }
    for (size_t part = 0; part <= e->part; part++) {
        for (int counting = 0; counting <= 1; counting++) {
            lk_id at = request->first_entry;
            for (; at != 0; at = lk_part_entry_at(e->model, at)->next_entry) {
                const struct lk_part_entry *entry = lk_part_entry_at(e->model, at);
                if (counting ? counts(e, part, entry) : conflicts(e, part, entry)) {
                    return part == e->part && counting == e->is_counting && at == entry_id;
                }
            }
        }
    }
    return false;
}

static bool is_named_before(const struct lk_model *model, lk_ref a, lk_ref b) {
    const struct lk_model_request *left = lk_request_at(model, a);
    const struct lk_model_request *right = lk_request_at(model, b);

    if (left->state != right->state) {
        return left->state == LK_STATE_HELD;
    }
    /* Claims of one decision have one ticket (R16). */
    return left->ticket != right->ticket ? left->ticket < right->ticket : left->id < right->id;
}

static uint32_t part_index_of(const struct lk_model *model, lk_id entry_id) {
    lk_id at = lk_request_at(model, lk_part_entry_at(model, entry_id)->request)->first_entry;
    uint32_t index = 0;

    for (; at != entry_id; at = lk_part_entry_at(model, at)->next_entry) {
        index++;
    }
    return index;
}

/* Keeps the first `max` in a sorted array; most come in order and go to its end. */
static void name(struct explanation *e, struct lk_blocker blocker) {
    size_t at = e->count;

    if (e->count == e->max
        && (e->max == 0
            || !is_named_before(e->model, blocker.request, e->blockers[e->max - 1].request))) {
        return;
    }
    while (at > 0 && is_named_before(e->model, blocker.request, e->blockers[at - 1].request)) {
        at--;
    }
    e->count += e->count < e->max;
    for (size_t i = e->count - 1; i > at; i--) {
        e->blockers[i] = e->blockers[i - 1];
    }
    e->blockers[at] = blocker;
}

static bool note_blocker(void *context, lk_id entry_id) {
    struct explanation *e = context;

    if (is_met_first(e, entry_id)) {
        e->total++;
        name(e, (struct lk_blocker){lk_part_entry_at(e->model, entry_id)->request,
                                    part_index_of(e->model, entry_id)});
    }
    return e->total < e->counted_max;
}

/* ---- one probe ------------------------------------------------------------------------------ */

size_t lk_counted_max(size_t named_max) {
    if (named_max <= LK_COUNTED_MIN / 2) {
        return LK_COUNTED_MIN;
    }
    return named_max < LK_COUNTED_MAX / 2 ? named_max * 2 : LK_COUNTED_MAX;
}

size_t lk_explain(const struct lk_model *model, const struct lk_probe *probe,
                  struct lk_blocker *ret_blockers, size_t max) {
    struct explanation e = {.model = model,
                            .probe = probe,
                            .max = max,
                            .counted_max = lk_counted_max(max),
                            .blockers = ret_blockers};

    e.is_covered = lk_probe_is_covered(model, probe);
    for (size_t i = 0; i < probe->count; i++) {
        const struct lk_probed_part *part = &probe->parts[i];
        e.is_short[i] =
            part->limit != 0
            && !lk_units_fit(part->limit, part->units, lk_probe_units_taken(model, probe, part));
    }
    for (e.part = 0; e.part < probe->count; e.part++) {
        e.is_counting = false;
        if (!e.is_covered && !lk_blockers_conflicting(model, probe, e.part, 0, note_blocker, &e)) {
            break;
        }
        e.is_counting = true;
        if (e.is_short[e.part] && !lk_blockers_counting(model, probe, e.part, note_blocker, &e)) {
            break;
        }
    }
    return e.total;
}

/* ---- many probes: what is remembered -------------------------------------------------------- */

struct next {
    struct explanation e;
    struct lk_explaining *explaining;
    uint32_t signature;
};

/* All that decides where a request is met first, as one number for each part. */
static uint64_t signature_of_part(const struct explanation *e, size_t index) {
    const struct lk_probed_part *part = &e->probe->parts[index];

    return (uint64_t)part->node << 2 | (uint64_t)(part->units != 0) << 1 | e->is_short[index];
}

/* The number of the probe's signature, from 1 on. A new signature replaces the oldest. */
static uint32_t find_signature(const struct explanation *e, struct lk_explaining *explaining) {
    struct lk_explained_signature signature = {.part_count = (uint32_t)e->probe->count};
    size_t size = e->probe->count * sizeof signature.parts[0];

    for (size_t i = 0; i < e->probe->count; i++) {
        signature.parts[i] = signature_of_part(e, i);
    }
    for (size_t i = 0; i < LK_EXPLAINED_SIGNATURES; i++) {
        const struct lk_explained_signature *known = &explaining->signatures[i];
        if (known->part_count == signature.part_count
            && memcmp(known->parts, signature.parts, size) == 0) {
            return known->number;
        }
    }
    signature.number = ++explaining->last_signature;
    explaining->signatures[signature.number % LK_EXPLAINED_SIGNATURES] = signature;
    return signature.number;
}

/* The key of a walk over a list or a node. Without a signature all walks over it share one key. */
static uint64_t key_of(const struct next *next, uint32_t signature, uint64_t what) {
    uint64_t walk = signature != 0 ? next->e.part << 1 | next->e.is_counting : 0;

    return UINT64_C(1) << 63 | what << 5 | walk;
}

static size_t slot_of(uint64_t key, uint32_t signature, size_t slots) {
    return (size_t)(((key + signature) * UINT64_C(0x9E3779B97F4A7C15)) >> 40) & (slots - 1);
}

/* Of the two slots for a key: the one that has it, or else the one that took less work. */
static struct lk_explained_list *find_list(struct lk_explaining *explaining, uint64_t key,
                                           uint32_t signature) {
    size_t slot = slot_of(key, signature, LK_EXPLAINED_LISTS);
    struct lk_explained_list *list = &explaining->lists[slot];
    struct lk_explained_list *other = &explaining->lists[slot ^ 1];

    if (list->key == key && list->signature == signature) {
        return list;
    }
    if (other->key == key && other->signature == signature) {
        return other;
    }
    return list->steps <= other->steps ? list : other;
}

/* Continues from where the previous probe stopped, up to the ticket of this one. */
static const struct lk_explained_list *look_at_list(struct next *next, lk_id queue,
                                                    enum lk_list_kind kind, uint32_t signature) {
    const struct lk_model *model = next->e.model;
    uint64_t ticket = next->e.probe->ticket;
    uint64_t key = key_of(next, signature, (uint64_t)queue << 2 | kind);
    struct lk_explained_list *list = find_list(next->explaining, key, signature);

    if (list->key != key || list->signature != signature || list->ticket > ticket) {
        *list = (struct lk_explained_list){
            .key = key,
            .signature = signature,
            .next = lk_wait_queue_at(model, queue)->lists[kind].first,
        };
    }
    list->ticket = ticket;
    next->e.is_neutral = true;
    while (list->next != 0
           && lk_queue_entry_ticket(model, lk_queue_entry_at(model, list->next)) < ticket) {
        const struct lk_queue_entry *queue_entry = lk_queue_entry_at(model, list->next);
        const struct lk_part_entry *entry = lk_part_entry_at(model, queue_entry->entry);

        list->has_several =
            list->has_several || lk_request_at(model, entry->request)->entry_count > 1;
        list->count += signature == 0 || is_met_first(&next->e, queue_entry->entry);
        list->units += entry->units;
        list->next = queue_entry->next;
        list->steps++;
        next->explaining->steps++;
    }
    next->e.is_neutral = false;
    return list;
}

struct holding {
    struct next *next;
    struct lk_explained_held *held;
    struct explanation e; /* names into `held` */
};

static bool note_holder(void *context, lk_id entry_id) {
    struct holding *holding = context;
    const struct lk_part_entry *entry = lk_part_entry_at(holding->e.model, entry_id);

    holding->next->explaining->steps++;
    if (holding->e.is_counting && lk_part_entry_is_exclusive(entry)) {
        return true;
    }
    holding->held->has_several =
        holding->held->has_several
        || lk_request_at(holding->e.model, entry->request)->entry_count > 1;
    if (holding->held->signature == 0 || is_met_first(&holding->e, entry_id)) {
        holding->held->total++;
        name(&holding->e,
             (struct lk_blocker){entry->request, part_index_of(holding->e.model, entry_id)});
    }
    return true;
}

enum held_where { HELD_HERE, HELD_BELOW, HELD_COUNTING };

static const struct lk_explained_held *look_at_held(struct next *next, lk_id node,
                                                    enum held_where where, uint32_t signature) {
    bool exclusive_only = where != HELD_COUNTING && next->e.probe->parts[next->e.part].units != 0;
    uint64_t what = (uint64_t)node << 3 | (uint64_t)where << 1 | exclusive_only;
    uint64_t key = key_of(next, signature, what);
    struct lk_explained_held *held =
        &next->explaining->held[slot_of(key, signature, LK_EXPLAINED_HELD)];
    struct holding holding = {.next = next, .held = held, .e = next->e};

    if (held->key == key && held->signature == signature) {
        return held;
    }
    *held = (struct lk_explained_held){.key = key, .signature = signature};
    holding.e.is_neutral = true;
    holding.e.blockers = held->named;
    holding.e.count = 0;
    holding.e.max = LK_EXPLAINED_MAX;
    if (where == HELD_BELOW) {
        lk_blockers_held_below(next->e.model, node, exclusive_only, note_holder, &holding);
    } else {
        lk_blockers_held_at(next->e.model, node, exclusive_only, note_holder, &holding);
    }
    held->count = (uint32_t)holding.e.count;
    return held;
}

/* ---- many probes: one of them --------------------------------------------------------------- */

/* A probe of one part needs no signature where no request has several part entries. */
static bool needs_signature(const struct next *next, bool has_several) {
    return next->e.probe->count > 1 || has_several;
}

static void add_held(struct next *next, lk_id node, enum held_where where) {
    const struct lk_explained_held *held = NULL;
    const struct lk_node *at = lk_node_at(next->e.model, node);

    if (where == HELD_BELOW ? at->held_below == 0 : at->holders == 0) {
        return;
    }
    if (!needs_signature(next, false)) {
        held = look_at_held(next, node, where, 0);
    }
    if (held == NULL || held->has_several) {
        held = look_at_held(next, node, where, next->signature);
    }
    next->e.total += held->total;
    for (size_t i = 0; i < held->count; i++) {
        name(&next->e, held->named[i]);
    }
}

/* Names the requests at the head of a list, unless they come after all that are named. */
static void name_heads(struct next *next, lk_id first) {
    const struct lk_model *model = next->e.model;
    struct explanation *e = &next->e;

    for (lk_id at = first; at != 0; at = lk_queue_entry_at(model, at)->next) {
        const struct lk_queue_entry *queue_entry = lk_queue_entry_at(model, at);
        lk_id request = lk_queue_entry_request(model, queue_entry);

        if (lk_queue_entry_ticket(model, queue_entry) >= e->probe->ticket
            || (e->count == e->max
                && (e->max == 0
                    || !is_named_before(model, request, e->blockers[e->max - 1].request)))) {
            return;
        }
        next->explaining->steps++;
        if (is_met_first(e, queue_entry->entry)) {
            name(e, (struct lk_blocker){request, part_index_of(model, queue_entry->entry)});
        }
    }
}

static void add_list(struct next *next, lk_id node, enum lk_list_kind kind) {
    lk_id queue = lk_node_at(next->e.model, node)->queue;
    const struct lk_explained_list *list = NULL;

    if (queue == 0 || lk_wait_queue_at(next->e.model, queue)->lists[kind].first == 0) {
        return;
    }
    if (!needs_signature(next, false)) {
        list = look_at_list(next, queue, kind, 0);
    }
    if (list == NULL || list->has_several) {
        list = look_at_list(next, queue, kind, next->signature);
    }
    next->e.total += list->count;
    name_heads(next, lk_wait_queue_at(next->e.model, queue)->lists[kind].first);
}

/* The walks of lk_blockers_conflicting() and lk_blockers_counting(), in their order. */
static void add_part(struct next *next) {
    const struct lk_model *model = next->e.model;
    const struct lk_probed_part *part = &next->e.probe->parts[next->e.part];
    bool shared = part->units != 0;
    lk_id above = lk_node_parent(lk_node_at(model, part->node));

    next->e.is_counting = false;
    add_held(next, part->node, HELD_BELOW);
    add_list(next, part->node, LK_BELOW_EXCLUSIVE);
    if (!shared) {
        add_list(next, part->node, LK_BELOW_SHARED);
    }
    for (; above != 0; above = lk_node_parent(lk_node_at(model, above))) {
        add_held(next, above, HELD_HERE);
        add_list(next, above, LK_HERE_EXCLUSIVE);
        if (!shared) {
            add_list(next, above, LK_HERE_SHARED);
        }
    }
    next->e.is_counting = true;
    if (next->e.is_short[next->e.part]) {
        add_held(next, part->node, HELD_COUNTING);
        add_list(next, part->node, LK_HERE_SHARED);
    }
}

static bool is_in_the_way(struct explanation *e, lk_id request, bool is_neutral) {
    lk_id at = lk_request_at(e->model, request)->first_entry;
    bool found = false;

    e->is_neutral = is_neutral;
    for (; at != 0 && !found; at = lk_part_entry_at(e->model, at)->next_entry) {
        for (size_t part = 0; part < e->probe->count && !found; part++) {
            const struct lk_part_entry *entry = lk_part_entry_at(e->model, at);
            found = counts(e, part, entry) || conflicts(e, part, entry);
        }
    }
    e->is_neutral = false;
    return found;
}

/* Whether the neutral walk counted a lease of the owner itself as in its way. */
static bool holds_in_own_way(struct next *next) {
    lk_id first = lk_owner_at(next->e.model, next->e.probe->owner)->held;
    lk_id at = first;

    while (at != 0) {
        const struct lk_model_request *request = lk_request_at(next->e.model, at);
        next->explaining->steps++;
        if (is_in_the_way(&next->e, at, true)) {
            return true;
        }
        at = request->next != first ? request->next : 0;
    }
    return false;
}

/* R8: the owner's own waiting requests that were counted, and are not in its way. */
static size_t count_own_waiting(struct next *next) {
    lk_id first = lk_owner_waiting(next->e.model, next->e.probe->owner);
    lk_id at = first;
    size_t count = 0;

    while (at != 0 && lk_request_at(next->e.model, at)->ticket < next->e.probe->ticket) {
        next->explaining->steps++;
        count += is_in_the_way(&next->e, at, true) && !is_in_the_way(&next->e, at, false);
        at = lk_request_at(next->e.model, at)->next;
        at = at != first ? at : 0;
    }
    return count;
}

/* R7c: which limits are not met by what is held and what waits ahead. */
static void find_short_parts(struct next *next) {
    const struct lk_probe *probe = next->e.probe;

    for (size_t i = 0; i < probe->count; i++) {
        const struct lk_probed_part *part = &probe->parts[i];
        const struct lk_node *node = lk_node_at(next->e.model, part->node);

        if (part->limit != 0) {
            const struct lk_explained_list *list =
                look_at_list(next, node->queue, LK_HERE_SHARED, 0);
            next->e.is_short[i] =
                !lk_units_fit(part->limit, part->units, lk_node_units_held(node) + list->units);
        }
    }
}

size_t lk_explain_next(const struct lk_model *model, const struct lk_probe *probe,
                       struct lk_explaining *explaining, struct lk_blocker *ret_blockers,
                       size_t max) {
    struct next next = {
        .e = {.model = model, .probe = probe, .max = max, .blockers = ret_blockers},
        .explaining = explaining,
    };
    size_t total;

    assert(max <= LK_EXPLAINED_MAX);
    find_short_parts(&next);
    if (lk_probe_is_covered(model, probe) || holds_in_own_way(&next)) {
        total = lk_explain(model, probe, ret_blockers, max);
        explaining->steps += total;
        return total;
    }
    next.signature = find_signature(&next.e, explaining);
    for (next.e.part = 0; next.e.part < probe->count; next.e.part++) {
        add_part(&next);
    }
    return next.e.total - count_own_waiting(&next);
}
