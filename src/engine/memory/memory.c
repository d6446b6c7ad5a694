/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of operations of `mem:`: each one is a step under the store's mutex, and its answer. A
 * series is decided by one step a command, under one hold of the mutex and at one time.
 */
#include "engine/memory/memory.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/memory/store.h"
#include "engine/reply/reply.h"

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

/* ---- decisions ------------------------------------------------------------------------------- */

/* Writes down what a break ended or revoked. Returns false when memory is exhausted. */
static bool keep_on_record(struct lk_memory_store *store, const struct lk_effects *effects,
                           const struct lk_command *command) {
    const struct lk_break *broken = &command->broken;
    bool is_complete = true;

    for (size_t i = 0; i < effects->change_count; i++) {
        const struct lk_change *change = &effects->changes[i];
        struct lk_audit_row row;
        struct lk_record record;

        if (!lk_audit_row_of(store->model, effects, change, broken, command->times.wall_us, &record,
                             &row)) {
            continue;
        }
        if (store->audit->count == LK_MEMORY_AUDIT_MAX) {
            lk_audit_drop_oldest(store->audit, 1);
        }
        is_complete = lk_audit_add(store->audit, &row) && is_complete;
    }
    return is_complete;
}

/*
 * What else a step leads to: the wait cursor of what is waited for, the record of what was broken.
 */
static void complete(struct lk_memory_store *store, const struct lk_effects *effects,
                     const struct lk_command *command, struct lk_decision *decision) {
    switch (command->kind) {
    case LK_COMMAND_ASK:
        if (effects->answer.outcome == LK_WAITING) {
            lk_memory_cursor_of_ask(store, &effects->answer, &decision->cursor);
        }
        break;
    case LK_COMMAND_TAKE:
        if (effects->answer.outcome == LK_BUSY) {
            lk_memory_cursor_of_take(store, &command->times, &decision->cursor);
        }
        break;
    case LK_COMMAND_BREAK:
        if (!keep_on_record(store, effects, command)) {
            (void)lk_decision_fail(decision, LK_INTERNAL,
                                   "broken, but no memory to keep it on record");
        }
        break;
    case LK_COMMAND_RENEW:
    case LK_COMMAND_RELEASE:
    case LK_COMMAND_TICK:
    case LK_COMMAND_PUT:
    case LK_COMMAND_PUSH:
    case LK_COMMAND_FINISH:
    case LK_COMMAND_UNPARK:
    case LK_COMMAND_DROP:
    case LK_COMMAND_LEAVE:
        break;
    }
}

/*
 * Takes a step and fills in the answer. If memory for the answer is exhausted, the step has taken
 * effect all the same, as with any lost answer; the next ask shows it (R3).
 */
static lk_outcome decide(struct lk_engine *engine, const struct lk_command *command,
                         const struct lk_patience *patience, struct lk_decision *ret_decision) {
    struct lk_memory_store *store = lk_memory_store_of(engine);
    struct lk_command timed = *command;
    const struct lk_effects *effects;

    (void)patience; /* nothing here is waited for */
    lk_decision_begin(ret_decision, command);
    if (!lk_command_is_for_engines(command)) {
        return lk_decision_refuse(ret_decision);
    }
    pthread_mutex_lock(&store->mutex);
    effects = lk_memory_step(store, &timed);
    if (lk_decision_from_effects(store->model, effects, &timed, ret_decision)) {
        complete(store, effects, &timed, ret_decision);
    }
    pthread_mutex_unlock(&store->mutex);
    return ret_decision->error.outcome;
}

static lk_outcome await(struct lk_engine *engine, const struct lk_wait_cursor *cursor,
                        int64_t until_us, struct lk_waker *waker) {
    return lk_memory_await(lk_memory_store_of(engine), cursor, until_us, waker);
}

/* ---- the record of breaks -------------------------------------------------------------------- */

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
                                              .at_unix_us = entry->at_unix_ms * 1000,
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

/* ---- queries --------------------------------------------------------------------------------- */

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

/* ---- values and work (R15, R16) -------------------------------------------------------------- */

static lk_outcome value_get(struct lk_engine *engine, const struct lk_path *path,
                            const struct lk_patience *patience, lk_value **ret_value,
                            lk_error *error) {
    struct lk_memory_store *store = lk_memory_store_of(engine);
    lk_outcome outcome;

    (void)patience;
    (void)lk_memory_lock(store); /* what has perished by now puts its value in doubt */
    outcome = lk_value_from_model(store->model, path, ret_value);
    pthread_mutex_unlock(&store->mutex);
    return outcome == LK_INTERNAL ? lk_error_set(error, outcome, "no memory for the value")
                                  : lk_error_clear(error, outcome);
}

static lk_outcome values(struct lk_engine *engine, const struct lk_value_query *query,
                         const struct lk_patience *patience, lk_value_list **ret_list,
                         lk_error *error) {
    struct lk_memory_store *store = lk_memory_store_of(engine);
    lk_outcome outcome;

    (void)patience;
    (void)lk_memory_lock(store);
    outcome =
        lk_values_from_model(store->model, query->prefix, query->behind, query->max, ret_list);
    pthread_mutex_unlock(&store->mutex);
    return outcome == LK_OK ? lk_error_clear(error, LK_OK)
                            : lk_error_set(error, outcome, "no memory for the values");
}

/* ---- work ------------------------------------------------------------------------------------ */

static lk_outcome items(struct lk_engine *engine, const struct lk_item_query *query,
                        const struct lk_patience *patience, lk_item_list **ret_list,
                        lk_error *error) {
    struct lk_memory_store *store = lk_memory_store_of(engine);
    struct lk_times times = lk_memory_lock(store);
    lk_outcome outcome = lk_items_from_model(store->model, &times, query, ret_list);

    (void)patience;
    pthread_mutex_unlock(&store->mutex);
    return outcome == LK_OK ? lk_error_clear(error, LK_OK)
                            : lk_error_set(error, outcome, "no memory for the items");
}

static lk_outcome stats(struct lk_engine *engine, const struct lk_path *queue,
                        enum lk_stats_depth depth, const struct lk_patience *patience,
                        lk_queue_stats *ret_stats, lk_error *error) {
    struct lk_memory_store *store = lk_memory_store_of(engine);
    struct lk_queue_counts counts;
    struct lk_times times;

    (void)depth; /* to count costs as little */
    (void)patience;
    times = lk_memory_lock(store);
    lk_model_queue_counts(store->model, queue, &counts);
    pthread_mutex_unlock(&store->mutex);
    lk_stats_from_counts(&counts, times.now_us, ret_stats);
    return lk_error_clear(error, LK_OK);
}

/* ---- several commands in one decision (R16) -------------------------------------------------- */

/* If memory for an answer is exhausted, the steps before it have taken effect all the same. */
static lk_outcome decide_many(struct lk_engine *engine, const struct lk_command *commands,
                              size_t count, const struct lk_patience *patience,
                              struct lk_series *series) {
    struct lk_memory_store *store = lk_memory_store_of(engine);
    struct lk_command command;
    struct lk_decision decision;
    struct lk_times times;

    (void)patience; /* nothing here is waited for */
    lk_series_begin(series, commands, count);
    pthread_mutex_lock(&store->mutex);
    times = lk_memory_now(store);
    while (lk_series_next(series, &command)) {
        const struct lk_effects *effects;

        command.times = times;
        lk_decision_begin(&decision, &command);
        effects = lk_memory_step_at(store, &command);
        (void)lk_decision_from_effects(store->model, effects, &command, &decision);
        lk_memory_cursor_of_take(store, &times, &decision.cursor);
        lk_series_add(series, &decision);
    }
    pthread_mutex_unlock(&store->mutex);
    return series->error.outcome;
}

static lk_outcome parked(struct lk_engine *engine, const struct lk_parked_query *query,
                         const struct lk_patience *patience, lk_item_list **ret_list,
                         uint64_t *ret_reached, lk_error *error) {
    struct lk_memory_store *store = lk_memory_store_of(engine);
    struct lk_times times = lk_memory_lock(store);
    lk_outcome outcome = lk_parked_from_model(store->model, &times, query->queue, query->behind,
                                              query->max, ret_list, ret_reached);

    (void)patience;
    pthread_mutex_unlock(&store->mutex);
    return outcome == LK_OK ? lk_error_clear(error, LK_OK)
                            : lk_error_set(error, outcome, "no memory for the items");
}

static lk_outcome queues(struct lk_engine *engine, const struct lk_queue_query *query,
                         const struct lk_patience *patience, lk_queue_list **ret_list,
                         bool *ret_has_more, lk_error *error) {
    struct lk_memory_store *store = lk_memory_store_of(engine);
    struct lk_times times;
    lk_outcome outcome;

    (void)patience;
    times = lk_memory_lock(store); /* claims that have perished are not counted */
    outcome = lk_queues_from_model(store->model, query->prefix, times.now_us, query->behind,
                                   query->max, ret_list, ret_has_more);
    pthread_mutex_unlock(&store->mutex);
    return outcome == LK_OK ? lk_error_clear(error, LK_OK)
                            : lk_error_set(error, outcome, "no memory for the queues");
}

static const struct lk_batch_ops batch_ops = {
    .decide_many = decide_many, .parked = parked, .queues = queues};

const struct lk_engine_ops lk_engine_memory = {
    .scheme = "mem",
    .title = "this process's memory, for tests",
    .capabilities = LK_CAN_QUEUE | LK_CAN_ROOTS | LK_CAN_DEADLOCK | LK_CAN_EXCLUSIVE,
    .open = open_by_url,
    .close = close_engine,
    .decide = decide,
    .await = await,
    .list = list,
    .show = show,
    .audit = audit,
    .value_get = value_get,
    .values = values,
    .items = items,
    .stats = stats,
    .events = &lk_memory_event_ops,
    .limits = &lk_memory_limit_ops,
    .batches = &batch_ops,
    .examine = examine,
};
