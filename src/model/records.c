/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of requests, for stores: to read them from the model and to restore them. And what no
 * restored state may have.
 */
#include "model/blockers.h"
#include "model/grant.h"
#include "model/requests.h"
#include "model/steps.h"
#include "model/storage.h"
#include "model/tree.h"
#include "model/work.h"

/* ---- records --------------------------------------------------------------------------------- */

/* What is kept of a claim at its item. */
static void record_claim(const struct lk_model *model, lk_id id, struct lk_record *record) {
    lk_id item = record->is_claim ? lk_claim_item(model, lk_request_at(model, id)) : 0;
    bool is_claimed = item != 0 && lk_item_at(model, item)->claim == id;

    record->ask_number = is_claimed ? lk_item_at(model, item)->ask_number : 0;
    record->max_attempts = is_claimed ? lk_item_at(model, item)->max_attempts : 0;
}

void lk_model_record_head(const struct lk_model *model, lk_ref id, struct lk_record *ret_record) {
    const struct lk_model_request *request = lk_request_at(model, id);
    bool live = request->state != LK_STATE_ENDED;

    ret_record->id = request->id;
    ret_record->owner = lk_name_text(&lk_owner_at(model, request->owner)->name);
    ret_record->note = lk_request_note(request);
    ret_record->state = (enum lk_state)request->state;
    ret_record->revoked = request->revoked;
    ret_record->attended = request->attended;
    ret_record->fixed = request->fixed;
    ret_record->ticket = request->ticket;
    ret_record->token = request->token;
    ret_record->ttl_ms = lk_request_ttl(request);
    ret_record->deadline_us = live ? lk_request_deadline(model, request) : 0;
    ret_record->wants_value = request->wants_value;
    ret_record->is_claim = request->is_claim;
    record_claim(model, id, ret_record);
    ret_record->part_count = 0;
}

void lk_model_record(const struct lk_model *model, lk_ref id, struct lk_record *ret_record) {
    char *text = ret_record->text;

    lk_model_record_head(model, id, ret_record);
    for (lk_id at = lk_request_at(model, id)->first_entry; at != 0;
         at = lk_part_entry_at(model, at)->next_entry) {
        const struct lk_part_entry *entry = lk_part_entry_at(model, at);
        struct lk_part *part = &ret_record->parts[ret_record->part_count++];
        size_t size = lk_node_path(model, entry->node, text);
        lk_outcome outcome = lk_path_parse((struct lk_slice){text, size}, &part->path, NULL);
        assert(outcome == LK_OK);
        (void)outcome;
        part->mode = lk_part_entry_is_exclusive(entry) ? LK_EXCLUSIVE : LK_SHARED;
        part->limit = entry->limit;
        part->units = entry->units;
        part->strict = false;
        text += size + 1;
    }
}

uint64_t lk_model_request_id(const struct lk_model *model, lk_ref request) {
    return lk_request_at(model, request)->id;
}

static bool is_possible(const struct lk_model *model, const struct lk_record *record) {
    return record->id != 0 && record->owner.size >= 1 && record->owner.size <= LK_IDENTITY_BYTES_MAX
           && record->note.size <= LK_NOTE_BYTES_MAX && record->ticket != 0
           && record->state != LK_STATE_ENDED
           && (record->state == LK_STATE_HELD) == (record->token != 0) && record->ttl_ms > 0
           && record->ttl_ms <= LK_TTL_MAX_MS
           && lk_parts_check(record->parts, record->part_count, NULL) == LK_OK
           && (record->is_claim
                   ? record->state == LK_STATE_HELD && record->parts[0].mode == LK_EXCLUSIVE
                   : lk_model_find(model, record->owner, record->parts, record->part_count) == 0);
}

/* R4: what was drawn for the request counts at all of its roots. */
static void remember_draws(struct lk_model *model, const struct lk_model_request *request) {
    uint64_t draw = request->ticket > request->token ? request->ticket : request->token;

    for (lk_id at = request->first_entry; at != 0; at = lk_part_entry_at(model, at)->next_entry) {
        struct lk_root *root = lk_root_of(model, lk_part_entry_at(model, at)->node);
        root->last_draw = draw > root->last_draw ? draw : root->last_draw;
    }
    lk_draw_note(model, draw);
}

void lk_forget_effects(struct lk_model *model) {
    lk_requests_bury(model);
    lk_keep_bury(model);
    model->effects.change_count = 0;
}

lk_outcome lk_model_restore(struct lk_model *model, const struct lk_record *record) {
    struct lk_probe probe;
    lk_id id;
    struct lk_model_request *request;

    if (!is_possible(model, record)) {
        return LK_INVALID;
    }
    lk_forget_effects(model);
    if (record->is_claim && !lk_claims_reserve(model)) {
        return LK_INTERNAL;
    }
    lk_probe_of_ask(model, lk_owner_find(model, record->owner), record->parts, record->part_count,
                    &probe);
    id = lk_request_draft(model, record->owner, record->parts, &probe, record->note);
    if (id == 0) {
        return LK_INTERNAL;
    }
    request = lk_request_at(model, id);
    request->id = record->id;
    request->ticket = record->ticket;
    request->token = record->token;
    lk_request_set_ttl(request, record->ttl_ms);
    request->revoked = record->revoked;
    request->attended = record->attended;
    request->fixed = record->fixed;
    request->wants_value = record->wants_value;
    request->is_claim = record->is_claim;
    if (record->is_claim && !lk_item_restore_claim(model, id, record)) {
        lk_request_discard(model, id);
        return LK_INVALID;
    }
    lk_request_enter(model, id, record->state, record->deadline_us);
    remember_draws(model, request);
    lk_model_restore_next_id(model, record->id + 1);
    model->needs_grant_pass = true;
    model->may_hide_cycle = true; /* it may have been so before */
    return LK_OK;
}

lk_outcome lk_model_restore_draw(struct lk_model *model, struct lk_slice root_name,
                                 uint64_t last_draw) {
    struct lk_root *root;

    if (root_name.size < 1 || root_name.size > LK_SEGMENT_BYTES_MAX) {
        return LK_INVALID;
    }
    lk_forget_effects(model);
    root = lk_root_make(model, root_name);
    if (root == NULL) {
        return LK_INTERNAL;
    }
    root->last_draw = last_draw > root->last_draw ? last_draw : root->last_draw;
    lk_draw_note(model, last_draw);
    return LK_OK;
}

void lk_model_restore_elsewhere(struct lk_model *model, uint64_t live, uint64_t owned) {
    model->live_elsewhere = live;
    model->owned_elsewhere = owned;
}

lk_outcome lk_model_restore_root_elsewhere(struct lk_model *model, struct lk_slice root_name,
                                           uint64_t live) {
    lk_outcome outcome = lk_model_restore_draw(model, root_name, 0);

    if (outcome == LK_OK) {
        lk_root_make(model, root_name)->live_elsewhere =
            live < UINT32_MAX ? (uint32_t)live : UINT32_MAX;
    }
    return outcome;
}

void lk_model_restore_floor(struct lk_model *model, uint64_t floor) {
    model->floor = floor > model->floor ? floor : model->floor;
    lk_draw_note(model, floor);
}

uint64_t lk_model_floor(const struct lk_model *model) {
    return model->floor;
}

uint64_t lk_model_greatest_draw(const struct lk_model *model) {
    return model->greatest_draw;
}

lk_outcome lk_model_restore_ended(struct lk_model *model, const struct lk_target *target,
                                  int64_t ended_us) {
    if (target->token == 0 || lk_parts_check(target->parts, target->part_count, NULL) != LK_OK) {
        return LK_INVALID;
    }
    if (!lk_ended_reserve(&model->ended)) {
        return LK_INTERNAL;
    }
    lk_ended_remember(&model->ended, target, ended_us);
    return LK_OK;
}

uint64_t lk_model_next_id(const struct lk_model *model) {
    return model->next_id;
}

lk_ref lk_model_greatest_ref(const struct lk_model *model) {
    return model->requests.next_fresh;
}

void lk_model_restore_next_id(struct lk_model *model, uint64_t next_id) {
    model->next_id = next_id > model->next_id ? next_id : model->next_id;
}

/* ---- leases that exclude each other ---------------------------------------------------------- */

/* In a state that was restored: no step makes such a state. */

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

/* ---- records of breaks (R12) ---- */

/* The request that a record of this change is about; *ret_is_kept: whether there is one. */
static lk_id broken_request(const struct lk_model *model, const struct lk_effects *effects,
                            const struct lk_change *change, const struct lk_break *broken,
                            bool *ret_is_kept) {
    switch (change->kind) {
    case LK_CHANGE_BROKEN:
        *ret_is_kept = true;
        return change->request;
    case LK_CHANGE_REVOKED: /* of a cancelled item the record is made before */
        *ret_is_kept = !broken->cancels;
        return change->request;
    case LK_CHANGE_ITEM_CANCELLED:
        *ret_is_kept = true;
        return lk_item_at(model, change->item)->claim;
    case LK_CHANGE_ITEM_DROPPED: /* others have been lost by deadlines, before the break */
        *ret_is_kept =
            broken->cancels && effects->answer.broken == 0 && change->item == effects->answer.item;
        return 0;
    default:
        *ret_is_kept = false;
        return 0;
    }
}

bool lk_audit_row_of(const struct lk_model *model, const struct lk_effects *effects,
                     const struct lk_change *change, const struct lk_break *broken, int64_t wall_us,
                     struct lk_record *record, struct lk_audit_row *ret_row) {
    bool is_kept;
    lk_id request = broken_request(model, effects, change, broken, &is_kept);

    if (!is_kept) {
        return false;
    }
    *ret_row = (struct lk_audit_row){
        .at_unix_us = wall_us,
        .by = broken->by,
        .reason = broken->reason,
        .path = {broken->path.bytes, broken->path.size},
    };
    if (request != 0) {
        lk_model_record(model, request, record);
        ret_row->owner = record->owner;
        ret_row->note = record->note;
        ret_row->ticket = record->ticket;
        ret_row->token = record->token;
    }
    return true;
}
