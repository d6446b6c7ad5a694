/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renewals and ends: by the owner, by an administrator, by the deadline (R11, R12). And tokens that
 * have ended.
 */
#include <assert.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/minmax.h"
#include "model/grant.h"
#include "model/probe.h"
#include "model/sentences.h"
#include "model/state.h"
#include "model/steps.h"
#include "model/tree.h"
#include "model/wait_queue.h"
#include "model/work.h"

static lk_id find_target(const struct lk_model *model, const struct lk_target *target) {
    return lk_model_find(model, target->owner, target->parts, target->part_count);
}

static bool has_token(const struct lk_model_request *request, uint64_t token) {
    return token == 0 || (request->state == LK_STATE_HELD && request->token == token);
}

/* Whether the claim has exactly these paths: the item's, and those of its needs. */
static bool has_paths(const struct lk_model *model, const struct lk_model_request *claim,
                      const struct lk_target *target) {
    for (lk_id at = claim->first_entry; at != 0; at = lk_part_entry_at(model, at)->next_entry) {
        size_t i = 0;
        while (i < target->part_count
               && lk_node_find(model, &target->parts[i].path)
                      != lk_part_entry_at(model, at)->node) {
            i++;
        }
        if (i == target->part_count) {
            return false;
        }
    }
    return claim->entry_count == target->part_count;
}

/* The claim that a renewal names by its item's path, or by all of its paths (R16); 0: none. */
static lk_id find_claim(const struct lk_model *model, const struct lk_target *target) {
    lk_id owner = lk_owner_find(model, target->owner);

    for (size_t i = 0; i < target->part_count; i++) {
        lk_id item = lk_item_find(model, lk_node_find(model, &target->parts[i].path));
        lk_id id = item != 0 ? lk_item_at(model, item)->claim : 0;
        const struct lk_model_request *claim = id != 0 ? lk_request_at(model, id) : NULL;
        if (claim != NULL && claim->owner == owner && has_token(claim, target->token)
            && (target->part_count == 1 || has_paths(model, claim, target))) {
            return id;
        }
    }
    return 0;
}

/*
 * The lease to renew: of these paths (R3), or else a claim. If none can be renewed, one that
 * explains the answer.
 */
static lk_id find_lease(const struct lk_model *model, const struct lk_target *target) {
    lk_id id = find_target(model, target);
    const struct lk_model_request *lease = id != 0 ? lk_request_at(model, id) : NULL;
    lk_id claim;

    if (lease != NULL && lease->state == LK_STATE_HELD && !lease->revoked
        && has_token(lease, target->token)) {
        return id;
    }
    claim = find_claim(model, target);
    return claim != 0 ? claim : id;
}

static void answer_lost(struct lk_model *model, const char *why) {
    lk_answer(model, LK_LOST, 0);
    snprintf(model->text, sizeof model->text, "%s", why);
}

void lk_step_renew(struct lk_model *model, struct lk_times times, const struct lk_renew *renew) {
    const struct lk_target *target = &renew->target;
    lk_id id;
    struct lk_model_request *request;

    if (!lk_check_names(model, target->owner, target->parts, target->part_count)
        || !lk_check_ttl(model, renew->ttl_ms)) {
        return;
    }
    if (!lk_changes_reserve(model, 1)) {
        lk_answer_exhausted(model);
        return;
    }
    id = find_lease(model, target);
    request = id != 0 ? lk_request_at(model, id) : NULL;
    if (request == NULL || request->state != LK_STATE_HELD) {
        answer_lost(model, "there is no such lease: it has ended, or was never granted");
        return;
    }
    if (request->revoked || !has_token(request, target->token)) {
        answer_lost(model, request->revoked
                               ? LK_TEXT_BROKEN
                               : "the lease there has another token: this one has ended");
        return;
    }
    if (!request->fixed) {
        lk_request_set_ttl(request, renew->ttl_ms != 0 ? renew->ttl_ms : lk_request_ttl(request));
        lk_deadlines_move(model, id, times.now_us + lk_request_ttl(request) * 1000);
        lk_change_add(model, LK_CHANGE_REFRESHED, id);
    }
    lk_answer(model, LK_OK, id);
}

/* R15: only a held lease with an exclusive part at each of the paths may put. */
static bool may_put(const struct lk_model *model, lk_id id, const struct lk_release *release) {
    const struct lk_model_request *request = lk_request_at(model, id);

    for (size_t i = 0; i < release->put_count; i++) {
        lk_id node = lk_node_find(model, &release->target.parts[release->puts[i].part].path);
        lk_id at = request->first_entry;

        while (lk_part_entry_at(model, at)->node != node) {
            at = lk_part_entry_at(model, at)->next_entry;
        }
        if (request->state != LK_STATE_HELD
            || !lk_part_entry_is_exclusive(lk_part_entry_at(model, at))) {
            return false;
        }
    }
    return true;
}

/* A release that names no request or another token, or that is repeated. */
static void answer_not_there(struct lk_model *model, struct lk_times times,
                             const struct lk_target *target, lk_id id) {
    if (target->token != 0 && lk_ended_recalls(&model->ended, target, times.now_us)) {
        lk_answer(model, LK_OK, 0); /* R3: the reply was lost, not the release */
        return;
    }
    answer_lost(model, id == 0 ? "there is no such request: it has ended, or never was"
                               : "the request there has another token: this one has ended");
}

static void release(struct lk_model *model, struct lk_times times, const struct lk_target *target,
                    lk_id id) {
    struct lk_released_nodes released;
    bool held = lk_request_at(model, id)->state == LK_STATE_HELD;

    assert(has_token(lk_request_at(model, id), target->token));
    if (target->token != 0) {
        lk_ended_remember(&model->ended, target, times.now_us);
    }
    lk_released_nodes_of(model, id, &released);
    lk_request_end(model, id, held ? LK_CHANGE_RELEASED : LK_CHANGE_WITHDRAWN);
    lk_grant_waiters(model, &released, times);
    lk_answer(model, LK_OK, id);
}

void lk_step_release(struct lk_model *model, struct lk_times times,
                     const struct lk_release *command) {
    const struct lk_target *target = &command->target;
    lk_id id;

    if (!lk_check_names(model, target->owner, target->parts, target->part_count)
        || !lk_check_puts(model, command)) {
        return;
    }
    if (!lk_changes_reserve(model, 1 + command->put_count)
        || (target->token != 0 && !lk_ended_reserve(&model->ended))) {
        lk_answer_exhausted(model);
        return;
    }
    id = find_target(model, target);
    if (id == 0 || !has_token(lk_request_at(model, id), target->token)) {
        answer_not_there(model, times, target, id);
        return;
    }
    if (!may_put(model, id, command)) {
        answer_lost(model, LK_TEXT_PUT_NEEDS_LEASE);
        return;
    }
    if (!lk_values_write(model, command)) {
        lk_answer_exhausted(model);
        return;
    }
    release(model, times, target, id);
}

/* ---- losing ---- */

/* What is lost of one request, beside the values that come into doubt. */
enum { LOST_CHANGES_MAX = 1 + LK_WORK_CHANGES_MAX };

static size_t changes_of_lost(const struct lk_model *model, size_t requests) {
    return LOST_CHANGES_MAX * requests + lk_values_doubts_max(model, requests);
}

/* Ends a request that was not released: its holder may have left its work half done. */
static void lose(struct lk_model *model, lk_id id, enum lk_change_kind kind) {
    struct lk_model_request *request = lk_request_at(model, id);
    int64_t ended_us = lk_min(lk_request_deadline(model, request), model->now_us);

    assert(kind == LK_CHANGE_PERISHED || kind == LK_CHANGE_BROKEN);
    assert(request->state != LK_STATE_ENDED);
    lk_values_doubt(model, request);
    lk_request_end(model, id, kind);
    if (request->is_claim) {
        lk_item_lose_claim(model, id, ended_us);
    }
}

void lk_step_leave(struct lk_model *model, struct lk_times times, const struct lk_leave *leave) {
    const struct lk_target *target = &leave->target;
    struct lk_released_nodes released;
    lk_id id;

    if (!lk_check_names(model, target->owner, target->parts, target->part_count)) {
        return;
    }
    if (!lk_changes_reserve(model, changes_of_lost(model, 1))) {
        lk_answer_exhausted(model);
        return;
    }
    id = leave->is_claim ? find_claim(model, target) : find_target(model, target);
    if (id == 0 || !has_token(lk_request_at(model, id), target->token)) {
        answer_lost(model, "there is no such request: it has ended, or never was");
        return;
    }
    if (leave->is_of_wait) { /* R10: nothing keeps it alive from here on */
        lk_request_at(model, id)->attended = false;
        lk_change_add(model, LK_CHANGE_REFRESHED, id);
        lk_answer(model, LK_OK, id);
        return;
    }
    lk_released_nodes_of(model, id, &released);
    lose(model, id, LK_CHANGE_PERISHED);
    lk_grant_waiters(model, &released, times);
    lk_answer(model, LK_OK, id);
}

/* ---- breaking ---- */

struct collecting {
    struct lk_model *model;
    size_t count;
};

static bool collect_one(void *context, lk_ref request) {
    struct collecting *collecting = context;

    assert(collecting->count < collecting->model->scratch_capacity);
    collecting->model->scratch[collecting->count++] = request;
    return true;
}

/* Requests with a part entry at exactly this node, into model->scratch. */
static size_t collect_at(struct lk_model *model, const struct lk_path *path) {
    struct collecting collecting = {.model = model};

    lk_model_each_at(model, path, collect_one, &collecting);
    return collecting.count;
}

/* Breaks one request; whether there was anything to break. */
static bool break_one(struct lk_model *model, lk_id id, bool at_once) {
    struct lk_model_request *request = lk_request_at(model, id);

    if (request->state == LK_STATE_WAITING || at_once) {
        lose(model, id, LK_CHANGE_BROKEN);
        return true;
    }
    assert(request->state == LK_STATE_HELD);
    if (request->revoked) {
        return false;
    }
    request->revoked = true;
    model->may_hide_cycle = true; /* a revoked lease covers nothing (R8) */
    lk_change_add(model, LK_CHANGE_REVOKED, id);
    return true;
}

/* R16: cancels the item at this node. */
static void cancel_at(struct lk_model *model, struct lk_times times, lk_id node, bool at_once) {
    lk_id item = lk_item_present(model, node);
    lk_id claim;

    if (item == 0) {
        answer_lost(model, LK_TEXT_NOT_THERE);
        return;
    }
    if (!lk_changes_reserve(model, changes_of_lost(model, 1) + 1) || !lk_grant_reserve(model, 1)) {
        lk_answer_exhausted(model);
        return;
    }
    claim = lk_item_cancel(model, item, at_once);
    if (claim != 0) {
        (void)break_one(model, claim, at_once);
    }
    lk_grant_all_waiters(model, times);
    lk_answer(model, LK_OK, 0);
    model->effects.answer.item = item;
    model->effects.answer.broken = claim != 0;
}

void lk_step_break(struct lk_model *model, struct lk_times times, const struct lk_break *broken) {
    lk_id node = lk_node_find(model, &broken->path);
    lk_id owner = broken->owner.size > 0 ? lk_owner_find(model, broken->owner) : 0;
    size_t count;
    size_t done = 0;

    if (broken->cancels) {
        cancel_at(model, times, node, broken->at_once);
        return;
    }
    if (node == 0 || (broken->owner.size > 0 && owner == 0)) {
        lk_answer(model, LK_OK, 0);
        return;
    }
    if (!lk_changes_reserve(model, changes_of_lost(model, lk_node_at(model, node)->entries))
        || !lk_grant_reserve(model, lk_node_at(model, node)->entries)) {
        lk_answer_exhausted(model);
        return;
    }
    count = collect_at(model, &broken->path);
    lk_sort_by_ticket(model, model->scratch, count); /* what happens does not depend on the ring */
    for (size_t i = 0; i < count; i++) {
        if (owner == 0 || lk_request_at(model, model->scratch[i])->owner == owner) {
            done += break_one(model, model->scratch[i], broken->at_once);
        }
    }
    lk_grant_all_waiters(model, times);
    lk_answer(model, LK_OK, 0);
    model->effects.answer.broken = done;
}

/* ---- perishing ---- */

/*
 * Room for everything that the step does by itself: every end and every grant, and the items and
 * queues that are forgotten. So all of it happens, or nothing. A waiter may be granted on the way
 * and perish, too, when its wait has set a new deadline (R10).
 */
static bool reserve_what_is_due(struct lk_model *model, uint32_t due) {
    size_t ends = due > 0 ? changes_of_lost(model, (size_t)due + model->waiting) : 0;
    size_t items = lk_items_to_forget(model, model->now_us); /* each may leave a queue idle */
    size_t forgotten = lk_queues_to_forget(model) + items * 2;

    return ends + forgotten == 0 || lk_changes_reserve(model, ends + forgotten);
}

bool lk_step_perish(struct lk_model *model, struct lk_times times) {
    uint32_t due = lk_deadlines_due(&model->deadlines, times.now_us);
    int64_t earlier_us = INT64_MIN;
    lk_id id;

    if (!reserve_what_is_due(model, due)) {
        return false;
    }
    while ((id = lk_deadlines_first(&model->deadlines)) != 0) {
        struct lk_released_nodes released;
        struct lk_times moment = times;
        moment.now_us = lk_request_deadline(model, lk_request_at(model, id));
        if (moment.now_us > times.now_us) {
            break;
        }
        assert(moment.now_us >= earlier_us); /* R11: in the order of their deadlines */
        earlier_us = moment.now_us;
        lk_released_nodes_of(model, id, &released);
        lose(model, id, LK_CHANGE_PERISHED);
        lk_grant_waiters(model, &released, moment);
    }
    return true;
}

/* ---- ended tokens (R3) ----------------------------------------------------------------------- */

/* A ring searched from its newest entry, since a repeat comes soon or never. */

enum { CAPACITY_FIRST = 16 };

void lk_ended_init(struct lk_ended *ended, const struct lk_allocator *allocator, uint32_t max) {
    *ended = (struct lk_ended){.allocator = allocator, .max = max};
}

void lk_ended_done(struct lk_ended *ended) {
    ended->allocator->resize(ended->allocator->context, ended->tokens, 0);
    ended->tokens = NULL;
}

bool lk_ended_reserve(struct lk_ended *ended) {
    uint32_t wanted = ended->capacity == 0 ? CAPACITY_FIRST : ended->capacity * 2;
    struct lk_ended_token *tokens;

    if (ended->count < ended->capacity || ended->capacity == ended->max) {
        return true;
    }
    wanted = wanted < ended->max ? wanted : ended->max;
    tokens =
        ended->allocator->resize(ended->allocator->context, ended->tokens, wanted * sizeof *tokens);
    if (tokens == NULL) {
        return false;
    }
    ended->tokens = tokens;
    ended->capacity = wanted;
    ended->next = ended->count; /* it has not wrapped yet: it was never at its maximum */
    return true;
}

/* Of owner and set of paths: the order of the paths does not matter, as in R3. */
static uint64_t key_of(const struct lk_target *target) {
    uint64_t sum = 0;

    for (size_t i = 0; i < target->part_count; i++) {
        const struct lk_path *path = &target->parts[i].path;
        sum += lk_hash_bytes(1, (struct lk_slice){path->bytes, path->size});
    }
    return lk_hash_number(sum, lk_hash_bytes(2, target->owner));
}

void lk_ended_remember(struct lk_ended *ended, const struct lk_target *target, int64_t ended_us) {
    if (ended->next == ended->capacity) {
        ended->next = 0;
    }
    assert(ended->next < ended->capacity); /* it has been reserved */
    ended->tokens[ended->next++] = (struct lk_ended_token){key_of(target), target->token, ended_us};
    if (ended->count < ended->capacity) {
        ended->count++;
    }
    assert(ended->count <= ended->capacity && ended->next <= ended->capacity);
}

bool lk_ended_recalls(const struct lk_ended *ended, const struct lk_target *target,
                      int64_t now_us) {
    uint64_t key = key_of(target);
    uint32_t at = ended->next;

    for (uint32_t i = 0; i < ended->count; i++) {
        const struct lk_ended_token *token;
        at = at == 0 ? ended->count - 1 : at - 1;
        token = &ended->tokens[at];
        if (token->token == target->token && token->key == key) {
            return token->ended_us > now_us - LK_ENDED_MEMORY_US;
        }
    }
    return false;
}
