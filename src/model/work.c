/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work (R16): items are pushed into queues, claimed by a lease, and done, given back, or lost with
 * their claim.
 *
 * A delayed item that has become due joins the ready ones at the next claim.
 */
#include "model/work.h"

#include <stdio.h>

#include "base/minmax.h"
#include "model/blockers.h"
#include "model/grant.h"
#include "model/groups.h"
#include "model/heads.h"
#include "model/order.h"
#include "model/probe.h"
#include "model/sentences.h"
#include "model/steps.h"
#include "model/tree.h"

/* Makes delayed items that are due ready. */
static void ripen(struct lk_model *model, lk_id work, int64_t now_us) {
    for (;;) {
        lk_id id = lk_order_first(model, LK_ORDER_RANK, &lk_work_at(model, work)->delayed);
        if (id == 0 || lk_item_at(model, id)->rank > now_us) {
            break;
        }
        assert(lk_item_at(model, id)->state == LK_ITEM_DELAYED);
        lk_item_change_state(model, id, LK_ITEM_READY, 0);
    }
}

/* ---- changes ---- */

static void note_item(struct lk_model *model, enum lk_change_kind kind, lk_id item, lk_id request) {
    lk_change_add(model, kind, request);
    model->changes[model->effects.change_count - 1].item = item;
}

/* Removes an item that is not claimed. */
static void remove_item(struct lk_model *model, lk_id item, enum lk_change_kind kind) {
    lk_item_leave(model, item);
    lk_item_remove(model, item);
    note_item(model, kind, item, 0);
}

static void note_count(struct lk_model *model, lk_id id) {
    struct lk_work *work = lk_work_at(model, id);

    if (work->counted_mark != model->step_mark) {
        work->counted_mark = model->step_mark;
        lk_change_add(model, LK_CHANGE_QUEUE_COUNTED, 0);
        model->changes[model->effects.change_count - 1].queue = id;
    }
}

/* The parts that a claim of this item locks: the item itself, and what its work needs. */
static size_t make_parts(const struct lk_path *path, const struct lk_part *needs, size_t count,
                         struct lk_part parts[LK_PARTS_MAX]) {
    parts[0] = (struct lk_part){.path = *path, .mode = LK_EXCLUSIVE};
    for (size_t i = 0; i < count; i++) {
        parts[i + 1] = needs[i];
        parts[i + 1].strict = false; /* of the item, not of a request */
    }
    return count + 1;
}

/* ---- push ---- */

/* A draw of the queue's root (R4), so that age survives restarts. */
static uint64_t draw_at(struct lk_model *model, lk_id node, int64_t wall_us) {
    struct lk_root *root = lk_root_of(model, node);
    uint64_t wall = wall_us > 0 ? (uint64_t)wall_us : 1;

    root->last_draw = root->last_draw + 1 > wall ? root->last_draw + 1 : wall;
    lk_draw_note(model, root->last_draw);
    return root->last_draw;
}

static void push_new(struct lk_model *model, struct lk_times times, const struct lk_push *push,
                     lk_id work, const struct lk_path *path) {
    lk_id id = lk_item_make(model, work, path, push->value, push->needs, push->need_count);
    struct lk_item *item;

    if (id == 0) {
        lk_answer_exhausted(model);
        return;
    }
    item = lk_item_at(model, id);
    item->priority = (int16_t)push->priority;
    item->keep_ms = push->keep_ms;
    item->sequence = draw_at(model, item->node, times.wall_us);
    lk_item_enter(model, id, push->delay_ms > 0 ? LK_ITEM_DELAYED : LK_ITEM_READY,
                  times.now_us + push->delay_ms * 1000, times.now_us);
    lk_work_at(model, work)->counts.pushed++;
    note_item(model, LK_CHANGE_ITEM_PUSHED, id, 0);
    note_count(model, work);
    lk_answer(model, LK_OK, 0);
    model->effects.answer.created = true;
    model->effects.answer.item = id;
}

/* Whether a push of this kind changes an item in this state. */
static bool may_replace(enum lk_push_kind kind, enum lk_item_state state) {
    switch (state) {
    case LK_ITEM_READY:
    case LK_ITEM_DELAYED:
    case LK_ITEM_AGAIN:
        return kind != LK_PUSH_NEW;
    default:
        return kind == LK_PUSH_AGAIN;
    }
}

/* The item is claimed, and this push is the first to ask for another run behind that claim. */
static bool is_another_run(enum lk_item_state was) {
    return lk_item_is_claimed(was) && was != LK_ITEM_AGAIN;
}

static bool is_waiting(enum lk_item_state state) {
    return state == LK_ITEM_READY || state == LK_ITEM_DELAYED;
}

/* What the push says takes the place of what the item was. false: memory is exhausted. */
static bool replace(struct lk_model *model, struct lk_times times, const struct lk_push *push,
                    lk_id id) {
    int64_t due_us = times.now_us + push->delay_ms * 1000;
    struct lk_item *item = lk_item_at(model, id);
    const struct lk_item before = *item;
    bool is_ready = is_waiting(before.state)
                    && before.ready_us <= times.now_us; /* since then, and it stays so */

    lk_item_leave(model, id);
    if (!lk_item_refill(model, id, push->value, push->needs, push->need_count)) {
        lk_item_enter(model, id, before.state, before.rank, before.ready_us);
        if (before.is_head) {
            lk_heads_begin(model, id);
        }
        return false;
    }
    item->priority = (int16_t)push->priority;
    item->keep_ms = push->keep_ms;
    if (is_another_run(before.state)) { /* it is the last in the queue, as a new item is */
        item->sequence = draw_at(model, item->node, times.wall_us);
    }
    if (lk_item_is_claimed(before.state)) {
        lk_item_enter(model, id, LK_ITEM_AGAIN, due_us, 0);
    } else {
        item->attempts = 0;
        lk_item_enter(model, id, push->delay_ms > 0 ? LK_ITEM_DELAYED : LK_ITEM_READY, due_us,
                      is_ready ? before.ready_us : times.now_us);
    }
    return true;
}

/* A push of an item that the queue has. */
static void push_over(struct lk_model *model, struct lk_times times, const struct lk_push *push,
                      lk_id id) {
    struct lk_item *item = lk_item_at(model, id);
    struct lk_queue_counts *counts = &lk_work_at(model, item->work)->counts;
    enum lk_item_state was = (enum lk_item_state)item->state;
    bool is_replaced;

    if (was == LK_ITEM_DELAYED && item->rank <= times.now_us) {
        was = LK_ITEM_READY; /* due, but no claim has moved it yet */
    }
    is_replaced = may_replace(push->kind, was);
    if (is_replaced && !replace(model, times, push, id)) {
        lk_answer_exhausted(model);
        return;
    }
    if (is_replaced) {
        note_item(model, LK_CHANGE_ITEM_REPLACED, id, 0);
    }
    if (is_replaced && is_another_run(was)) {
        counts->pushed++;
    } else {
        counts->duplicates++;
    }
    note_count(model, item->work);
    lk_answer(model, LK_OK, 0);
    model->effects.answer.item = id;
    model->effects.answer.was = was;
    model->effects.answer.is_replaced = is_replaced;
}

void lk_step_push(struct lk_model *model, struct lk_times times, const struct lk_push *push) {
    struct lk_item_path item_path;
    lk_error error;
    bool is_known;
    lk_id work;
    lk_id item;

    if (lk_push_check(push, &item_path, &error) != LK_OK) {
        lk_answer_invalid(model, &error);
        return;
    }
    is_known = lk_work_find(model, lk_node_find(model, &push->queue)) != 0;
    work = lk_changes_reserve(model, 3) ? lk_queue_make(model, &push->queue) : 0;
    if (work == 0) {
        lk_answer_exhausted(model);
        return;
    }
    item = lk_item_find(model, lk_node_find(model, &item_path.path));
    if (item != 0 && lk_item_present(model, lk_item_at(model, item)->node) == 0) {
        remove_item(model, item, LK_CHANGE_ITEM_FORGOTTEN);
        item = 0;
    }
    if (item == 0) {
        push_new(model, times, push, work, &item_path.path);
        if (!is_known && model->effects.answer.outcome != LK_OK) {
            lk_queue_unmake(model, work);
        }
        return;
    }
    push_over(model, times, push, item);
}

/* ---- take ---- */

/* The working state of one take. */
struct taking {
    struct lk_model *model;
    struct lk_times times;
    const struct lk_take *take;
    lk_id work;
    lk_id owner; /* 0: it has no request yet */
};

static int64_t ttl_of(const struct lk_take *take) {
    return take->ttl_ms != 0 ? take->ttl_ms : LK_TTL_DEFAULT_MS;
}

static void answer_taken(struct lk_model *model, lk_id request, lk_id item) {
    lk_answer(model, LK_GRANTED, request);
    model->effects.answer.item = item;
}

/* R3: answers with the claim that this ask got already, and sets its deadline again. */
static bool take_again(struct taking *taking) {
    struct lk_model *model = taking->model;
    lk_id item = lk_claims_find(model, taking->work, taking->owner, taking->take->ask_number);
    lk_id claim = item != 0 ? lk_item_at(model, item)->claim : 0;

    if (item == 0) {
        return false;
    }
    if (!lk_request_at(model, claim)->revoked) {
        struct lk_model_request *request = lk_request_at(model, claim);
        lk_request_set_ttl(request, ttl_of(taking->take));
        lk_deadlines_move(model, claim, taking->times.now_us + lk_request_ttl(request) * 1000);
        lk_change_add(model, LK_CHANGE_REFRESHED, claim);
    }
    answer_taken(model, claim, item);
    return true;
}

/* The probe of a new item of the queue. */
static void probe_of_queue(const struct taking *taking, struct lk_probe *ret_probe) {
    *ret_probe = (struct lk_probe){
        .owner = taking->owner,
        .ticket = LK_TICKET_NEWEST,
        .is_of_item = true,
        .count = 1,
        .parts = {{.node = lk_work_at(taking->model, taking->work)->node}},
    };
}

/*
 * Makes the claim of an item whose parts are free. LK_GRANTED with *ret_claim; LK_INTERNAL: memory
 * is exhausted; LK_DEADLOCK; LK_BUSY: it cannot share its token (R4).
 */
static lk_outcome make_claim(struct taking *taking, lk_id item_id, const struct lk_part *parts,
                             const struct lk_probe *probe, lk_id *ret_claim) {
    struct lk_model *model = taking->model;
    const struct lk_take *take = taking->take;
    lk_id id = lk_request_draft(model, take->owner, parts, probe,
                                take->note_given ? take->note : (struct lk_slice){NULL, 0});
    struct lk_model_request *request;
    size_t cycle_count;

    if (id == 0) {
        return LK_INTERNAL;
    }
    if (take->share_token != 0 && take->share_token < lk_request_last_draw(model, id)) {
        lk_request_discard(model, id);
        return LK_BUSY;
    }
    request = lk_request_at(model, id);
    request->is_claim = true;
    request->id = model->next_id++;
    request->ticket = take->share_token != 0
                          ? take->share_token
                          : lk_request_next_draw(model, id, taking->times.wall_us);
    request->token = request->ticket;
    lk_request_set_ttl(request, ttl_of(take));
    lk_request_enter(model, id, LK_STATE_HELD,
                     taking->times.now_us + lk_request_ttl(request) * 1000);
    if (lk_deadlock_search(model, id, &cycle_count)) {
        lk_request_leave(model, id);
        lk_request_discard(model, id);
        return LK_DEADLOCK;
    }
    lk_request_keep_draw(model, id, request->ticket);
    assert(lk_item_at(model, item_id)->claim == 0);
    lk_item_at(model, item_id)->claim = id;
    *ret_claim = id;
    return LK_GRANTED;
}

static void count_claim(struct taking *taking, lk_id id, lk_id request) {
    struct lk_model *model = taking->model;
    struct lk_item *item = lk_item_at(model, id);
    struct lk_queue_counts *counts = &lk_work_at(model, taking->work)->counts;

    assert(item->state == LK_ITEM_READY && item->work == taking->work && item->claim == request);
    lk_item_change_state(model, id, LK_ITEM_CLAIMED, 0);
    item->attempts++;
    (void)lk_item_keep_progress(model, id, (struct lk_slice){NULL, 0});
    item->max_attempts = taking->take->max_attempts;
    item->ask_number = taking->take->ask_number;
    lk_claims_add(model, id);
    lk_heads_begin(model, id);
    counts->claims++;
    counts->steals += item->was_lost;
    lk_change_add(model, LK_CHANGE_GRANTED, request);
    model->effects.answer.is_stolen = item->was_lost;
    note_item(model, item->was_lost ? LK_CHANGE_ITEM_STOLEN : LK_CHANGE_ITEM_CLAIMED, id, request);
    note_count(model, taking->work);
    item->was_lost = false;
}

static void answer_nothing(struct lk_model *model, const char *why) {
    lk_answer(model, LK_BUSY, 0);
    snprintf(model->text, sizeof model->text, "%s", why);
}

/* What became of the attempt to claim an item. */
enum attempt {
    ANSWERED,      /* the take is over */
    ITEM_BLOCKED,  /* the item itself is locked */
    NEEDS_BLOCKED, /* what it needs: so no item that needs the same can be claimed, but their
                      head, which comes first */
};

/* Claims the item if its parts are free. */
static enum attempt take_item(struct taking *taking, lk_id id) {
    struct lk_model *model = taking->model;
    const struct lk_item *item = lk_item_at(model, id);
    struct lk_part parts[LK_PARTS_MAX];
    char bytes[LK_PATH_BYTES_MAX + 1];
    struct lk_path path;
    struct lk_probe probe;
    const char *bound;
    lk_id request;
    size_t count;
    size_t at;

    (void)lk_path_parse((struct lk_slice){bytes, lk_node_path(model, item->node, bytes)}, &path,
                        NULL);
    if (lk_heads_are_others(model, id)) {
        return NEEDS_BLOCKED;
    }
    count = make_parts(&path, item->needs, item->need_count, parts);
    lk_probe_of_ask(model, taking->owner, parts, count, &probe);
    probe.is_of_item = true;
    if (lk_probe_check(model, &probe, &at) != LK_VERDICT_GRANT) {
        return at == 0 ? ITEM_BLOCKED : NEEDS_BLOCKED;
    }
    bound = lk_full_bound(model, &probe, false);
    if (bound != NULL) {
        lk_answer_full(model, bound);
        return ANSWERED;
    }
    if (!lk_heads_reserve(model, id)) {
        lk_answer_exhausted(model);
        return ANSWERED;
    }
    switch (make_claim(taking, id, parts, &probe, &request)) {
    case LK_GRANTED:
        count_claim(taking, id, request);
        answer_taken(model, request, id);
        model->effects.answer.created = true;
        return ANSWERED;
    case LK_BUSY:
        answer_nothing(model, LK_TEXT_TOKEN_TAKEN);
        return ANSWERED;
    case LK_DEADLOCK:
        /* What waits for the item itself is ahead of a claim, so the cycle goes through a need. */
        return NEEDS_BLOCKED;
    default:
        lk_answer_exhausted(model);
        return ANSWERED;
    }
}

void lk_step_take(struct lk_model *model, struct lk_times times, const struct lk_take *take) {
    struct taking taking = {.model = model, .times = times, .take = take};
    enum attempt attempt = ITEM_BLOCKED;
    struct lk_ready_walk walk;
    struct lk_probe queue; /* of some new item: what is in its way is in the way of all of them */
    lk_error error;
    lk_id id;

    if (lk_take_check(take, &error) != LK_OK) {
        lk_answer_invalid(model, &error);
        return;
    }
    if (!lk_changes_reserve(model, 1 + LK_WORK_CHANGES_MAX) || !lk_claims_reserve(model)) {
        lk_answer_exhausted(model);
        return;
    }
    taking.work = lk_work_find(model, lk_node_find(model, &take->queue));
    taking.owner = lk_owner_find(model, take->owner);
    if (taking.work == 0) {
        answer_nothing(model, LK_TEXT_QUEUE_EMPTY);
        return;
    }
    if (take_again(&taking)) {
        return;
    }
    ripen(model, taking.work, times.now_us);
    probe_of_queue(&taking, &queue);
    if (lk_probe_check(model, &queue, NULL) != LK_VERDICT_GRANT) {
        answer_nothing(model, LK_TEXT_QUEUE_PAUSED);
        return;
    }
    lk_ready_walk_begin(model, taking.work, &walk);
    while ((id = lk_ready_walk_next(model, &walk, attempt == NEEDS_BLOCKED)) != 0) {
        attempt = take_item(&taking, id);
        if (attempt == ANSWERED) {
            return;
        }
    }
    answer_nothing(model, LK_TEXT_NOTHING_DUE);
}

/* ---- finish ---- */

lk_id lk_claim_item(const struct lk_model *model, const struct lk_model_request *claim) {
    return lk_item_find(model, lk_part_entry_at(model, claim->first_entry)->node);
}

/* How long the item is kept if it is done now. 0: it is not. */
static int64_t keep_ms_of(const struct lk_item *item, const struct lk_finish *finish) {
    return finish->kind == LK_FINISH_DONE && item->state == LK_ITEM_CLAIMED
               ? lk_max(item->keep_ms, finish->keep_ms)
               : 0;
}

/* The result takes the place of the value and the needs. false: memory is exhausted. */
static bool keep_result(struct lk_model *model, lk_id id, struct lk_slice result) {
    bool was_head = lk_item_at(model, id)->is_head;
    bool is_kept;

    lk_item_leave(model, id);
    is_kept = lk_item_refill(model, id, result, NULL, 0);
    lk_item_enter(model, id, LK_ITEM_CLAIMED, 0, 0);
    if (!is_kept && was_head) {
        lk_heads_begin(model, id);
    }
    return is_kept;
}

/* The item stays, with its result, for some time. */
static void finish_kept(struct lk_model *model, lk_id id, int64_t until_us) {
    struct lk_item *item = lk_item_at(model, id);

    lk_claims_remove(model, id);
    item->claim = 0;
    (void)lk_item_keep_progress(model, id, (struct lk_slice){NULL, 0});
    lk_item_change_state(model, id, LK_ITEM_DONE, until_us);
    note_item(model, LK_CHANGE_ITEM_DONE, id, 0);
    note_count(model, item->work);
}

/* Removes an item that is, or was, claimed; the claim is about to end. */
static void remove_claimed(struct lk_model *model, lk_id id, enum lk_change_kind kind) {
    struct lk_item *item = lk_item_at(model, id);

    assert(lk_item_is_claimed(item->state));
    lk_claims_remove(model, id);
    lk_item_leave(model, id);
    lk_item_remove(model, id);
    note_item(model, kind, id, 0);
    note_count(model, item->work);
}

static bool has_no_attempt_left(const struct lk_item *item) {
    return item->max_attempts != 0 && item->attempts >= item->max_attempts;
}

/*
 * Ready again, at once or after a delay; or parked. One that is cancelled is removed, and one that
 * was pushed again is what that push has made of it.
 */
static void give_back(struct lk_model *model, lk_id id, enum lk_change_kind kind, bool parks,
                      int64_t due_us, int64_t now_us) {
    struct lk_item *item = lk_item_at(model, id);

    assert(lk_item_is_claimed(item->state));
    if (item->state == LK_ITEM_CANCELLED) {
        remove_claimed(model, id, LK_CHANGE_ITEM_DROPPED);
        return;
    }
    if (item->state == LK_ITEM_AGAIN) { /* as if it were pushed now */
        item->attempts = 0;
        due_us = lk_max(item->rank, now_us);
        parks = false;
    }
    lk_claims_remove(model, id);
    item->claim = 0;
    if (parks) {
        lk_work_at(model, item->work)->counts.parked++;
        lk_item_change_state(model, id, LK_ITEM_PARKED, 0);
        note_item(model, LK_CHANGE_ITEM_PARKED, id, 0);
    } else {
        lk_item_change_state(model, id, due_us > now_us ? LK_ITEM_DELAYED : LK_ITEM_READY, due_us);
        note_item(model, kind, id, 0);
    }
    note_count(model, item->work);
}

void lk_item_lose_claim(struct lk_model *model, lk_id claim, int64_t ended_us) {
    lk_id id = lk_claim_item(model, lk_request_at(model, claim));
    struct lk_item *item = lk_item_at(model, id);

    assert(item->claim == claim);
    item->was_lost = true;
    give_back(model, id, LK_CHANGE_ITEM_FREED, has_no_attempt_left(item), ended_us, ended_us);
    if (item->state == LK_ITEM_PARKED) {
        item->failed_by_loss = true;
    }
}

/* The claimant returns the item. */
static void finish_retry(struct lk_model *model, struct lk_times times,
                         const struct lk_finish *finish, lk_id id) {
    struct lk_item *item = lk_item_at(model, id);
    bool parks = finish->parks || (!finish->is_uncounted && has_no_attempt_left(item));

    if (item->state != LK_ITEM_CANCELLED) {
        lk_work_at(model, item->work)->counts.retried++;
    }
    if (finish->is_uncounted && item->attempts > 0) {
        item->attempts--;
    }
    item->was_lost = false;
    give_back(model, id, LK_CHANGE_ITEM_RETRIED, parks, times.now_us + finish->delay_ms * 1000,
              times.now_us);
}

static void end_claim(struct lk_model *model, struct lk_times times, const struct lk_finish *finish,
                      lk_id id) {
    const struct lk_item *item = lk_item_at(model, id);
    lk_id claim = item->claim;
    int64_t keep_ms = keep_ms_of(item, finish);
    struct lk_released_nodes released;

    lk_released_nodes_of(model, claim, &released);
    lk_request_end(model, claim, LK_CHANGE_RELEASED);
    if (finish->kind == LK_FINISH_DONE) {
        lk_work_at(model, item->work)->counts.done++;
        if (item->state == LK_ITEM_AGAIN) {
            give_back(model, id, LK_CHANGE_ITEM_DONE, false, times.now_us, times.now_us);
        } else if (keep_ms > 0) {
            finish_kept(model, id, times.now_us + keep_ms * 1000);
        } else {
            remove_claimed(model, id, LK_CHANGE_ITEM_DONE);
        }
    } else {
        finish_retry(model, times, finish, id);
    }
    lk_grant_waiters(model, &released, times);
}

/* The item, if the owner that the command names has claimed it; else 0. */
static lk_id find_claimed(const struct lk_model *model, const struct lk_path *path,
                          const struct lk_finish *finish) {
    lk_id id = lk_item_find(model, lk_node_find(model, path));
    const struct lk_model_request *claim;

    if (id == 0 || !lk_item_is_claimed(lk_item_at(model, id)->state)) {
        return 0;
    }
    claim = lk_request_at(model, lk_item_at(model, id)->claim);
    return claim->owner == lk_owner_find(model, finish->owner)
                   && (finish->token == 0 || claim->token == finish->token)
               ? id
               : 0;
}

/* The result, progress or failure that the claimant tells. false: memory is exhausted. */
static bool keep_what_is_said(struct lk_model *model, lk_id id, const struct lk_finish *finish) {
    switch (finish->kind) {
    case LK_FINISH_DONE:
        return keep_ms_of(lk_item_at(model, id), finish) == 0
               || keep_result(model, id, finish->result);
    case LK_FINISH_RETRY:
        return !lk_item_failure_is_given(&finish->failure)
               || lk_item_keep_failure(model, id, &finish->failure);
    case LK_FINISH_PROGRESS:
    default:
        return lk_item_keep_progress(model, id, finish->progress);
    }
}

void lk_step_finish(struct lk_model *model, struct lk_times times, const struct lk_finish *finish) {
    struct lk_item_path item_path;
    struct lk_part part;
    struct lk_target target = {
        .owner = finish->owner, .parts = &part, .part_count = 1, .token = finish->token};
    lk_error error;
    lk_id id;

    if (lk_finish_check(finish, &item_path, &error) != LK_OK) {
        lk_answer_invalid(model, &error);
        return;
    }
    part = (struct lk_part){.path = item_path.path, .mode = LK_EXCLUSIVE};
    if (!lk_changes_reserve(model, 1 + LK_WORK_CHANGES_MAX)
        || (finish->token != 0 && !lk_ended_reserve(&model->ended))) {
        lk_answer_exhausted(model);
        return;
    }
    id = find_claimed(model, &item_path.path, finish);
    if (id == 0) {
        bool is_repeated = finish->kind != LK_FINISH_PROGRESS && finish->token != 0
                           && lk_ended_recalls(&model->ended, &target, times.now_us);
        lk_answer(model, is_repeated ? LK_OK : LK_LOST, 0); /* R3 */
        snprintf(model->text, sizeof model->text, "%s", is_repeated ? "" : LK_TEXT_NOT_CLAIMED);
        return;
    }
    if (!keep_what_is_said(model, id, finish)) {
        lk_answer_exhausted(model);
        return;
    }
    if (finish->kind == LK_FINISH_PROGRESS) {
        note_item(model, LK_CHANGE_ITEM_PROGRESSED, id, 0);
        lk_answer(model, LK_OK, 0);
        model->effects.answer.item = id;
        return;
    }
    if (finish->token != 0) {
        lk_ended_remember(&model->ended, &target, times.now_us);
    }
    end_claim(model, times, finish, id);
    lk_answer(model, LK_OK, 0);
    model->effects.answer.item = id;
}

/* ---- unpark, drop and cancel ---- */

/* The item that a command names, 0 if there is none, and room for one change. false: answered. */
static bool find_named(struct lk_model *model, const struct lk_path *queue, struct lk_slice id,
                       lk_id *ret_item) {
    struct lk_item_path item_path;
    lk_error error;

    if (lk_item_path_make(queue, id, &item_path, &error) != LK_OK) {
        lk_answer_invalid(model, &error);
        return false;
    }
    if (!lk_changes_reserve(model, 1)) {
        lk_answer_exhausted(model);
        return false;
    }
    *ret_item = lk_item_present(model, lk_node_find(model, &item_path.path));
    return true;
}

void lk_step_unpark(struct lk_model *model, const struct lk_unpark *unpark) {
    lk_id id;

    if (!find_named(model, &unpark->queue, unpark->id, &id)) {
        return;
    }
    if (id == 0 || lk_item_at(model, id)->state != LK_ITEM_PARKED) {
        lk_answer(model, LK_LOST, 0);
        snprintf(model->text, sizeof model->text, LK_TEXT_NOT_PARKED);
        return;
    }
    lk_item_at(model, id)->attempts = 0;
    lk_item_at(model, id)->was_lost = false;
    lk_item_change_state(model, id, LK_ITEM_READY, model->now_us);
    note_item(model, LK_CHANGE_ITEM_UNPARKED, id, 0);
    lk_answer(model, LK_OK, 0);
    model->effects.answer.item = id;
}

/* Whether a drop may remove an item in this state. */
static bool may_drop(const struct lk_drop *drop, enum lk_item_state state) {
    return drop->only_parked ? state == LK_ITEM_PARKED : !lk_item_is_claimed(state);
}

void lk_step_drop(struct lk_model *model, const struct lk_drop *drop) {
    lk_id id;

    if (!find_named(model, &drop->queue, drop->id, &id)) {
        return;
    }
    if (id == 0 || !may_drop(drop, lk_item_at(model, id)->state)) {
        lk_answer(model, LK_LOST, 0);
        snprintf(model->text, sizeof model->text, "%s",
                 drop->only_parked ? LK_TEXT_NOT_PARKED : LK_TEXT_NO_ITEM);
        return;
    }
    remove_item(model, id, LK_CHANGE_ITEM_DROPPED);
    lk_answer(model, LK_OK, 0);
    model->effects.answer.item = id;
}

lk_id lk_item_cancel(struct lk_model *model, lk_id id, bool at_once) {
    struct lk_item *item = lk_item_at(model, id);

    if (item->state == LK_ITEM_CLAIMED || item->state == LK_ITEM_AGAIN) {
        lk_item_change_state(model, id, LK_ITEM_CANCELLED, 0);
        if (!at_once) {
            note_item(model, LK_CHANGE_ITEM_CANCELLED, id, 0);
        }
    }
    if (item->state == LK_ITEM_CANCELLED) {
        return item->claim;
    }
    remove_item(model, id, LK_CHANGE_ITEM_DROPPED);
    return 0;
}
