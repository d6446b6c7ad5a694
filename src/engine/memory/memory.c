/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operations of `mem:`: each one is a step under the store's mutex, and its answer. */
#include "engine/memory/memory.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/memory/store.h"
#include "engine/memory/work.h"
#include "engine/reply.h"

enum { REPORT_BYTES_MAX = 1024 };

/* ---- opening and closing --------------------------------------------------------------------- */

lk_outcome lk_memory_open(struct lk_slice name, const struct lk_memory_options *options,
                          struct lk_engine **ret_engine, struct lk_error *error) {
    struct lk_memory_engine *engine;
    lk_outcome outcome;

    if (name.size > LK_MEMORY_NAME_BYTES_MAX) {
        return lk_error_set(error, LK_INVALID, "the name of a mem: store has at most %d bytes",
                            LK_MEMORY_NAME_BYTES_MAX);
    }
    if (name.size > 0 && memchr(name.bytes, '?', name.size) != NULL) {
        return lk_error_set(error, LK_INVALID, "a mem: store takes no options");
    }
    engine = malloc(sizeof *engine);
    if (engine == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for an engine");
    }
    engine->engine.ops = &lk_engine_memory;
    outcome = lk_memory_store_join(name, options, &engine->store, error);
    if (outcome != LK_OK) {
        free(engine);
        return outcome;
    }
    *ret_engine = &engine->engine;
    return LK_OK;
}

static lk_outcome open_by_url(struct lk_slice rest, const struct lk_patience *patience,
                              struct lk_engine **ret_engine, struct lk_error *error) {
    const struct lk_memory_options options = {.time = NULL};

    (void)patience; /* nothing here is waited for */
    return lk_memory_open(rest, &options, ret_engine, error);
}

static void close_engine(struct lk_engine *engine) {
    lk_memory_store_leave(lk_memory_store_of(engine));
    free(engine);
}

/* ---- asks, renewals, releases ---------------------------------------------------------------- */

/*
 * Steps and answers. Where memory for the answer is exhausted the step has taken effect all the
 * same, as with any answer that is lost; the next ask tells (R3).
 */
static lk_outcome decide(struct lk_memory_store *store, struct lk_event *event, lk_result *result,
                         struct lk_stand *ret_stand) {
    const struct lk_effects *effects;
    bool is_complete;

    pthread_mutex_lock(&store->mutex);
    effects = lk_memory_step(store, event);
    is_complete = lk_result_from_effects(store->model, effects, &event->times, result);
    if (ret_stand != NULL && effects->answer.outcome == LK_WAITING) {
        struct lk_record record;

        lk_model_record(store->model, effects->answer.request, &record);
        ret_stand->id = record.id;
        ret_stand->version = store->version;
        ret_stand->in_the_way = effects->answer.in_the_way;
    }
    pthread_mutex_unlock(&store->mutex);
    if (!is_complete) {
        lk_result_clear(result);
        return lk_result_fail(result, LK_INTERNAL, "no memory for the answer");
    }
    return result->outcome;
}

static lk_outcome ask(struct lk_engine *engine, const struct lk_ask *ask,
                      const struct lk_patience *patience, lk_result *result,
                      struct lk_stand *ret_stand) {
    struct lk_event event = {.kind = LK_EVENT_ASK, .ask = *ask};

    (void)patience;
    return decide(lk_memory_store_of(engine), &event, result, ret_stand);
}

static lk_outcome renew(struct lk_engine *engine, const struct lk_renew *renew,
                        const struct lk_patience *patience, lk_result *result) {
    struct lk_event event = {.kind = LK_EVENT_RENEW, .renew = *renew};

    (void)patience;
    return decide(lk_memory_store_of(engine), &event, result, NULL);
}

static lk_outcome release(struct lk_engine *engine, const struct lk_release *release,
                          const struct lk_patience *patience, lk_result *result) {
    struct lk_event event = {.kind = LK_EVENT_RELEASE, .release = *release};

    (void)patience;
    return decide(lk_memory_store_of(engine), &event, result, NULL);
}

static lk_outcome await(struct lk_engine *engine, const struct lk_stand *stand, int64_t until_us,
                        struct lk_waker *waker) {
    struct lk_waker own;
    lk_outcome outcome = LK_INTERNAL;

    waker = lk_waker_borrow(waker, &own);
    if (waker != NULL) {
        outcome = lk_memory_await(lk_memory_store_of(engine), stand, until_us, waker);
        lk_waker_give_back(waker, &own);
    }
    return outcome;
}

/* ---- breaking, and its record ---------------------------------------------------------------- */

/* Writes down what a break ended or revoked. Returns false when memory is exhausted. */
static bool keep_on_record(struct lk_memory_store *store, const struct lk_effects *effects,
                           const struct lk_event *event, struct lk_slice by,
                           struct lk_slice reason) {
    const struct lk_path *path = &event->broken.path;
    bool is_complete = true;

    for (size_t i = 0; i < effects->change_count; i++) {
        const struct lk_change *change = &effects->changes[i];
        struct lk_record record;

        if (change->kind != LK_CHANGE_BROKEN && change->kind != LK_CHANGE_REVOKED) {
            continue;
        }
        lk_model_record(store->model, change->request, &record);
        if (store->audit->count == LK_MEMORY_AUDIT_MAX) {
            lk_audit_drop_oldest(store->audit);
        }
        is_complete = lk_audit_add(store->audit,
                                   &(struct lk_audit_row){
                                       .at_unix_ms = event->times.wall_us / 1000,
                                       .by = by,
                                       .reason = reason,
                                       .path = {.bytes = path->bytes, .size = path->size},
                                       .owner = record.owner,
                                       .note = record.note,
                                       .ticket = record.ticket,
                                       .token = record.token,
                                   })
                      && is_complete;
    }
    return is_complete;
}

static lk_outcome break_(struct lk_engine *engine, const struct lk_break *broken,
                         struct lk_slice by, struct lk_slice reason,
                         const struct lk_patience *patience, size_t *ret_count,
                         struct lk_error *error) {
    struct lk_memory_store *store = lk_memory_store_of(engine);
    struct lk_event event = {.kind = LK_EVENT_BREAK, .broken = *broken};
    const struct lk_effects *effects;
    lk_outcome outcome;

    (void)patience;
    pthread_mutex_lock(&store->mutex);
    effects = lk_memory_step(store, &event);
    outcome = effects->answer.outcome;
    if (outcome != LK_OK) {
        lk_error_set(error, outcome, "%s", effects->answer.text);
    } else if (!keep_on_record(store, effects, &event, by, reason)) {
        outcome = lk_error_set(error, LK_INTERNAL, "broken, but no memory to keep it on record");
    } else {
        *ret_count = effects->answer.broken;
    }
    pthread_mutex_unlock(&store->mutex);
    return outcome;
}

/* Copies those at or below `prefix` (NULL: all). Returns NULL when memory is exhausted. */
static lk_audit *copy_audit(const lk_audit *kept, const struct lk_path *prefix) {
    lk_audit *audit = lk_audit_new();
    bool is_complete = audit != NULL;

    for (size_t i = 0; is_complete && i < kept->count; i++) {
        const lk_audit_entry *entry = &kept->entries[i];
        struct lk_path path;

        if (prefix != NULL
            && (lk_path_parse(lk_slice_of(entry->path), &path, NULL) != LK_OK
                || !lk_path_contains(prefix, &path))) {
            continue;
        }
        is_complete = lk_audit_add(audit, &(struct lk_audit_row){
                                              .at_unix_ms = entry->at_unix_ms,
                                              .by = lk_slice_of(entry->by),
                                              .reason = lk_slice_of(entry->reason),
                                              .path = lk_slice_of(entry->path),
                                              .owner = lk_slice_of(entry->owner),
                                              .note = lk_slice_of(entry->note),
                                              .ticket = entry->ticket,
                                              .token = entry->token,
                                          });
    }
    if (!is_complete) {
        lk_audit_free(audit);
        return NULL;
    }
    return audit;
}

static lk_outcome audit(struct lk_engine *engine, const struct lk_path *prefix,
                        const struct lk_patience *patience, lk_audit **ret_audit,
                        struct lk_error *error) {
    struct lk_memory_store *store = lk_memory_store_of(engine);
    lk_audit *copy;

    (void)patience;
    pthread_mutex_lock(&store->mutex);
    copy = copy_audit(store->audit, prefix);
    pthread_mutex_unlock(&store->mutex);
    if (copy == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the audit");
    }
    *ret_audit = copy;
    return LK_OK;
}

/* ---- looking --------------------------------------------------------------------------------- */

static lk_outcome say_listing(lk_outcome outcome, struct lk_error *error) {
    return outcome == LK_OK ? LK_OK : lk_error_set(error, outcome, "no memory for the listing");
}

static lk_outcome list(struct lk_engine *engine, const struct lk_path *prefix,
                       const struct lk_patience *patience, lk_listing **ret_listing,
                       struct lk_error *error) {
    struct lk_memory_store *store = lk_memory_store_of(engine);
    struct lk_times times = lk_memory_lock(store);
    lk_outcome outcome = lk_listing_from_model(store->model, &times, prefix, ret_listing);

    (void)patience;
    pthread_mutex_unlock(&store->mutex);
    return say_listing(outcome, error);
}

static lk_outcome show(struct lk_engine *engine, const struct lk_path *path,
                       const struct lk_patience *patience, lk_listing **ret_listing,
                       struct lk_error *error) {
    struct lk_memory_store *store = lk_memory_store_of(engine);
    struct lk_times times = lk_memory_lock(store);
    lk_outcome outcome =
        lk_listing_from_model_with_blockers(store->model, &times, path, ret_listing);

    (void)patience;
    pthread_mutex_unlock(&store->mutex);
    return say_listing(outcome, error);
}

static lk_outcome examine(struct lk_engine *engine, const struct lk_patience *patience,
                          lk_report **ret_report, struct lk_error *error) {
    struct lk_memory_store *store = lk_memory_store_of(engine);
    lk_report *report;
    struct lk_model_stats stats;
    struct lk_times times;
    char bytes[REPORT_BYTES_MAX];
    struct lk_text text = lk_text_in(bytes, sizeof bytes);

    (void)patience;
    times = lk_memory_lock(store);
    lk_model_stats(store->model, &stats);
    lk_text_format(&text, "live requests: %llu\nwaiting requests: %llu\nmemory bytes: %llu\n",
                   (unsigned long long)stats.live, (unsigned long long)stats.waiting,
                   (unsigned long long)stats.bytes);
    lk_text_format(&text, "queues: %llu\nitems: %llu\nvalues: %llu\n",
                   (unsigned long long)stats.queues, (unsigned long long)stats.items,
                   (unsigned long long)stats.values);
    lk_limits_report(&text, &store->quotas, store->events.kept_max,
                     store->events.watched_until_us > times.now_us);
    pthread_mutex_unlock(&store->mutex);
    report = lk_report_make(bytes, "");
    if (report == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the report");
    }
    *ret_report = report;
    return LK_OK;
}

const struct lk_engine_ops lk_engine_memory = {
    .scheme = "mem",
    .title = "this process's memory, for tests",
    .capabilities = LK_CAN_QUEUE | LK_CAN_ROOTS | LK_CAN_DEADLOCK | LK_CAN_BREAK | LK_CAN_EXCLUSIVE
                    | LK_CAN_VALUES | LK_CAN_WORK | LK_CAN_EVENTS | LK_CAN_LIMITS,
    .open = open_by_url,
    .close = close_engine,
    .ask = ask,
    .renew = renew,
    .release = release,
    .await = await,
    .break_ = break_,
    .list = list,
    .show = show,
    .audit = audit,
    .value_get = lk_memory_value_get,
    .value_put = lk_memory_value_put,
    .push = lk_memory_push,
    .take = lk_memory_take,
    .finish = lk_memory_finish,
    .unpark = lk_memory_unpark,
    .items = lk_memory_items,
    .stats = lk_memory_stats,
    .await_work = lk_memory_wait_for_work,
    .events = lk_memory_events,
    .await_events = lk_memory_await_events,
    .limits_get = lk_memory_limits_get,
    .limits_set = lk_memory_limits_set,
    .examine = examine,
};
