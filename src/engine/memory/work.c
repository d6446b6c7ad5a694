/* SPDX-License-Identifier: Apache-2.0 */
/* What can be read of values and work in memory, with what is overdue expired before. */
#include "engine/memory/work.h"

#include "base/error.h"
#include "engine/memory/store.h"

/* ---- values ---------------------------------------------------------------------------------- */

lk_outcome lk_memory_value_get(struct lk_engine *engine, const struct lk_path *path,
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

lk_outcome lk_memory_values(struct lk_engine *engine, const struct lk_value_query *query,
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

lk_outcome lk_memory_items(struct lk_engine *engine, const struct lk_path *queue,
                           const struct lk_patience *patience, lk_item_list **ret_list,
                           lk_error *error) {
    struct lk_memory_store *store = lk_memory_store_of(engine);
    struct lk_times times = lk_memory_lock(store);
    lk_outcome outcome = lk_items_from_model(store->model, &times, queue, ret_list);

    (void)patience;
    pthread_mutex_unlock(&store->mutex);
    return outcome == LK_OK ? lk_error_clear(error, LK_OK)
                            : lk_error_set(error, outcome, "no memory for the items");
}

lk_outcome lk_memory_stats(struct lk_engine *engine, const struct lk_path *queue,
                           enum lk_stats_depth depth, const struct lk_patience *patience,
                           lk_queue_stats *ret_stats, lk_error *error) {
    struct lk_memory_store *store = lk_memory_store_of(engine);
    struct lk_queue_counts counts;

    (void)depth; /* to count costs as little */
    (void)patience;
    (void)lk_memory_lock(store);
    lk_model_queue_counts(store->model, queue, &counts);
    pthread_mutex_unlock(&store->mutex);
    lk_stats_from_counts(&counts, ret_stats);
    return lk_error_clear(error, LK_OK);
}
