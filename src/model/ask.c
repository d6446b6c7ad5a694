/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ask: a new request (R7, R8, R10, R13, R22) or one that exists already (R3).
 *
 * A cycle of owners (R13) can form with an ask that waits, or that is granted or converted past a
 * waiting request. The asker's search sees these. It can also form unseen: with a grant past a
 * smaller ticket in grant.c; when a lease that covered what its owner waits for (R8) ends, is
 * revoked or weakens; when a weaker request counts where it did not (R7c). So a repeated ask that
 * changes nothing is searched only after one of these.
 */
#include <stdio.h>

#include "model/blockers.h"
#include "model/grant.h"
#include "model/order.h"
#include "model/probe.h"
#include "model/rules.h"
#include "model/sentences.h"
#include "model/steps.h"
#include "model/storage.h"
#include "model/tree.h"

/* The working state of one ask. */
struct asking {
    struct lk_model *model;
    struct lk_times times;
    const struct lk_ask *ask;
    struct lk_probe probe; /* of what is asked for */
    char *note;            /* made first, so that nothing fails later; NULL: none */
};

/* ---- answers ---- */

static uint64_t units_in_use(const struct lk_model *model, const struct lk_probed_part *part) {
    return part->is_there ? lk_node_units_held(lk_node_at(model, part->node)) : 0;
}

static void explain(struct lk_model *model, const struct lk_probe *probe, size_t blockers_max) {
    struct lk_answer *answer = &model->effects.answer;
    size_t max = blockers_max < LK_BLOCKERS_MAX ? blockers_max : LK_BLOCKERS_MAX;

    if (max > 0) {
        answer->in_the_way = lk_explain(model, probe, model->blockers, max);
        answer->blocker_count = answer->in_the_way < max ? answer->in_the_way : max;
    }
}

static void answer_refused(struct asking *asking, lk_outcome outcome, lk_id request,
                           const struct lk_probe *probe) {
    lk_answer(asking->model, outcome, request);
    asking->model->effects.answer.in_use = units_in_use(asking->model, &probe->parts[0]);
    explain(asking->model, probe, asking->ask->blockers_max);
}

/* R15: the values come with the grant, in the order of the ask. */
static void answer_values(struct asking *asking) {
    struct lk_answer *answer = &asking->model->effects.answer;

    answer->value_count = asking->ask->wants_value ? asking->ask->part_count : 0;
    for (size_t i = 0; i < answer->value_count; i++) {
        answer->values[i] = lk_model_value(asking->model, &asking->ask->parts[i].path);
    }
}

/* Answers with the request's present state. */
static void answer_state(struct asking *asking, lk_id id) {
    struct lk_model *model = asking->model;
    uint64_t in_use = units_in_use(model, &asking->probe.parts[0]);

    if (lk_request_at(model, id)->state == LK_STATE_HELD) {
        lk_answer(model, LK_GRANTED, id);
        answer_values(asking);
    } else {
        lk_probe_of_request(model, id, &asking->probe);
        answer_refused(asking, asking->ask->style == LK_TRY ? LK_BUSY : LK_WAITING, id,
                       &asking->probe);
    }
    model->effects.answer.in_use = in_use;
}

static void answer_deadlock(struct lk_model *model, size_t cycle_count, lk_id request) {
    lk_answer(model, LK_DEADLOCK, request);
    model->effects.answer.cycle = model->cycle;
    model->effects.answer.cycle_count = cycle_count;
}

/* ---- deadlines ---- */

static int64_t ttl_of(const struct lk_ask *ask) {
    return ask->ttl_ms != 0 ? ask->ttl_ms : LK_TTL_DEFAULT_MS;
}

/* Sets ttl and deadline of a request that is asked for (R11); returns the deadline. */
static int64_t promise(const struct asking *asking, struct lk_model_request *request) {
    const struct lk_ask *ask = asking->ask;

    request->attended = ask->style == LK_WAIT;
    if (ask->until_us != 0) {
        int64_t left_us = ask->until_us - asking->times.wall_us;
        request->fixed = true;
        lk_request_set_ttl(request, (left_us + 999) / 1000);
        return asking->times.now_us + left_us;
    }
    lk_request_set_ttl(request, ttl_of(ask));
    return asking->times.now_us + lk_request_ttl(request) * 1000;
}

/* R3: a repeated ask sets the deadline again; a fixed deadline does not move (R11). */
static void refresh(struct asking *asking, lk_id id) {
    struct lk_model *model = asking->model;
    struct lk_model_request *request = lk_request_at(model, id);

    request->wants_value = request->wants_value || asking->ask->wants_value;
    if (request->fixed) {
        request->attended = asking->ask->style == LK_WAIT;
        lk_deadlines_move(model, id, lk_request_deadline(model, request));
    } else {
        lk_deadlines_move(model, id, promise(asking, request));
    }
    if (asking->ask->note_given) {
        lk_note_free(model, request->note);
        request->note = asking->note;
        asking->note = NULL;
    }
    lk_change_add(model, LK_CHANGE_REFRESHED, id);
}

/* ---- a new request ---- */

/* `owner` 0: none that the model knows. */
static uint64_t live_of_owner(const struct lk_model *model, lk_id owner) {
    uint64_t here = owner != 0 ? lk_owner_at(model, owner)->live : 0;

    return here + model->owned_elsewhere;
}

static uint64_t live_under_root(const struct lk_root *root) {
    return (uint64_t)root->live + root->live_elsewhere;
}

const char *lk_full_bound(const struct lk_model *model, const struct lk_probe *probe, bool waits) {
    const struct lk_quotas *quotas = &model->quotas;

    if (quotas->live_max != 0 && model->live + model->live_elsewhere >= quotas->live_max) {
        return "live requests in all";
    }
    if (quotas->live_per_owner_max != 0
        && live_of_owner(model, probe->owner) >= quotas->live_per_owner_max) {
        return "live requests of one owner";
    }
    for (size_t i = 0; i < probe->count; i++) {
        const struct lk_probed_part *part = &probe->parts[i];
        lk_id queue = part->is_there ? lk_node_at(model, part->node)->queue : 0;
        if (quotas->live_per_root_max != 0 && part->node != 0
            && live_under_root(lk_root_of(model, part->node)) >= quotas->live_per_root_max) {
            return "live requests under one root";
        }
        if (waits && quotas->waiters_per_path_max != 0 && queue != 0
            && lk_wait_queue_at(model, queue)->waiters_here >= quotas->waiters_per_path_max) {
            return "requests waiting at one path";
        }
    }
    return NULL;
}

void lk_answer_full(struct lk_model *model, const char *bound) {
    lk_answer(model, LK_FULL, 0);
    snprintf(model->text, sizeof model->text, LK_TEXT_BOUND, bound);
}

static lk_id draft(struct asking *asking) {
    struct lk_model *model = asking->model;
    const struct lk_ask *ask = asking->ask;
    lk_id id = lk_request_draft(model, ask->owner, ask->parts, &asking->probe,
                                ask->note_given ? ask->note : (struct lk_slice){NULL, 0});

    if (id != 0) {
        struct lk_model_request *request = lk_request_at(model, id);
        request->id = model->next_id++;
        request->wants_value = ask->wants_value;
        request->ticket = lk_request_next_draw(model, id, asking->times.wall_us);
        lk_probe_of_request(model, id, &asking->probe);
    }
    return id;
}

/* Makes the draft held or waiting; or discards it if it closes a cycle (R13). */
static void enter(struct asking *asking, lk_id id, bool granted) {
    struct lk_model *model = asking->model;
    struct lk_model_request *request = lk_request_at(model, id);
    const struct lk_owner *owner = lk_owner_at(model, request->owner);
    size_t cycle_count;

    request->token = granted ? request->ticket : 0; /* R4 */
    lk_request_enter(model, id, granted ? LK_STATE_HELD : LK_STATE_WAITING,
                     promise(asking, request));
    if (owner->live > 1 && lk_deadlock_search(model, id, &cycle_count)) {
        lk_request_leave(model, id);
        lk_request_discard(model, id);
        answer_deadlock(model, cycle_count, 0);
        return;
    }
    lk_request_keep_draw(model, id, request->ticket);
    lk_change_add(model, granted ? LK_CHANGE_GRANTED : LK_CHANGE_QUEUED, id);
    if (granted) {
        struct lk_released_nodes released = {.owner = request->owner};
        lk_grant_waiters(model, &released,
                         asking->times); /* R8: it may cover what its owner waits for */
    }
    answer_state(asking, id);
    model->effects.answer.created = true;
}

static void ask_new(struct asking *asking) {
    struct lk_model *model = asking->model;
    bool granted = lk_probe_check(model, &asking->probe, NULL) == LK_VERDICT_GRANT;
    const char *bound;
    lk_id id;

    if (!granted && asking->ask->style == LK_TRY) {
        answer_refused(asking, LK_BUSY, 0, &asking->probe);
        return;
    }
    bound = lk_full_bound(model, &asking->probe, !granted);
    if (bound != NULL) {
        lk_answer_full(model, bound);
        return;
    }
    id = draft(asking);
    if (id == 0) {
        lk_answer_exhausted(model);
        return;
    }
    enter(asking, id, granted);
}

/* ---- a request that is there ---- */

/* How an ask compares with the request that exists. */
enum change { UNCHANGED, NO_STRONGER, STRONGER };

static const struct lk_part_entry *entry_at_node(const struct lk_model *model, lk_id request,
                                                 lk_id node) {
    lk_id at = lk_request_at(model, request)->first_entry;

    while (lk_part_entry_at(model, at)->node != node) {
        at = lk_part_entry_at(model, at)->next_entry;
    }
    return lk_part_entry_at(model, at);
}

static enum change compare(const struct asking *asking, lk_id id) {
    enum change change = UNCHANGED;

    for (size_t i = 0; i < asking->probe.count; i++) {
        const struct lk_probed_part *asked = &asking->probe.parts[i];
        const struct lk_part_entry *entry = entry_at_node(asking->model, id, asked->node);
        struct lk_part present = {.mode = lk_mode_of_units(entry->units), .units = entry->units};
        struct lk_part wanted = {.mode = lk_mode_of_units(asked->units), .units = asked->units};
        if (lk_part_is_stronger(&present, &wanted)) {
            return STRONGER; /* R9: one part is enough */
        }
        if (entry->units != asked->units || entry->limit != asked->limit) {
            change = NO_STRONGER;
        }
    }
    return change;
}

/* Converts a request in its present state; `ticket` and `token` are what it has afterwards. */
static void convert(struct asking *asking, lk_id id, uint64_t ticket, uint64_t token) {
    struct lk_model *model = asking->model;
    struct lk_model_request *request = lk_request_at(model, id);
    enum lk_state state = (enum lk_state)request->state;

    assert((state == LK_STATE_HELD) == (token != 0));
    assert(ticket >= request->ticket && token >= request->token); /* R4 */
    model->may_hide_cycle = true;
    lk_request_detach(model, id);
    lk_request_convert(model, id, asking->ask->parts, asking->ask->part_count);
    if (ticket != request->ticket) {
        lk_order_remove(model, LK_ORDER_REQUESTS, &model->requests_by_ticket, id);
        request->ticket = ticket;
        lk_order_add(model, LK_ORDER_REQUESTS, &model->requests_by_ticket, id);
    }
    request->token = token;
    lk_request_attach(model, id, state);
}

/* Grants what waits after a conversion, and the owner's requests that it may cover now. */
static void grant_waiters_around(struct asking *asking, lk_id id) {
    struct lk_released_nodes released;

    lk_released_nodes_of(asking->model, id, &released);
    released.owner = lk_request_at(asking->model, id)->owner;
    lk_grant_waiters(asking->model, &released, asking->times);
}

/* R9: restores the former parts, as if the ask had not been made. */
static void convert_back(struct lk_model *model, lk_id id, const struct lk_probe *former,
                         uint64_t token) {
    struct lk_model_request *request = lk_request_at(model, id);
    lk_id at;

    assert(request->state == LK_STATE_HELD && former->count == request->entry_count);
    lk_request_detach(model, id);
    at = request->first_entry;
    for (size_t i = 0; i < former->count; i++, at = lk_part_entry_at(model, at)->next_entry) {
        lk_part_entry_at(model, at)->limit = former->parts[i].limit;
        lk_part_entry_at(model, at)->units = former->parts[i].units;
    }
    request->token = token;
    lk_request_attach(model, id, LK_STATE_HELD);
}

/* R9: shared to exclusive, or more units, of a lease. Never waits. */
static void strengthen_held(struct asking *asking, lk_id id) {
    struct lk_model *model = asking->model;
    struct lk_model_request *request = lk_request_at(model, id);
    struct lk_probe former;
    uint64_t former_token = request->token;
    size_t cycle_count;

    asking->probe.self = id;
    asking->probe.ticket = LK_TICKET_PASSES;
    if (lk_probe_check(model, &asking->probe, NULL) != LK_VERDICT_GRANT) {
        refresh(asking, id);
        answer_refused(asking, LK_BUSY, id, &asking->probe);
        return;
    }
    lk_probe_of_request(model, id, &former);
    convert(asking, id, request->ticket, lk_request_next_draw(model, id, asking->times.wall_us));
    if (lk_deadlock_search(model, id, &cycle_count)) {
        convert_back(model, id, &former, former_token);
        answer_deadlock(model, cycle_count, id);
        return;
    }
    lk_request_keep_draw(model, id, request->token);
    lk_change_add(model, LK_CHANGE_CONVERTED, id);
    refresh(asking, id);
    grant_waiters_around(asking, id);
    answer_state(asking, id);
}

static void ask_held(struct asking *asking, lk_id id, enum change change) {
    struct lk_model *model = asking->model;
    const struct lk_model_request *request = lk_request_at(model, id);

    if (change == STRONGER) {
        strengthen_held(asking, id);
        return;
    }
    if (change == NO_STRONGER) {
        convert(asking, id, request->ticket, request->token);
        lk_change_add(model, LK_CHANGE_CONVERTED, id);
    }
    refresh(asking, id);
    if (change == NO_STRONGER) {
        grant_waiters_around(asking, id);
    }
    answer_state(asking, id);
}

/* R13: withdraws a request in the queue if it closes a cycle. Returns whether it was withdrawn. */
static bool withdraw_if_deadlocked(struct asking *asking, lk_id id) {
    struct lk_model *model = asking->model;
    struct lk_released_nodes released;
    size_t cycle_count;

    if (!lk_deadlock_search(model, id, &cycle_count)) {
        return false;
    }
    lk_released_nodes_of(model, id, &released);
    lk_request_end(model, id, LK_CHANGE_WITHDRAWN);
    lk_grant_waiters(model, &released, asking->times);
    answer_deadlock(model, cycle_count, id);
    return true;
}

/*
 * Whether a try for more, of a request in the queue, can be granted at once. If not, the request is
 * not changed.
 */
static bool is_grantable_now(struct asking *asking, lk_id id) {
    asking->probe.self = id;
    asking->probe.ticket = LK_TICKET_NEWEST;
    return lk_probe_check(asking->model, &asking->probe, NULL) == LK_VERDICT_GRANT;
}

static void ask_waiting(struct asking *asking, lk_id id, enum change change) {
    struct lk_model *model = asking->model;
    const struct lk_model_request *request = lk_request_at(model, id);

    if (change == STRONGER && asking->ask->style == LK_TRY && !is_grantable_now(asking, id)) {
        change = UNCHANGED;
    }
    if (change != UNCHANGED) {
        uint64_t ticket = change == STRONGER ? lk_request_draw(model, id, asking->times.wall_us)
                                             : request->ticket;
        convert(asking, id, ticket, 0);
        lk_change_add(model, LK_CHANGE_CONVERTED, id);
    }
    refresh(asking, id);
    if (change != UNCHANGED) {
        grant_waiters_around(asking, id);
    }
    if ((change != UNCHANGED || model->may_hide_cycle) && withdraw_if_deadlocked(asking, id)) {
        return; /* also when it has just been granted, past a request that its owner waits for */
    }
    answer_state(asking, id);
}

static void ask_again(struct asking *asking, lk_id id) {
    struct lk_model *model = asking->model;
    const struct lk_model_request *request = lk_request_at(model, id);
    enum change change;

    if (request->revoked) {
        lk_answer(model, LK_LOST, id);
        snprintf(model->text, sizeof model->text, LK_TEXT_BROKEN_HELD);
        return;
    }
    if (asking->ask->note_given && !lk_note_make(model, asking->ask->note, &asking->note)) {
        lk_answer_exhausted(model);
        return;
    }
    change = compare(asking, id);
    if (request->state == LK_STATE_HELD) {
        ask_held(asking, id, change);
    } else {
        ask_waiting(asking, id, change);
    }
    lk_note_free(model, asking->note);
}

/* ---- the step ---- */

static bool check_until(struct lk_model *model, struct lk_times times, const struct lk_ask *ask) {
    if (ask->until_us == 0
        || (ask->until_us > times.wall_us
            && ask->until_us - times.wall_us <= LK_TTL_MAX_MS * 1000)) {
        return true;
    }
    lk_answer(model, LK_INVALID, 0);
    snprintf(model->text, sizeof model->text, LK_TEXT_FIXED_END);
    return false;
}

static bool check(struct lk_model *model, struct lk_times times, const struct lk_ask *ask) {
    if (!lk_check_names(model, ask->owner, ask->parts, ask->part_count)
        || !lk_check_ttl(model, ask->ttl_ms) || !check_until(model, times, ask)) {
        return false;
    }
    if (ask->note_given && ask->note.size > LK_NOTE_BYTES_MAX) {
        lk_answer(model, LK_INVALID, 0);
        snprintf(model->text, sizeof model->text, "R19: a note has at most %d bytes, not %zu",
                 LK_NOTE_BYTES_MAX, ask->note.size);
        return false;
    }
    return true;
}

void lk_step_ask(struct lk_model *model, struct lk_times times, const struct lk_ask *ask) {
    struct asking asking;
    lk_id request;

    asking.model = model; /* one by one: the probe is large and is filled in below */
    asking.times = times;
    asking.ask = ask;
    asking.note = NULL;
    if (!check(model, times, ask)) {
        return;
    }
    if (!lk_changes_reserve(model, 5)) {
        lk_answer_exhausted(model);
        return;
    }
    lk_probe_of_ask(model, lk_owner_find(model, ask->owner), ask->parts, ask->part_count,
                    &asking.probe);
    request = lk_request_find(model, &asking.probe);
    if (request != 0) {
        ask_again(&asking, request);
    } else {
        ask_new(&asking);
    }
}
