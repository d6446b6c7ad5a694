/* SPDX-License-Identifier: Apache-2.0 */
/* Calls, and the batches that their answers depend on. */
#include "server/core/core.h"

#include <stdlib.h>

#include "base/error.h"
#include "server/core/core_internal.h"

#define TRY_WRITE_AGAIN_US INT64_C(1000000)

/* ---- making ---------------------------------------------------------------------------------- */

static uint32_t or_default(uint32_t value, uint32_t otherwise) {
    return value != 0 ? value : otherwise;
}

static void configure(struct lk_core *core, const struct lk_core_config *config) {
    core->config = *config;
    core->config.blocked_max = or_default(config->blocked_max, LK_CORE_BLOCKED_MAX_DEFAULT);
    if (config->batch_bytes_max == 0) {
        core->config.batch_bytes_max = LK_CORE_BATCH_BYTES_MAX_DEFAULT;
    }
    lk_core_bound(core, &(struct lk_core_bounds){config->quotas, config->value_bytes_max,
                                                 config->event_bytes_max, config->sessions_max});
    (void)strncpy(core->epoch, config->epoch, LK_CORE_EPOCH_BYTES_MAX);
    core->config.epoch = core->epoch;
}

struct lk_core *lk_core_new(const struct lk_core_config *config) {
    struct lk_core *core = calloc(1, sizeof *core);

    if (core == NULL) {
        return NULL;
    }
    configure(core, config);
    lk_sessions_init(core);
    lk_waiting_queues_init(&core->queues, config->hash_seed);
    core->collecting = 1;
    core->audit_first = 1;
    core->event_log.has_missed = true;
    lk_tally_begin(&core->tally);
    if (!lk_collection_init(&core->collection)) {
        lk_core_free(core);
        return NULL;
    }
    if (config->is_ephemeral) {
        struct lk_model_config model_config = lk_core_model_config(core, &core->times);
        core->model = lk_model_new(&model_config);
        core->audit = lk_audit_new();
        if (core->model == NULL || core->audit == NULL) {
            lk_core_free(core);
            return NULL;
        }
    }
    return core;
}

struct lk_model_config lk_core_model_config(const struct lk_core *core,
                                            const struct lk_times *times) {
    return (struct lk_model_config){
        .quotas = core->config.quotas,
        .hash_seed = core->config.hash_seed,
        .wall_ahead_us = times->wall_us - times->now_us,
    };
}

static void free_bindings(struct lk_core *core) {
    for (size_t i = 0; i < core->binding_capacity; i++) {
        if (core->bindings[i] != NULL) {
            free(core->bindings[i]);
        }
    }
    free(core->bindings);
    free(core->spare_binding);
}

void lk_core_free(struct lk_core *core) {
    if (core == NULL) {
        return;
    }
    assert(core->stats.sessions == 0);
    free_bindings(core);
    lk_event_log_done(&core->event_log);
    free(core->spare_blocked);
    free(core->timers);
    lk_collection_done(&core->collection);
    lk_contention_clear(&core->contention);
    lk_waiting_queues_done(&core->queues);
    lk_model_free(core->model);
    lk_audit_free(core->audit);
    free(core);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Fills in the fields common to all replies, and hands the reply to the listener. */
static void send(struct lk_core *core, struct lk_session *session, uint64_t tag, uint64_t batch,
                 struct lk_reply *reply) {
    reply->model = core->model;
    reply->times = &core->times;
    reply->audit = core->audit;
    reply->audit_first = core->audit_first;
    reply->leader = lk_core_leader(core);
    core->tally.answers[reply->answer->outcome]++;
    lk_core_hold_back(core, session, batch);
    session->ops->answer(session->peer, tag, batch, reply);
}

void lk_core_reply(struct lk_core *core, struct lk_session *session, uint64_t tag,
                   struct lk_reply *reply) {
    send(core, session, tag, lk_core_depends_on(core), reply);
}

void lk_core_answer(struct lk_core *core, struct lk_session *session, uint64_t tag,
                    const struct lk_answer *answer) {
    struct lk_reply reply = {.answer = answer};

    lk_core_reply(core, session, tag, &reply);
}

void lk_core_refuse(struct lk_core *core, struct lk_session *session, uint64_t tag,
                    lk_outcome outcome, const char *text) {
    const struct lk_answer answer = {.outcome = outcome, .text = text};

    lk_core_answer(core, session, tag, &answer);
}

/* ---- steps ----------------------------------------------------------------------------------- */

const struct lk_effects *lk_core_step(struct lk_core *core, struct lk_command *command) {
    const struct lk_effects *effects;
    uint64_t generation = core->generation;

    command->times = core->times;
    effects = lk_model_step(core->model, command);
    lk_tally_step(core, effects);
    if (!core->config.is_ephemeral) {
        lk_collect_step(&core->collection, core->model, command, effects);
    }
    if (command->kind == LK_COMMAND_BREAK) {
        lk_core_audit_break(core, &command->broken, effects);
    }
    lk_event_log_add(core, command, effects);
    if (!core->config.is_ephemeral && core->collection.is_incomplete) {
        lk_core_drop_model(core, "memory is exhausted");
        return NULL;
    }
    for (size_t i = 0; i < effects->change_count && core->generation == generation; i++) {
        const struct lk_change *change = &effects->changes[i];

        if (change->kind <= LK_CHANGE_BROKEN) {
            lk_blocked_on_change(core, effects, change);
        }
        if (core->queues.count > 0) {
            lk_claim_waiters_on_change(core, change);
        }
    }
    return effects;
}

bool lk_core_tick_model(struct lk_core *core) {
    struct lk_command tick = {.kind = LK_COMMAND_TICK};

    return lk_core_step(core, &tick) != NULL;
}

bool lk_core_apply_deadlines(struct lk_core *core) {
    return lk_model_next_deadline(core->model) > core->times.now_us || lk_core_tick_model(core);
}

void lk_core_serve_waiters(struct lk_core *core) {
    lk_claim_waiters_drain(core);
    lk_break_waiters_drain(core);
    lk_event_log_serve(core);
}

void lk_core_bind(struct lk_core *core, struct lk_session *session, lk_ref request) {
    struct lk_binding *binding = lk_binding_make(core, request);

    if (binding->session != session) {
        lk_binding_bind(core, binding, session);
        if (!core->config.is_ephemeral) {
            lk_collect_request(&core->collection, core->model, request);
        }
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

void lk_core_refuse_unwritten(struct lk_core *core, struct lk_session *session, uint64_t tag) {
    lk_core_refuse(core, session, tag, LK_UNAVAILABLE,
                   "the decision could not be written, or it is unknown whether it was written; "
                   "ask again");
}

static void refuse_exhausted(struct lk_core *core, struct lk_session *session,
                             const struct lk_call *call) {
    lk_core_refuse(core, session, call->tag, LK_INTERNAL,
                   "memory is exhausted; nothing was changed");
}

static bool waits(const struct lk_call *call) {
    const struct lk_command *command = &call->command;

    return call->wait_ms > 0
           && (command->kind == LK_COMMAND_TAKE
               || (command->kind == LK_COMMAND_ASK && command->ask.style == LK_WAIT));
}

/* Reserves all that the command may need after its step, or refuses the call. */
static bool reserve(struct lk_core *core, struct lk_session *session, const struct lk_call *call) {
    if (!lk_core_has_room(core, &call->command)) {
        lk_core_refuse(core, session, call->tag, LK_FULL,
                       "the service's bound on the size of values and items is reached");
        return false;
    }
    if (waits(call) && !lk_blocked_reserve(core, session, call)) {
        return false;
    }
    if ((waits(call) || call->is_bound) && !lk_bindings_reserve(core)) {
        refuse_exhausted(core, session, call);
        return false;
    }
    return true;
}

/* Answers with the model's decision, or blocks the call. */
static void conclude(struct lk_core *core, struct lk_session *session, const struct lk_call *call,
                     const struct lk_answer *answer) {
    bool is_take = call->command.kind == LK_COMMAND_TAKE;

    if (is_take && answer->outcome == LK_GRANTED) {
        const struct lk_taker taker = {session, call->tag, call->claims, call->is_bound};
        lk_core_answer_take(core, &taker, &call->command.take, answer);
        return;
    }
    if (call->is_bound && (answer->outcome == LK_GRANTED || answer->outcome == LK_WAITING)) {
        lk_core_bind(core, session, answer->request);
    }
    if (waits(call) && !is_take && answer->outcome == LK_WAITING) {
        lk_blocked_ask(core, session, call, answer);
    } else if (waits(call) && is_take && answer->outcome == LK_BUSY) {
        if (!lk_claim_waiters_block(core, session, call)) {
            refuse_exhausted(core, session, call);
        }
    } else {
        lk_core_answer(core, session, call->tag, answer);
    }
}

/* R12: makes the holder of the token the owner that the call did not name, or answers the call. */
static bool name_holder(struct lk_core *core, struct lk_session *session, struct lk_call *call,
                        char holder[LK_IDENTITY_BYTES_MAX]) {
    if (!lk_core_apply_deadlines(core)) {
        lk_core_refuse_unwritten(core, session, call->tag);
        return false;
    }
    if (!lk_core_name_holder(core, &call->command, holder)) {
        lk_core_refuse(core, session, call->tag, LK_LOST,
                       "no lease there has this token: it has ended, or never was");
        return false;
    }
    if (!lk_core_is_of_user(core, call)) {
        lk_core_refuse(core, session, call->tag, LK_DENIED,
                       "the lease with this token belongs to another user, or to none");
        return false;
    }
    return true;
}

static void call_command(struct lk_core *core, struct lk_session *session, struct lk_call *call) {
    struct lk_command *command = &call->command;
    char holder[LK_IDENTITY_BYTES_MAX];
    const struct lk_effects *effects;

    if (lk_core_refuses_new(core, session, call)
        || (command->kind == LK_COMMAND_BREAK && !lk_core_find_broken(core, session, call))
        || !reserve(core, session, call)
        || (call->is_by_token && !name_holder(core, session, call, holder))) {
        return;
    }
    if (call->is_bound) {
        lk_binding_set_ttl(command);
    }
    if (call->ticket != 0
        && (!lk_core_apply_deadlines(core)
            || !lk_core_has_ticket(core, &command->ask, call->ticket))) {
        lk_core_refuse(core, session, call->tag, LK_LOST,
                       "R12: no request of this owner and these paths lives under that ticket");
        return;
    }
    effects = lk_core_step(core, command);
    if (effects == NULL) {
        lk_core_refuse_unwritten(core, session, call->tag);
    } else {
        conclude(core, session, call, &effects->answer);
    }
}

/*
 * While writes fail, clients may stop sending calls that write. INFO therefore starts a write that
 * changes nothing, to find out whether writing is possible again.
 */
static void try_write(struct lk_core *core) {
    if (core->stats.cannot_write && core->model != NULL && !core->config.is_ephemeral
        && core->try_write_after_us <= core->times.now_us) {
        core->try_write_after_us = core->times.now_us + TRY_WRITE_AGAIN_US;
        lk_collect_probe(&core->collection);
    }
}

/* Answers a query from the model, if overdue deadlines could be applied (`is_current`). */
static void call_read(struct lk_core *core, struct lk_session *session, const struct lk_call *call,
                      bool is_current) {
    const struct lk_answer answer = {.outcome = LK_OK, .text = ""};

    if (is_current) {
        lk_core_answer(core, session, call->tag, &answer);
    } else {
        lk_core_refuse_unwritten(core, session, call->tag);
    }
}

static void call_get(struct lk_core *core, struct lk_session *session, const struct lk_call *call) {
    struct lk_answer answer = {.outcome = LK_NONE, .text = ""};

    if (!lk_core_apply_deadlines(core)) {
        lk_core_refuse_unwritten(core, session, call->tag);
        return;
    }
    if (lk_model_value(core->model, &call->selection.path) != 0) {
        answer.outcome = LK_OK;
    }
    lk_core_answer(core, session, call->tag, &answer);
}

/* INFO is answered even while nothing can be written: that is when it matters most. */
static void report(struct lk_core *core, struct lk_session *session, uint64_t tag,
                   lk_outcome outcome, const char *text) {
    const struct lk_answer answer = {.outcome = outcome, .text = text};
    struct lk_reply reply = {.answer = &answer};

    send(core, session, tag, 0, &reply);
}

static void call_info(struct lk_core *core, struct lk_session *session,
                      const struct lk_call *call) {
    if (!lk_core_apply_deadlines(core)) {
        lk_core_refuse_unwritten(core, session, call->tag);
        return;
    }
    report(core, session, call->tag, LK_OK, "");
    try_write(core); /* after the answer, which does not depend on the write */
}

static void run(struct lk_core *core, struct lk_session *session, struct lk_call *call) {
    switch (call->kind) {
    case LK_CALL_COMMAND:
        if (!lk_core_identify(core, session, call)) {
            break;
        }
        if (call->id_count > 0) {
            lk_core_end_items(core, session, call);
        } else {
            call_command(core, session, call);
        }
        break;
    case LK_CALL_LIMITS:
        lk_core_limits(core, session, call);
        break;
    case LK_CALL_GET:
        call_get(core, session, call);
        break;
    case LK_CALL_ITEMS:
    case LK_CALL_STATS:
    case LK_CALL_QUEUES: /* an item's delay is no deadline */
        call_read(core, session, call, lk_core_tick_model(core));
        break;
    case LK_CALL_LIST:
    case LK_CALL_SHOW:
    case LK_CALL_VALUES: /* a deadline puts values in doubt */
    case LK_CALL_DOUBTS:
    case LK_CALL_AUDIT:
        call_read(core, session, call, lk_core_apply_deadlines(core));
        break;
    case LK_CALL_INFO:
        call_info(core, session, call);
        break;
    case LK_CALL_EVENTS:
        lk_core_events(core, session, call);
        break;
    case LK_CALL_REVOKED:
        lk_core_revoked(core, session, call);
        break;
    }
}

void lk_core_call(struct lk_core *core, struct lk_session *session, struct lk_call *call,
                  const struct lk_times *times) {
    const char *unavailable = core->is_stopping ? "the service is stopping"
                              : lk_core_leader(core) != NULL
                                  ? "another service leads; it is to be asked"
                              : core->model == NULL ? "the service's store cannot be reached; ask "
                                                      "again"
                                                    : NULL;

    core->times = *times;
    core->stats.calls++;
    if (!lk_core_permit(core, session, call)) {
        return;
    }
    if (unavailable == NULL) {
        run(core, session, call);
        lk_core_serve_waiters(core);
    } else if (call->kind == LK_CALL_INFO) {
        report(core, session, call->tag, LK_UNAVAILABLE, unavailable);
    } else {
        lk_core_refuse(core, session, call->tag, LK_UNAVAILABLE, unavailable);
    }
}

/* ---- time ------------------------------------------------------------------------------------ */

int64_t lk_core_next_due(const struct lk_core *core) {
    const struct lk_timer *timer = lk_timer_first(core);
    int64_t due_us = core->model != NULL ? lk_model_next_deadline(core->model) : LK_NEVER;

    due_us = timer != NULL && timer->due_us < due_us ? timer->due_us : due_us;
    return lk_fence_due(core) < due_us ? lk_fence_due(core) : due_us;
}

void lk_core_tick(struct lk_core *core, const struct lk_times *times) {
    struct lk_timer *timer;

    core->times = *times;
    /* Blocked requests are refreshed before the model removes requests that are overdue. */
    while ((timer = lk_timer_first(core)) != NULL && timer->due_us <= times->now_us) {
        if (timer->is_queue) {
            lk_claim_waiters_due(core, (struct lk_waiting_queue *)timer);
        } else {
            lk_blocked_due(core, (struct lk_blocked *)timer);
        }
    }
    if (core->model != NULL) {
        (void)lk_core_apply_deadlines(core);
        lk_core_serve_waiters(core);
        lk_fence_tick(core);
    }
}

/* ---- batches --------------------------------------------------------------------------------- */

bool lk_core_has_batch(const struct lk_core *core) {
    return core->writing == 0 && core->model != NULL && !core->config.is_ephemeral
           && !lk_collection_is_empty(&core->collection);
}

const struct lk_batch *lk_core_take_batch(struct lk_core *core) {
    struct lk_batch *batch;

    if (!lk_core_has_batch(core)) {
        return NULL;
    }
    batch = lk_collection_close(&core->collection, core->model, core->collecting, &core->times,
                                lk_bindings_describe, core);
    if (batch == NULL) {
        lk_core_drop_model(core, "memory is exhausted");
        return NULL;
    }
    lk_event_log_fill(core, &batch->events);
    lk_tally_batch_taken(&core->tally);
    lk_fence_taken(core);
    core->writing = core->collecting++;
    return batch;
}

void lk_core_batch_durable(struct lk_core *core, const struct lk_times *times) {
    uint64_t batch = core->writing;
    struct lk_link *at = core->undurable.next;

    core->times = *times;
    core->writing = 0;
    if (core->is_void) { /* its answers were failed already */
        core->is_void = false;
        return;
    }
    core->stats.batches++;
    core->stats.cannot_write = false;
    lk_tally_batch_durable(core);
    lk_event_log_durable(core, batch);
    core->answered_batch = batch;
    core->awaited = 0;
    while (at != &core->undurable) {
        struct lk_session *session = LK_LINK_ITEM(at, struct lk_session, undurable);

        at = at->next;
        if (session->last_batch <= batch) {
            lk_link_remove(&session->undurable);
            lk_core_await(core, session, batch);
        }
        session->ops->durable(session->peer, batch);
    }
}

void lk_core_batch_failed(struct lk_core *core, const char *why, const struct lk_times *times) {
    core->times = *times;
    core->writing = 0;
    core->stats.batches_failed++;
    core->stats.cannot_write = true;
    if (core->is_void) {
        core->is_void = false;
        return;
    }
    lk_core_drop_model(core, why);
}

void lk_core_drop_model(struct lk_core *core, const char *why) {
    struct lk_model *model = core->model;

    core->awaited = 0;
    core->answered_batch = 0;
    while (!lk_link_is_alone(&core->undurable)) {
        struct lk_session *session =
            LK_LINK_ITEM(core->undurable.next, struct lk_session, undurable);

        lk_link_remove(&session->undurable);
        session->ops->failed(session->peer, why);
    }
    lk_event_log_void(core);
    lk_tally_void(core);
    core->model = NULL; /* from here on, answers depend on no batch */
    core->generation++;
    core->is_void = core->writing != 0;
    core->collecting++;
    lk_blocked_refuse_all(core, LK_UNAVAILABLE,
                          "the service's store could not be written; ask again");
    lk_claim_waiters_clear(core);
    lk_bindings_suspend(core);
    lk_collection_reset(&core->collection, 1);
    lk_model_free(model);
    lk_audit_free(core->audit);
    core->audit = NULL;
}

bool lk_core_has_backpressure(const struct lk_core *core) {
    return lk_collection_bytes(&core->collection) > core->config.batch_bytes_max;
}

/* ---- loading and stopping -------------------------------------------------------------------- */

bool lk_core_wants_snapshot(const struct lk_core *core) {
    return core->model == NULL && core->writing == 0;
}

lk_outcome lk_core_restore(struct lk_core *core, struct lk_core_snapshot *snapshot,
                           const struct lk_times *times, lk_error *error) {
    bool has_memory;

    core->times = *times;
    core->model = snapshot->model;
    core->audit = snapshot->audit;
    core->audit_first = 1;
    snapshot->model = NULL;
    snapshot->audit = NULL;
    lk_collection_reset(&core->collection, lk_model_next_id(core->model));
    core->quotas = snapshot->quotas;
    lk_core_apply_quotas(core); /* the configured ones may have changed since the load began */
    lk_tally_restore(core);
    lk_fence_restore(core, snapshot);
    has_memory = lk_bindings_resume(core, snapshot->bound, snapshot->bound_count);
    lk_event_log_restore(core, &snapshot->event_log);
    lk_core_snapshot_free(snapshot);
    if (!has_memory) {
        lk_core_drop_model(core, "memory is exhausted");
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    lk_bindings_end_session(core, &core->orphans);
    /* At least one step: requests that expired while the service was down make room for others. */
    if (core->model == NULL || !lk_core_tick_model(core)) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    lk_core_serve_waiters(core);
    return LK_OK;
}

void lk_core_stop(struct lk_core *core, const struct lk_times *times) {
    core->times = *times;
    core->is_stopping = true;
    lk_event_log_stop(core);
    lk_blocked_refuse_all(core, LK_UNAVAILABLE, "the service is stopping");
}

bool lk_core_is_idle(const struct lk_core *core) {
    return core->writing == 0 && (core->model == NULL || lk_collection_is_empty(&core->collection));
}
