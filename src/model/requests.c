/* SPDX-License-Identifier: Apache-2.0 */
/* The life of requests. ask.c, grant.c and end.c decide about them. */
#include "model/requests.h"

#include "base/hash.h"
#include "model/order.h"
#include "model/tree.h"
#include "model/wait_queue.h"

/* ---- owners ---- */

static uint32_t owner_hash(const struct lk_model *model, struct lk_slice name) {
    return (uint32_t)lk_hash_bytes(~model->hash_seed, name);
}

lk_id lk_owner_find(const struct lk_model *model, struct lk_slice name) {
    uint32_t hash = owner_hash(model, name);
    uint32_t at = lk_index_start(&model->owner_index, hash);
    lk_id id;

    while ((id = lk_index_next(&model->owner_index, hash, &at)) != 0
           && !lk_slice_equal(lk_name_text(&lk_owner_at(model, id)->name), name)) {
    }
    return id;
}

static lk_id owner_make(struct lk_model *model, struct lk_slice name) {
    lk_id id;

    if (!lk_pool_reserve(&model->owners, 1) || !lk_index_reserve(&model->owner_index, 1)) {
        return 0;
    }
    id = lk_pool_take(&model->owners);
    if (!lk_name_set(&lk_owner_at(model, id)->name, model->allocator, name)) {
        lk_pool_give(&model->owners, id);
        return 0;
    }
    lk_index_add(&model->owner_index, id, owner_hash(model, name));
    return id;
}

static void owner_drop_if_unused(struct lk_model *model, lk_id id) {
    struct lk_owner *owner = lk_owner_at(model, id);

    if (owner->references == 0) {
        assert(owner->live == 0 && owner->held == 0 && lk_owner_waiting(model, id) == 0);
        if (owner->waits != 0) {
            lk_pool_give(&model->waits, owner->waits);
        }
        lk_index_remove(&model->owner_index, id, owner_hash(model, lk_name_text(&owner->name)));
        lk_name_done(&owner->name, model->allocator);
        lk_pool_give(&model->owners, id);
    }
}

/* Inserts into a ring before `before`; the ring's head stays unless the ring was empty. */
static void ring_insert(struct lk_model *model, lk_id *head, lk_id before, lk_id id) {
    struct lk_model_request *request = lk_request_at(model, id);
    struct lk_model_request *previous;
    struct lk_model_request *next;

    assert(request->previous == 0 && request->next == 0);
    if (*head == 0) {
        request->previous = request->next = id;
        *head = id;
        return;
    }
    next = lk_request_at(model, before);
    previous = lk_request_at(model, next->previous);
    assert(previous->next == before && next->owner == request->owner);
    request->next = before;
    request->previous = next->previous;
    previous->next = id;
    next->previous = id;
}

static void ring_remove(struct lk_model *model, lk_id *head, lk_id id) {
    struct lk_model_request *request = lk_request_at(model, id);

    if (request->next == id) {
        assert(*head == id);
        *head = 0;
    } else {
        struct lk_model_request *previous = lk_request_at(model, request->previous);
        struct lk_model_request *next = lk_request_at(model, request->next);

        assert(previous->next == id && next->previous == id);
        previous->next = request->next;
        next->previous = request->previous;
        if (*head == id) {
            *head = request->next;
        }
    }
    request->previous = request->next = 0;
}

/* Inserts into the ring of waiting requests behind every smaller ticket; new ones go to the end. */
static void ring_insert_by_ticket(struct lk_model *model, lk_id *head, lk_id id) {
    uint64_t ticket = lk_request_at(model, id)->ticket;
    lk_id before = *head;

    if (*head != 0) {
        lk_id last = lk_request_at(model, *head)->previous;
        while (lk_request_at(model, last)->ticket > ticket && last != *head) {
            before = last;
            last = lk_request_at(model, last)->previous;
        }
        if (lk_request_at(model, last)->ticket > ticket) {
            before = last;
        }
    }
    ring_insert(model, head, before, id);
    if (before == *head && lk_request_at(model, before)->ticket > ticket) {
        *head = id;
    }
    assert(*head == id
           || lk_request_at(model, lk_request_at(model, id)->previous)->ticket <= ticket);
}

/* ---- identity ---- */

/* The order of the paths does not matter (R3), so their hashes are added up. */
static uint32_t identity_hash(const struct lk_model *model, lk_id owner, uint64_t node_sum) {
    return (uint32_t)lk_hash_number(model->hash_seed + owner, node_sum);
}

static uint64_t node_term(const struct lk_model *model, lk_id node) {
    return lk_hash_number(model->hash_seed, node);
}

static bool has_node(const struct lk_model *model, const struct lk_model_request *request,
                     lk_id node) {
    lk_id at = request->first_entry;

    while (at != 0 && lk_part_entry_at(model, at)->node != node) {
        at = lk_part_entry_at(model, at)->next_entry;
    }
    return at != 0;
}

static bool is_the_same(const struct lk_model *model, const struct lk_model_request *request,
                        const struct lk_probe *probe) {
    if (request->owner != probe->owner || request->entry_count != probe->count) {
        return false;
    }
    for (size_t i = 0; i < probe->count; i++) {
        if (!has_node(model, request, probe->parts[i].node)) {
            return false;
        }
    }
    return true;
}

lk_id lk_request_find(const struct lk_model *model, const struct lk_probe *probe) {
    uint64_t sum = 0;
    uint32_t hash;
    uint32_t at;
    lk_id id;

    if (probe->owner == 0) {
        return 0;
    }
    for (size_t i = 0; i < probe->count; i++) {
        if (!probe->parts[i].is_there) {
            return 0;
        }
        sum += node_term(model, probe->parts[i].node);
    }
    hash = identity_hash(model, probe->owner, sum);
    at = lk_index_start(&model->request_index, hash);
    while ((id = lk_index_next(&model->request_index, hash, &at)) != 0
           && !is_the_same(model, lk_request_at(model, id), probe)) {
    }
    return id;
}

/* The hash of a live request. */
static uint32_t hash_of(const struct lk_model *model, const struct lk_model_request *request) {
    uint64_t sum = 0;

    for (lk_id at = request->first_entry; at != 0; at = lk_part_entry_at(model, at)->next_entry) {
        sum += node_term(model, lk_part_entry_at(model, at)->node);
    }
    return identity_hash(model, request->owner, sum);
}

/* ---- drafts ---- */

static void free_entries(struct lk_model *model, struct lk_model_request *request) {
    lk_id at = request->first_entry;

    while (at != 0) {
        lk_id next = lk_part_entry_at(model, at)->next_entry;
        lk_id node = lk_part_entry_at(model, at)->node;
        lk_pool_give(&model->entries, at);
        assert(lk_node_at(model, node)->entries > 0);
        lk_node_at(model, node)->entries--;
        lk_node_prune(model, node);
        at = next;
    }
    request->first_entry = 0;
}

static bool add_entries(struct lk_model *model, lk_id request_id, const struct lk_part *parts,
                        const struct lk_probe *probe) {
    lk_id *link = &lk_request_at(model, request_id)->first_entry;

    assert(*link == 0 && probe->count > 0 && probe->count <= LK_PARTS_MAX);
    for (size_t i = 0; i < probe->count; i++) {
        const struct lk_probed_part *found = &probe->parts[i];
        lk_id node = lk_node_make(model, &parts[i].path, found->node, found->depth);
        lk_id id;
        struct lk_part_entry *entry;
        if (node == 0) {
            return false;
        }
        id = lk_pool_take(&model->entries);
        entry = lk_part_entry_at(model, id);
        entry->request = request_id;
        entry->node = node;
        entry->limit = parts[i].limit;
        entry->units = parts[i].units;
        lk_node_at(model, node)->entries++;
        *link = id;
        link = &entry->next_entry;
        if (!lk_wait_queue_reserve(model, node)) {
            return false;
        }
    }
    return true;
}

static bool reserve_for_request(struct lk_model *model, size_t count) {
    return lk_pool_reserve(&model->requests, 1) && lk_pool_reserve(&model->waits, 1)
           && lk_pool_reserve(&model->entries, (uint32_t)count)
           && lk_index_reserve(&model->request_index, 1)
           && lk_deadlines_reserve(&model->deadlines, 1);
}

lk_id lk_request_draft(struct lk_model *model, struct lk_slice owner, const struct lk_part *parts,
                       const struct lk_probe *probe, struct lk_slice note) {
    lk_id owner_id;
    lk_id id;
    struct lk_model_request *request;

    if (!reserve_for_request(model, probe->count)) {
        return 0;
    }
    owner_id = probe->owner != 0 ? probe->owner : owner_make(model, owner);
    if (owner_id == 0) {
        return 0;
    }
    id = lk_pool_take(&model->requests);
    request = lk_request_at(model, id);
    request->owner = owner_id;
    request->entry_count = (uint8_t)probe->count;
    request->state = LK_STATE_ENDED;
    lk_owner_at(model, owner_id)->references++;
    if (!add_entries(model, id, parts, probe) || !lk_note_make(model, note, &request->note)) {
        lk_request_discard(model, id);
        return 0;
    }
    return id;
}

void lk_request_discard(struct lk_model *model, lk_id id) {
    struct lk_model_request *request = lk_request_at(model, id);
    struct lk_owner *owner = lk_owner_at(model, request->owner);

    assert(request->state == LK_STATE_ENDED && owner->references > owner->live);
    free_entries(model, request);
    lk_note_free(model, request->note);
    owner->references--;
    owner_drop_if_unused(model, request->owner);
    lk_pool_give(&model->requests, id);
}

/* ---- states ---- */

/* Adds `by` to the live count of each root of the request, once a root. */
static void count_at_roots(struct lk_model *model, const struct lk_model_request *request,
                           uint32_t by) {
    for (lk_id at = request->first_entry; at != 0; at = lk_part_entry_at(model, at)->next_entry) {
        struct lk_root *root = lk_root_of(model, lk_part_entry_at(model, at)->node);
        lk_id earlier = request->first_entry;
        while (earlier != at && lk_root_of(model, lk_part_entry_at(model, earlier)->node) != root) {
            earlier = lk_part_entry_at(model, earlier)->next_entry;
        }
        if (earlier == at) {
            assert(by == 1 || root->live > 0);
            root->live += by;
        }
    }
}

void lk_request_attach(struct lk_model *model, lk_id id, enum lk_state state) {
    struct lk_model_request *request = lk_request_at(model, id);
    struct lk_owner *owner = lk_owner_at(model, request->owner);

    assert(state == LK_STATE_HELD || state == LK_STATE_WAITING);
    assert(request->previous == 0 && request->next == 0); /* in no ring of its owner */
    request->state = (uint8_t)state;
    if (state == LK_STATE_HELD) {
        ring_insert(model, &owner->held, owner->held, id);
    } else {
        if (owner->waits == 0) {
            owner->waits = lk_pool_take(&model->waits);
        }
        ring_insert_by_ticket(model, &lk_waits_of(model, request->owner)->first, id);
        model->waiting++;
    }
    for (lk_id at = request->first_entry; at != 0; at = lk_part_entry_at(model, at)->next_entry) {
        if (state == LK_STATE_HELD) {
            lk_part_entry_hold(model, at);
        } else {
            lk_wait_queue_enter(model, at);
        }
    }
}

void lk_request_detach(struct lk_model *model, lk_id id) {
    struct lk_model_request *request = lk_request_at(model, id);
    struct lk_owner *owner = lk_owner_at(model, request->owner);
    bool held = request->state == LK_STATE_HELD;

    assert(held || (request->state == LK_STATE_WAITING && model->waiting > 0));
    for (lk_id at = request->first_entry; at != 0; at = lk_part_entry_at(model, at)->next_entry) {
        if (held) {
            lk_part_entry_unhold(model, at);
        } else {
            lk_wait_queue_leave(model, at);
        }
    }
    if (held) {
        ring_remove(model, &owner->held, id);
    } else {
        struct lk_waits *waits = lk_waits_of(model, request->owner);
        if (waits->mark == model->mark && waits->next_request == id) {
            /* A pass would check this request next: advance it to the following one. */
            waits->next_request = request->next != waits->first ? request->next : 0;
        }
        ring_remove(model, &waits->first, id);
        model->waiting--;
    }
}

void lk_request_enter(struct lk_model *model, lk_id id, enum lk_state state, int64_t deadline_us) {
    struct lk_model_request *request = lk_request_at(model, id);
    struct lk_owner *owner = lk_owner_at(model, request->owner);

    assert(request->state == LK_STATE_ENDED && request->entry_count > 0); /* a draft */
    assert(owner->live < owner->references);
    if (request->is_claim) {
        model->claims++; /* R16: found by its item, not by R3 */
    } else {
        lk_index_add(&model->request_index, id, hash_of(model, request));
    }
    lk_deadlines_add(model, id, deadline_us);
    lk_order_add(model, LK_ORDER_REQUESTS, &model->requests_by_ticket, id);
    owner->live++;
    count_at_roots(model, request, 1);
    model->live++;
    assert(model->live == model->deadlines.count);
    lk_request_attach(model, id, state);
}

void lk_request_leave(struct lk_model *model, lk_id id) {
    struct lk_model_request *request = lk_request_at(model, id);
    struct lk_owner *owner = lk_owner_at(model, request->owner);

    lk_request_detach(model, id);
    if (request->is_claim) {
        assert(model->claims > 0);
        model->claims--;
    } else {
        lk_index_remove(&model->request_index, id, hash_of(model, request));
    }
    lk_deadlines_remove(model, id);
    lk_order_remove(model, LK_ORDER_REQUESTS, &model->requests_by_ticket, id);
    assert(model->live > 0 && owner->live > 0);
    owner->live--;
    count_at_roots(model, request, UINT32_MAX);
    model->live--;
    assert(model->live == model->deadlines.count);
    request->state = LK_STATE_ENDED;
}

void lk_request_end(struct lk_model *model, lk_id id, enum lk_change_kind kind) {
    struct lk_model_request *request = lk_request_at(model, id);

    if (request->state == LK_STATE_HELD && lk_owner_at(model, request->owner)->waits != 0) {
        model->may_hide_cycle = true; /* it may have covered what its owner waits for */
    }
    lk_request_leave(model, id);
    assert(request->previous == 0 && request->next == 0);
    request->next = model->ended_first;
    model->ended_first = id;
    lk_change_add(model, kind, id);
}

void lk_requests_bury(struct lk_model *model) {
    while (model->ended_first != 0) {
        lk_id id = model->ended_first;
        model->ended_first = lk_request_at(model, id)->next;
        lk_request_discard(model, id);
    }
}

void lk_request_convert(struct lk_model *model, lk_id id, const struct lk_part *parts,
                        size_t count) {
    const struct lk_model_request *request = lk_request_at(model, id);

    assert(count == request->entry_count);
    assert(request->previous == 0 && request->next == 0); /* detached */
    for (size_t i = 0; i < count; i++) {
        lk_id node = lk_node_find(model, &parts[i].path);
        lk_id at = request->first_entry;
        while (lk_part_entry_at(model, at)->node != node) {
            at = lk_part_entry_at(model, at)->next_entry;
        }
        lk_part_entry_at(model, at)->limit = parts[i].limit;
        lk_part_entry_at(model, at)->units = parts[i].units;
    }
}

/* ---- notes, draws, changes ---- */

bool lk_note_make(struct lk_model *model, struct lk_slice text, char **ret_note) {
    char *note = NULL;

    assert(text.size <= LK_NOTE_BYTES_MAX);
    if (text.size > 0) {
        note = model->allocator->resize(model->allocator->context, NULL, text.size + 1);
        if (note == NULL) {
            return false;
        }
        note[0] = (char)(unsigned char)text.size;
        memcpy(note + 1, text.bytes, text.size);
    }
    *ret_note = note;
    return true;
}

void lk_note_free(struct lk_model *model, char *note) {
    model->allocator->resize(model->allocator->context, note, 0);
}

struct lk_slice lk_request_note(const struct lk_model_request *request) {
    if (request->note == NULL) {
        return (struct lk_slice){NULL, 0};
    }
    return (struct lk_slice){request->note + 1, (unsigned char)request->note[0]};
}

uint64_t lk_request_last_draw(const struct lk_model *model, lk_id id) {
    uint64_t last = 0;

    for (lk_id at = lk_request_at(model, id)->first_entry; at != 0;
         at = lk_part_entry_at(model, at)->next_entry) {
        uint64_t draw = lk_root_of(model, lk_part_entry_at(model, at)->node)->last_draw;
        last = draw > last ? draw : last;
    }
    return last;
}

uint64_t lk_request_next_draw(const struct lk_model *model, lk_id id, int64_t wall_us) {
    uint64_t wall = wall_us > 0 ? (uint64_t)wall_us : 1;
    uint64_t next = lk_request_last_draw(model, id) + 1;

    return next > wall ? next : wall;
}

void lk_request_keep_draw(struct lk_model *model, lk_id id, uint64_t draw) {
    const struct lk_model_request *request = lk_request_at(model, id);

    for (lk_id at = request->first_entry; at != 0; at = lk_part_entry_at(model, at)->next_entry) {
        struct lk_root *root = lk_root_of(model, lk_part_entry_at(model, at)->node);
        assert(draw >= root->last_draw); /* R4; equal where two parts have one root */
        root->last_draw = draw;
    }
    lk_draw_note(model, draw);
}

uint64_t lk_request_draw(struct lk_model *model, lk_id id, int64_t wall_us) {
    uint64_t draw = lk_request_next_draw(model, id, wall_us);

    lk_request_keep_draw(model, id, draw);
    return draw;
}

bool lk_changes_reserve(struct lk_model *model, size_t extra) {
    size_t wanted = model->effects.change_count + model->waiting + extra;
    size_t capacity = model->change_capacity == 0 ? 16 : model->change_capacity;
    struct lk_change *changes;

    while (capacity < wanted) {
        capacity *= 2;
    }
    if (capacity == model->change_capacity) {
        return true;
    }
    changes = model->allocator->resize(model->allocator->context, model->changes,
                                       capacity * sizeof *changes);
    if (changes == NULL) {
        return false;
    }
    model->changes = changes;
    model->change_capacity = capacity;
    model->effects.changes = changes;
    return true;
}

void lk_change_add(struct lk_model *model, enum lk_change_kind kind, lk_id request) {
    assert(model->effects.change_count < model->change_capacity);
    model->changes[model->effects.change_count++] =
        (struct lk_change){.kind = kind, .request = request};
}
