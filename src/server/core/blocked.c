/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that are answered later: requests that wait for their grant (R10). A blocked call keeps its
 * request alive, and ends when the request is granted or ends, or when its own time is over.
 * (Claims: claim_waiters.c; events and breaks: follow.c.)
 */
#include <stdlib.h>

#include "base/hash.h"
#include "base/minmax.h"
#include "server/core/core_internal.h"

/* A blocked request is refreshed half its ttl before its deadline, but at most so long before. */
#define REFRESH_AHEAD_US_MAX INT64_C(10000000)
#define REFRESH_AGAIN_US INT64_C(10000)

/* ---- making and freeing ---------------------------------------------------------------------- */

bool lk_blocked_reserve(struct lk_core *core, struct lk_session *session,
                        const struct lk_call *call) {
    enum { TEXT_MAX = LK_PATH_BYTES_MAX + LK_IDENTITY_BYTES_MAX + LK_NOTE_BYTES_MAX };

    if (core->stats.blocked >= core->config.blocked_max) {
        lk_core_refuse(core, session, call->tag, LK_FULL,
                       "R22: the bound on blocked calls is reached");
        return false;
    }
    if (core->spare_blocked == NULL) {
        core->spare_blocked = malloc(sizeof *core->spare_blocked + TEXT_MAX);
    }
    if (core->spare_blocked == NULL || !lk_timer_reserve(core, 2)) {
        lk_core_refuse(core, session, call->tag, LK_INTERNAL,
                       "memory is exhausted; nothing was changed");
        return false;
    }
    return true;
}

static int64_t instant_after(const struct lk_core *core, int64_t wait_ms) {
    return wait_ms >= (LK_NEVER - core->times.now_us) / 1000 ? LK_NEVER
                                                             : core->times.now_us + wait_ms * 1000;
}

static uint64_t hash_of(uint64_t tag) {
    return lk_hash_number(0, tag); /* the listeners choose tags, not their clients */
}

struct lk_blocked *lk_blocked_new(struct lk_core *core, struct lk_session *session,
                                  const struct lk_call *call) {
    struct lk_blocked *blocked = core->spare_blocked;

    core->spare_blocked = NULL;
    *blocked = (struct lk_blocked){
        .timer = {.due_us = LK_NEVER},
        .session = session,
        .tag = call->tag,
        .until_us = instant_after(core, call->wait_ms),
        .blocked_for = call->kind == LK_CALL_EVENTS        ? LK_BLOCKED_FOR_EVENT
                       : call->kind == LK_CALL_REVOKED     ? LK_BLOCKED_FOR_BREAK
                       : lk_call_is(call, LK_COMMAND_TAKE) ? LK_BLOCKED_FOR_ITEM
                                                           : LK_BLOCKED_FOR_GRANT,
        .ends_withdrawn = call->ends_withdrawn,
        .is_bound = call->is_bound,
    };
    lk_link_init(&blocked->in_waiters);
    lk_link_init(&blocked->in_session);
    lk_link_append(&session->blocked, &blocked->in_session);
    lk_hash_table_add(&session->blocked_by_tag, &blocked->by_tag, hash_of(call->tag));
    core->stats.blocked++;
    core->stats.blocked_for[blocked->blocked_for]++;
    return blocked;
}

struct lk_blocked *lk_blocked_find(const struct lk_session *session, uint64_t tag) {
    struct lk_hash_entry *entry = lk_hash_table_first(&session->blocked_by_tag, hash_of(tag));

    for (; entry != NULL; entry = lk_hash_entry_next(entry)) {
        struct lk_blocked *blocked = LK_LINK_ITEM(entry, struct lk_blocked, by_tag);
        if (blocked->tag == tag) {
            return blocked;
        }
    }
    return NULL;
}

void lk_blocked_free(struct lk_core *core, struct lk_blocked *blocked) {
    lk_timer_set(core, &blocked->timer, LK_NEVER);
    lk_link_remove(&blocked->in_waiters);
    lk_link_remove(&blocked->in_session);
    lk_hash_table_remove(&blocked->session->blocked_by_tag, &blocked->by_tag);
    core->stats.blocked--;
    core->stats.blocked_for[blocked->blocked_for]--;
    if (blocked->binding != NULL) {
        lk_binding_drop(core, blocked->binding);
    }
    if (blocked->queue != NULL) {
        lk_claim_waiters_leave(core, blocked->queue);
    }
    if (blocked->is_following) {
        lk_event_log_unfollow(core);
    }
    free(blocked);
}

/* ---- asks ------------------------------------------------------------------------------------ */

/* Sets the timer to the end of the wait or to the next refresh, whichever is earlier. */
static void set_due(struct lk_core *core, struct lk_blocked *blocked) {
    lk_ref request = blocked->binding->request;
    struct lk_record *record = &core->record;
    int64_t refresh_us = LK_NEVER;

    lk_model_record(core->model, request, record);
    if (!record->fixed) {
        refresh_us = record->deadline_us - lk_min(record->ttl_ms * 500, REFRESH_AHEAD_US_MAX);
        if (refresh_us <= core->times.now_us) { /* the last refresh failed */
            refresh_us = core->times.now_us + REFRESH_AGAIN_US;
        }
    }
    lk_timer_set(core, &blocked->timer, lk_min(blocked->until_us, refresh_us));
}

/* R15: the values come in the order of this ask, which need not be that of the request (R3). */
static void note_places(struct lk_core *core, const struct lk_ask *ask, lk_ref request,
                        struct lk_blocked *blocked) {
    const struct lk_record *record = &core->record;

    lk_model_record(core->model, request, &core->record);
    for (size_t i = 0; i < ask->part_count; i++) {
        uint8_t at = 0;

        while (!lk_path_equal(&record->parts[at].path, &ask->parts[i].path)) {
            at++;
        }
        blocked->places[i] = at;
    }
}

void lk_blocked_ask(struct lk_core *core, struct lk_session *session, const struct lk_call *call,
                    const struct lk_answer *answer) {
    struct lk_blocked *blocked = lk_blocked_new(core, session, call);

    blocked->created = answer->created;
    blocked->wants_value = call->command.ask.wants_value;
    if (blocked->wants_value) {
        note_places(core, &call->command.ask, answer->request, blocked);
    }
    blocked->blockers_max = call->command.ask.blockers_max;
    blocked->binding = lk_binding_make(core, answer->request);
    lk_link_append(&blocked->binding->blocked, &blocked->in_waiters);
    set_due(core, blocked);
}

/* Answers the blocked call and frees it. */
static void conclude(struct lk_core *core, struct lk_blocked *blocked,
                     const struct lk_answer *answer) {
    struct lk_session *session = blocked->session;
    uint64_t tag = blocked->tag;

    lk_blocked_free(core, blocked);
    lk_core_answer(core, session, tag, answer);
}

static struct lk_answer granted_answer(struct lk_core *core, const struct lk_blocked *blocked) {
    lk_ref request = blocked->binding->request;
    const struct lk_record *record = &core->record;
    struct lk_answer answer = {
        .outcome = LK_GRANTED,
        .request = request,
        .created = blocked->created,
        .text = "",
    };

    lk_model_record(core->model, request, &core->record);
    answer.in_use = lk_model_units_held(core->model, &record->parts[0].path);
    answer.value_count = blocked->wants_value ? record->part_count : 0;
    for (size_t i = 0; i < answer.value_count; i++) {
        answer.values[i] = lk_model_value(core->model, &record->parts[blocked->places[i]].path);
    }
    return answer;
}

static struct lk_answer ended_answer(struct lk_core *core, const struct lk_effects *effects,
                                     const struct lk_change *change) {
    struct lk_answer answer = {.outcome = LK_LOST, .text = ""};

    lk_model_record(core->model, change->request, &core->record);
    switch (change->kind) {
    case LK_CHANGE_BROKEN:
        answer.text = "R12: an administrator has broken this request";
        break;
    case LK_CHANGE_PERISHED:
        if (core->record.fixed) {
            answer.outcome = LK_TIMEOUT;
        } else {
            answer.outcome = LK_UNAVAILABLE;
            answer.text =
                "the request expired while the service or its connection was away; ask again";
        }
        break;
    default:
        if (effects->answer.outcome == LK_DEADLOCK) {
            return effects->answer;
        }
        answer.text = "another call of its owner has withdrawn this request";
        break;
    }
    return answer;
}

void lk_blocked_on_change(struct lk_core *core, const struct lk_effects *effects,
                          const struct lk_change *change) {
    struct lk_binding *binding = lk_binding_find(core, change->request);
    bool is_grant = change->kind == LK_CHANGE_GRANTED;
    bool is_end = change->kind == LK_CHANGE_RELEASED || change->kind == LK_CHANGE_WITHDRAWN
                  || change->kind == LK_CHANGE_PERISHED || change->kind == LK_CHANGE_BROKEN;

    if (binding == NULL || (!is_grant && !is_end)) {
        return;
    }
    if (is_end) {
        lk_binding_unbind(core, binding);
    }
    while (!lk_link_is_alone(&binding->blocked)) {
        struct lk_blocked *blocked =
            LK_LINK_ITEM(binding->blocked.next, struct lk_blocked, in_waiters);
        bool is_last =
            binding->session == NULL && binding->blocked.next == binding->blocked.previous;
        struct lk_answer answer =
            is_grant ? granted_answer(core, blocked) : ended_answer(core, effects, change);

        conclude(core, blocked, &answer);
        if (is_last) {
            return; /* the binding was freed with its last call */
        }
    }
    lk_binding_drop(core, binding);
}

/* Asks again for the same request, which changes nothing but its deadline. */
static void refresh(struct lk_core *core, struct lk_binding *binding) {
    lk_ref request = binding->request;
    char owner[LK_IDENTITY_BYTES_MAX];
    struct lk_target target = lk_core_target(core, request, owner);
    struct lk_command command = {
        .kind = LK_COMMAND_ASK,
        .ask = {.owner = target.owner,
                .parts = target.parts,
                .part_count = target.part_count,
                .style = LK_WAIT,
                .ttl_ms = core->record.ttl_ms},
    };

    if (lk_core_step(core, &command) == NULL || lk_binding_find(core, request) != binding) {
        return;
    }
    for (struct lk_link *at = binding->blocked.next; at != &binding->blocked; at = at->next) {
        set_due(core, LK_LINK_ITEM(at, struct lk_blocked, in_waiters));
    }
}

/* Ends the request that the call queued. false: the model was given up. */
static bool withdraw(struct lk_core *core, lk_ref request) {
    char owner[LK_IDENTITY_BYTES_MAX];
    struct lk_command command = {.kind = LK_COMMAND_RELEASE,
                                 .release.target = lk_core_target(core, request, owner)};

    return lk_core_step(core, &command) != NULL;
}

static void time_out(struct lk_core *core, struct lk_blocked *blocked) {
    struct lk_session *session = blocked->session;
    struct lk_blocker blockers[LK_BLOCKERS_NAMED_MAX];
    struct lk_answer answer = {.outcome = LK_TIMEOUT, .text = ""};
    lk_ref request = blocked->binding != NULL ? blocked->binding->request : 0;
    bool is_withdrawn = blocked->created;
    uint64_t tag = blocked->tag;
    size_t count = blocked->blockers_max;

    count = count < LK_BLOCKERS_NAMED_MAX ? count : LK_BLOCKERS_NAMED_MAX;
    if (request != 0 && count > 0) {
        answer.in_the_way = lk_model_blockers(core->model, request, blockers, count);
        answer.blocker_count = answer.in_the_way < count ? answer.in_the_way : count;
        answer.blockers = blockers;
    }
    lk_blocked_free(core, blocked);
    if (request != 0 && is_withdrawn && !withdraw(core, request)) {
        lk_core_refuse(core, session, tag, LK_UNAVAILABLE,
                       "the decision could not be written; ask again");
        return;
    }
    lk_core_answer(core, session, tag, &answer);
}

void lk_blocked_due(struct lk_core *core, struct lk_blocked *blocked) {
    if (blocked->is_following) {
        lk_follower_answer(core, blocked);
    } else if (blocked->blocked_for == LK_BLOCKED_FOR_BREAK) {
        lk_break_waiter_answer(core, blocked);
    } else if (blocked->until_us <= core->times.now_us) {
        time_out(core, blocked);
    } else {
        lk_timer_set(core, &blocked->timer, blocked->until_us);
        refresh(core, blocked->binding);
    }
}

/*
 * R10: no wait keeps the request alive any more. It stays in the queue, like a request made with
 * QUEUE.
 */
static void leave_wait(struct lk_core *core, lk_ref request) {
    char owner[LK_IDENTITY_BYTES_MAX];
    struct lk_command command = {
        .kind = LK_COMMAND_LEAVE,
        .leave = {.target = lk_core_target(core, request, owner), .is_of_wait = true},
    };

    (void)lk_core_step(core, &command);
}

void lk_blocked_cancel(struct lk_core *core, struct lk_blocked *blocked, bool is_withdrawn) {
    const struct lk_binding *binding = blocked->binding;
    lk_ref request = binding != NULL ? binding->request : 0;
    bool ends = is_withdrawn && blocked->created;
    bool is_last = binding != NULL && binding->blocked.next == binding->blocked.previous;
    bool perishes = binding != NULL && binding->session == blocked->session; /* R18 */

    lk_blocked_free(core, blocked);
    if (request != 0 && ends) {
        (void)withdraw(core, request);
    } else if (request != 0 && is_last && !perishes) {
        leave_wait(core, request);
    }
}

void lk_blocked_refuse_all(struct lk_core *core, lk_outcome outcome, const char *text) {
    for (struct lk_link *at = core->sessions.next; at != &core->sessions; at = at->next) {
        struct lk_session *session = LK_LINK_ITEM(at, struct lk_session, all);

        while (!lk_link_is_alone(&session->blocked)) {
            struct lk_blocked *blocked =
                LK_LINK_ITEM(session->blocked.next, struct lk_blocked, in_session);
            uint64_t tag = blocked->tag;

            lk_blocked_free(core, blocked);
            lk_core_refuse(core, session, tag, outcome, text);
        }
    }
}

bool lk_core_has_ticket(const struct lk_core *core, const struct lk_ask *ask, uint64_t ticket) {
    lk_ref request = lk_model_find(core->model, ask->owner, ask->parts, ask->part_count);
    struct lk_record record;

    if (request == 0) {
        return false;
    }
    lk_model_record(core->model, request, &record);
    return record.ticket == ticket;
}
