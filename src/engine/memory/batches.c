/* SPDX-License-Identifier: Apache-2.0 */
/* A series is decided by one step a command, under one hold of the mutex and at one time. */
#include "engine/memory/batches.h"

#include "base/error.h"
#include "engine/memory/store.h"

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
    lk_outcome outcome;

    (void)patience;
    (void)lk_memory_lock(store); /* claims that have perished are not counted */
    outcome = lk_queues_from_model(store->model, query->prefix, query->behind, query->max, ret_list,
                                   ret_has_more);
    pthread_mutex_unlock(&store->mutex);
    return outcome == LK_OK ? lk_error_clear(error, LK_OK)
                            : lk_error_set(error, outcome, "no memory for the queues");
}

const struct lk_batch_ops lk_memory_batch_ops = {
    .decide_many = decide_many, .parked = parked, .queues = queues};
