/* SPDX-License-Identifier: Apache-2.0 */
/* Calls, and the batches that their answers depend on. */
#include "server/core.h"

#include <stdlib.h>

#include "base/error.h"
#include "server/inside.h"

/* ---- making ---------------------------------------------------------------------------------- */

static uint32_t or_default(uint32_t value, uint32_t otherwise) {
    return value != 0 ? value : otherwise;
}

static void configure(struct lk_core *core, const struct lk_core_config *config) {
    core->config = *config;
    core->config.sessions_max = or_default(config->sessions_max, LK_CORE_SESSIONS_MAX_DEFAULT);
    core->config.blocked_max = or_default(config->blocked_max, LK_CORE_BLOCKED_MAX_DEFAULT);
    core->config.blocked_per_session_max =
        or_default(config->blocked_per_session_max, LK_CORE_BLOCKED_PER_SESSION_MAX_DEFAULT);
    if (config->batch_bytes_max == 0) {
        core->config.batch_bytes_max = LK_CORE_BATCH_BYTES_MAX_DEFAULT;
    }
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
    core->collecting = 1;
    core->history.has_missed = true;
    if (!lk_collection_init(&core->collection)) {
        lk_core_free(core);
        return NULL;
    }
    if (config->is_ephemeral) {
        struct lk_model_config model_config = lk_core_model_config(core);
        core->model = lk_model_new(&model_config);
        core->audit = lk_audit_new();
        if (core->model == NULL || core->audit == NULL) {
            lk_core_free(core);
            return NULL;
        }
    }
    return core;
}

struct lk_model_config lk_core_model_config(const struct lk_core *core) {
    return (struct lk_model_config){
        .quotas = core->config.quotas,
        .hash_seed = core->config.hash_seed,
    };
}

static void free_ties(struct lk_core *core) {
    for (size_t i = 0; i < core->tie_capacity; i++) {
        if (core->ties[i] != NULL) {
            free(core->ties[i]);
        }
    }
    free(core->ties);
    free(core->spare_tie);
}

void lk_core_free(struct lk_core *core) {
    if (core == NULL) {
        return;
    }
    assert(core->stats.sessions == 0);
    free_ties(core);
    lk_history_done(&core->history);
    free(core->spare_blocked);
    free(core->timed);
    lk_collection_done(&core->collection);
    lk_model_free(core->model);
    lk_audit_free(core->audit);
    free(core);
}

/* ---- answers --------------------------------------------------------------------------------- */

uint64_t lk_core_depends_on(struct lk_core *core) {
    if (core->config.is_ephemeral || core->model == NULL) {
        return 0;
    }
    if (core->config.is_fenced) {
        core->collection.is_wanted = true;
    }
    return lk_collection_is_empty(&core->collection) ? core->writing : core->collecting;
}

void lk_core_hold_back(struct lk_core *core, struct lk_session *session, uint64_t batch) {
    if (batch != 0) {
        session->last_batch = batch;
        if (lk_link_is_alone(&session->unsettled)) {
            lk_link_append(&core->unsettled, &session->unsettled);
        }
    }
}

void lk_core_reply(struct lk_core *core, struct lk_session *session, uint64_t tag,
                   struct lk_reply *reply) {
    uint64_t batch = lk_core_depends_on(core);

    reply->model = core->model;
    reply->times = &core->times;
    reply->audit = core->audit;
    lk_core_hold_back(core, session, batch);
    session->ops->answer(session->peer, tag, batch, reply);
}

void lk_core_answer(struct lk_core *core, struct lk_session *session, uint64_t tag,
                    enum lk_call_kind kind, const struct lk_answer *answer) {
    struct lk_reply reply = {.kind = kind, .answer = answer};

    lk_core_reply(core, session, tag, &reply);
}

void lk_core_refuse(struct lk_core *core, struct lk_session *session, uint64_t tag,
                    enum lk_call_kind kind, lk_outcome outcome, const char *text) {
    const struct lk_answer answer = {.outcome = outcome, .text = text};

    lk_core_answer(core, session, tag, kind, &answer);
}

/* ---- steps ----------------------------------------------------------------------------------- */

const struct lk_effects *lk_core_step(struct lk_core *core, struct lk_event *event) {
    const struct lk_effects *effects;
    uint64_t generation = core->generation;

    event->times = core->times;
    effects = lk_model_step(core->model, event);
    if (!core->config.is_ephemeral) {
        lk_collect_step(&core->collection, core->model, event, effects);
    }
    lk_history_tell(core, event, effects);
    if (!core->config.is_ephemeral && core->collection.is_incomplete) {
        lk_core_give_up(core, "memory is exhausted");
        return NULL;
    }
    for (size_t i = 0; i < effects->change_count && core->generation == generation; i++) {
        const struct lk_change *change = &effects->changes[i];

        if (change->kind <= LK_CHANGE_BROKEN) {
            lk_blocked_heed(core, effects, change);
        }
        if (core->waiting_queues > 0) {
            lk_takers_heed(core, change);
        }
    }
    return effects;
}

bool lk_core_pass_time(struct lk_core *core, enum lk_call_kind kind) {
    struct lk_event tick = {.kind = LK_EVENT_TICK};
    bool is_about_items =
        kind == LK_CALL_ITEMS || kind == LK_CALL_STATS; /* a delay is no deadline */

    return (!is_about_items && lk_model_next_deadline(core->model) > core->times.now_us)
           || lk_core_step(core, &tick) != NULL;
}

void lk_core_settle(struct lk_core *core) {
    lk_takers_drain(core);
    lk_history_settle(core);
}

void lk_core_bind(struct lk_core *core, struct lk_session *session, lk_ref request) {
    struct lk_tie *tie = lk_tie_make(core, request);

    if (tie->session != session) {
        lk_tie_bind(core, tie, session);
        if (!core->config.is_ephemeral) {
            lk_collect_request(&core->collection, core->model, request);
        }
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void refuse_unwritten(struct lk_core *core, struct lk_session *session,
                             const struct lk_call *call) {
    lk_core_refuse(core, session, call->tag, call->kind, LK_UNAVAILABLE,
                   "what was decided could not be written, nor can it be known whether it was; "
                   "ask again");
}

static bool waits(const struct lk_call *call) {
    return call->wait_ms > 0
           && (call->kind == LK_CALL_TAKE
               || (call->kind == LK_CALL_ASK && call->ask.style == LK_WAIT));
}

/* Room for all that a call may need after its step, or it is refused. */
static bool reserve(struct lk_core *core, struct lk_session *session, const struct lk_call *call) {
    if (waits(call) && !lk_blocked_reserve(core, session, call)) {
        return false;
    }
    if ((waits(call) || call->is_bound) && !lk_ties_reserve(core)) {
        lk_core_refuse(core, session, call->tag, call->kind, LK_INTERNAL,
                       "memory is exhausted; nothing was changed");
        return false;
    }
    return true;
}

static void call_ask(struct lk_core *core, struct lk_session *session, const struct lk_call *call) {
    struct lk_event event = {.kind = LK_EVENT_ASK, .ask = call->ask};
    const struct lk_answer *answer;
    const struct lk_effects *effects;

    if (call->ask.style == LK_WAIT && call->wait_ms <= 0) {
        event.ask.style = LK_TRY; /* R10: a wait of no time */
    }
    if (!reserve(core, session, call)) {
        return;
    }
    if (call->ticket != 0
        && (!lk_core_pass_time(core, call->kind)
            || !lk_core_lives_under(core, &call->ask, call->ticket))) {
        lk_core_refuse(core, session, call->tag, call->kind, LK_LOST,
                       "R12: no request of this owner and these paths lives under that ticket");
        return;
    }
    effects = lk_core_step(core, &event);
    if (effects == NULL) {
        refuse_unwritten(core, session, call);
        return;
    }
    answer = &effects->answer;
    if (call->is_bound && (answer->outcome == LK_GRANTED || answer->outcome == LK_WAITING)) {
        lk_core_bind(core, session, answer->request);
    }
    if (answer->outcome == LK_WAITING && waits(call)) {
        lk_blocked_ask(core, session, call, answer);
    } else {
        lk_core_answer(core, session, call->tag, call->kind, answer);
    }
}

static void call_take(struct lk_core *core, struct lk_session *session,
                      const struct lk_call *call) {
    struct lk_event event = {.kind = LK_EVENT_TAKE, .take = call->take};
    const struct lk_answer *answer;
    const struct lk_effects *effects;

    if (!reserve(core, session, call)) {
        return;
    }
    effects = lk_core_step(core, &event);
    if (effects == NULL) {
        refuse_unwritten(core, session, call);
        return;
    }
    answer = &effects->answer;
    if (call->is_bound && answer->outcome == LK_GRANTED) {
        lk_core_bind(core, session, answer->request);
    }
    if (answer->outcome != LK_BUSY || !waits(call)) {
        lk_core_answer(core, session, call->tag, call->kind, answer);
    } else if (!lk_taker_block(core, session, call)) {
        lk_core_refuse(core, session, call->tag, call->kind, LK_INTERNAL,
                       "memory is exhausted; nothing was changed");
    }
}

/* R12: what a break ended or revoked stays on record, with who did it and why. */
static void keep_on_record(struct lk_core *core, const struct lk_call *call,
                           const struct lk_effects *effects) {
    const struct lk_path *path = &call->broken.path;

    for (size_t i = 0; i < effects->change_count; i++) {
        const struct lk_change *change = &effects->changes[i];
        struct lk_record *record = &core->record;
        struct lk_audit_row row;

        if (change->kind != LK_CHANGE_BROKEN && change->kind != LK_CHANGE_REVOKED) {
            continue;
        }
        lk_model_record(core->model, change->request, record);
        row = (struct lk_audit_row){
            .at_unix_ms = core->times.wall_us / 1000,
            .by = call->by,
            .reason = call->reason,
            .path = {path->bytes, path->size},
            .owner = record->owner,
            .note = record->note,
            .ticket = record->ticket,
            .token = record->token,
        };
        if (core->audit->count >= LK_CORE_AUDIT_MAX) {
            lk_audit_drop_oldest(core->audit);
        }
        if (!lk_audit_add(core->audit, &row)) {
            core->collection.is_incomplete = true;
        }
        if (!core->config.is_ephemeral) {
            lk_collect_audit(&core->collection, &row);
        }
    }
}

static void call_break(struct lk_core *core, struct lk_session *session,
                       const struct lk_call *call) {
    struct lk_event event = {.kind = LK_EVENT_BREAK, .broken = call->broken};
    const struct lk_effects *effects = lk_core_step(core, &event);

    if (effects != NULL) {
        keep_on_record(core, call, effects);
        if (!core->collection.is_incomplete || core->config.is_ephemeral) {
            lk_core_answer(core, session, call->tag, call->kind, &effects->answer);
            return;
        }
        lk_core_give_up(core, "memory is exhausted");
    }
    refuse_unwritten(core, session, call);
}

/* Everything else that changes something. */
static void call_change(struct lk_core *core, struct lk_session *session,
                        const struct lk_call *call) {
    struct lk_event event;
    const struct lk_effects *effects;

    switch (call->kind) {
    case LK_CALL_RENEW:
        event = (struct lk_event){.kind = LK_EVENT_RENEW, .renew = call->renew};
        break;
    case LK_CALL_RELEASE:
        event = (struct lk_event){.kind = LK_EVENT_RELEASE, .release = call->release};
        break;
    case LK_CALL_PUT:
        event = (struct lk_event){.kind = LK_EVENT_PUT, .put = call->put};
        break;
    case LK_CALL_PUSH:
        event = (struct lk_event){.kind = LK_EVENT_PUSH, .push = call->push};
        break;
    case LK_CALL_FINISH:
        event = (struct lk_event){.kind = LK_EVENT_FINISH, .finish = call->finish};
        break;
    default:
        event = (struct lk_event){.kind = LK_EVENT_UNPARK, .unpark = call->unpark};
        break;
    }
    effects = lk_core_step(core, &event);
    if (effects == NULL) {
        refuse_unwritten(core, session, call);
    } else {
        lk_core_answer(core, session, call->tag, call->kind, &effects->answer);
    }
}

static void call_look(struct lk_core *core, struct lk_session *session,
                      const struct lk_call *call) {
    struct lk_answer answer = {.outcome = LK_OK, .text = ""};

    if (!lk_core_pass_time(core, call->kind)) {
        refuse_unwritten(core, session, call);
        return;
    }
    if (call->kind == LK_CALL_GET) {
        answer.value = lk_model_value(core->model, &call->path);
        answer.outcome = answer.value != 0 ? LK_OK : LK_NONE;
    }
    lk_core_answer(core, session, call->tag, call->kind, &answer);
}

void lk_core_call(struct lk_core *core, struct lk_session *session, const struct lk_call *call,
                  const struct lk_times *times) {
    core->times = *times;
    core->stats.calls++;
    if (core->model == NULL || core->is_stopping) {
        lk_core_refuse(core, session, call->tag, call->kind, LK_UNAVAILABLE,
                       core->is_stopping ? "the service is stopping"
                                         : "the service's store cannot be reached; ask again");
        return;
    }
    switch (call->kind) {
    case LK_CALL_ASK:
        call_ask(core, session, call);
        break;
    case LK_CALL_TAKE:
        call_take(core, session, call);
        break;
    case LK_CALL_BREAK:
        call_break(core, session, call);
        break;
    case LK_CALL_EVENTS:
        lk_core_events(core, session, call);
        break;
    case LK_CALL_LIMITS:
        lk_core_limits(core, session, call);
        break;
    case LK_CALL_RENEW:
    case LK_CALL_RELEASE:
    case LK_CALL_PUT:
    case LK_CALL_PUSH:
    case LK_CALL_FINISH:
    case LK_CALL_UNPARK:
        call_change(core, session, call);
        break;
    case LK_CALL_GET:
    case LK_CALL_LIST:
    case LK_CALL_SHOW:
    case LK_CALL_ITEMS:
    case LK_CALL_STATS:
    case LK_CALL_AUDIT:
    case LK_CALL_INFO:
        call_look(core, session, call);
        break;
    }
    lk_core_settle(core);
}

/* ---- time ------------------------------------------------------------------------------------ */

int64_t lk_core_next_due(const struct lk_core *core) {
    const struct lk_timed *timed = lk_timed_first(core);
    int64_t due_us = core->model != NULL ? lk_model_next_deadline(core->model) : LK_NEVER;

    return timed != NULL && timed->due_us < due_us ? timed->due_us : due_us;
}

void lk_core_tick(struct lk_core *core, const struct lk_times *times) {
    struct lk_timed *timed;

    core->times = *times;
    /* Refreshing what is blocked comes before what has perished by now. */
    while ((timed = lk_timed_first(core)) != NULL && timed->due_us <= times->now_us) {
        if (timed->is_queue) {
            lk_queue_due(core, (struct lk_waiting_queue *)timed);
        } else {
            lk_blocked_due(core, (struct lk_blocked *)timed);
        }
    }
    if (core->model != NULL) {
        (void)lk_core_pass_time(core, LK_CALL_LIST);
        lk_core_settle(core);
    }
}

/* ---- batches --------------------------------------------------------------------------------- */

static bool is_bound(void *context, lk_ref request) {
    const struct lk_tie *tie = lk_tie_find(context, request);

    return tie != NULL && tie->session != NULL;
}

const struct lk_batch *lk_core_take_batch(struct lk_core *core) {
    struct lk_batch *batch;

    if (core->writing != 0 || core->model == NULL || core->config.is_ephemeral
        || lk_collection_is_empty(&core->collection)) {
        return NULL;
    }
    batch = lk_collection_close(&core->collection, core->model, core->collecting, &core->times,
                                is_bound, core);
    if (batch == NULL) {
        lk_core_give_up(core, "memory is exhausted");
        return NULL;
    }
    lk_history_fill(core, &batch->events);
    core->writing = core->collecting++;
    return batch;
}

void lk_core_batch_durable(struct lk_core *core, const struct lk_times *times) {
    uint64_t batch = core->writing;
    struct lk_link *at = core->unsettled.next;

    core->times = *times;
    core->writing = 0;
    if (core->is_void) { /* its answers were given up already */
        core->is_void = false;
        return;
    }
    core->stats.batches++;
    lk_history_durable(core, batch);
    while (at != &core->unsettled) {
        struct lk_session *session = LK_LINK_ITEM(at, struct lk_session, unsettled);

        at = at->next;
        if (session->last_batch <= batch) {
            lk_link_remove(&session->unsettled);
        }
        session->ops->durable(session->peer, batch);
    }
}

void lk_core_batch_failed(struct lk_core *core, const char *why, const struct lk_times *times) {
    core->times = *times;
    core->writing = 0;
    core->stats.batches_failed++;
    if (core->is_void) {
        core->is_void = false;
        return;
    }
    lk_core_give_up(core, why);
}

void lk_core_give_up(struct lk_core *core, const char *why) {
    struct lk_model *model = core->model;

    while (!lk_link_is_alone(&core->unsettled)) {
        struct lk_session *session =
            LK_LINK_ITEM(core->unsettled.next, struct lk_session, unsettled);

        lk_link_remove(&session->unsettled);
        session->ops->failed(session->peer, why);
    }
    lk_history_void(core);
    core->model = NULL; /* from here on, answers depend on nothing */
    core->generation++;
    core->is_void = core->writing != 0;
    core->collecting++;
    lk_blocked_refuse_all(core, LK_UNAVAILABLE,
                          "the service's store could not be written; ask again");
    lk_takers_forget(core);
    lk_ties_suspend(core);
    lk_collection_reset(&core->collection, 1);
    lk_model_free(model);
    lk_audit_free(core->audit);
    core->audit = NULL;
}

bool lk_core_is_choked(const struct lk_core *core) {
    return lk_collection_bytes(&core->collection) > core->config.batch_bytes_max;
}

/* ---- loading and stopping -------------------------------------------------------------------- */

bool lk_core_wants_image(const struct lk_core *core) {
    return core->model == NULL && core->writing == 0;
}

lk_outcome lk_core_restore(struct lk_core *core, struct lk_image *image,
                           const struct lk_times *times, lk_error *error) {
    struct lk_event tick = {.kind = LK_EVENT_TICK};
    bool has_memory;

    core->times = *times;
    core->model = image->model;
    core->audit = image->audit;
    image->model = NULL;
    image->audit = NULL;
    lk_collection_reset(&core->collection, lk_model_next_id(core->model));
    core->quotas = image->quotas;
    has_memory = lk_ties_resume(core, image->bound, image->bound_count)
                 && lk_history_restore(core, &image->history);
    lk_image_free(image);
    if (!has_memory) {
        lk_core_give_up(core, "memory is exhausted");
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    lk_ties_leave(core, &core->orphans);
    /* One step at least: what perished while nobody was there makes room for others. */
    if (core->model == NULL || lk_core_step(core, &tick) == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    lk_core_settle(core);
    return LK_OK;
}

void lk_core_stop(struct lk_core *core, const struct lk_times *times) {
    core->times = *times;
    core->is_stopping = true;
    lk_history_stop(core);
    lk_blocked_refuse_all(core, LK_UNAVAILABLE, "the service is stopping");
}

bool lk_core_is_idle(const struct lk_core *core) {
    return core->writing == 0 && (core->model == NULL || lk_collection_is_empty(&core->collection));
}

void lk_core_stats(const struct lk_core *core, struct lk_core_stats *ret_stats) {
    *ret_stats = core->stats;
    ret_stats->followers = core->history.followed;
    ret_stats->events = core->history.count;
    ret_stats->events_max = core->history.kept_max;
    ret_stats->quotas = lk_quotas_over(&core->config.quotas, &core->quotas);
    ret_stats->bytes = sizeof *core + core->tie_capacity * sizeof(*core->ties)
                       + core->collection.dirty_at_capacity * sizeof *core->collection.dirty_at
                       + core->timed_capacity * sizeof(*core->timed);
    if (core->model != NULL) {
        struct lk_model_stats stats;
        lk_model_stats(core->model, &stats);
        ret_stats->bytes += stats.bytes;
    }
}
