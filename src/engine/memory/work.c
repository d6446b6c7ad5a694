/* SPDX-License-Identifier: Apache-2.0 */
/* Values and work in memory: each operation is a step under the store's mutex, and its answer. */
#include "engine/memory/work.h"

#include "base/error.h"
#include "engine/memory/store.h"

/* One step whose answer is an outcome and a sentence; nothing here is waited for. */
static lk_outcome decide(struct lk_engine *engine, struct lk_event *event, bool *ret_created,
                         lk_error *error) {
    struct lk_memory_store *store = lk_memory_store_of(engine);
    const struct lk_answer *answer;
    lk_outcome outcome;

    pthread_mutex_lock(&store->mutex);
    answer = &lk_memory_step(store, event)->answer;
    outcome = lk_error_set(error, answer->outcome, "%s", answer->text);
    if (ret_created != NULL && outcome == LK_OK) {
        *ret_created = answer->created;
    }
    pthread_mutex_unlock(&store->mutex);
    return outcome;
}

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

lk_outcome lk_memory_value_put(struct lk_engine *engine, const struct lk_put *put,
                               const struct lk_patience *patience, lk_error *error) {
    struct lk_event event = {.kind = LK_EVENT_PUT, .put = *put};

    (void)patience;
    return decide(engine, &event, NULL, error);
}

/* ---- work ------------------------------------------------------------------------------------ */

lk_outcome lk_memory_push(struct lk_engine *engine, const struct lk_push *push,
                          const struct lk_patience *patience, bool *ret_added, lk_error *error) {
    struct lk_event event = {.kind = LK_EVENT_PUSH, .push = *push};

    (void)patience;
    return decide(engine, &event, ret_added, error);
}

/*
 * Where memory for the answer is exhausted the claim is held all the same, as with any answer that
 * is lost; the same ask again tells (R3).
 */
lk_outcome lk_memory_take(struct lk_engine *engine, const struct lk_take *take,
                          const struct lk_patience *patience, lk_claim_info **ret_claim,
                          struct lk_stand *ret_stand, lk_error *error) {
    struct lk_memory_store *store = lk_memory_store_of(engine);
    struct lk_event event = {.kind = LK_EVENT_TAKE, .take = *take};
    const struct lk_effects *effects;
    lk_outcome outcome;

    (void)patience;
    pthread_mutex_lock(&store->mutex);
    effects = lk_memory_step(store, &event);
    if (effects->answer.outcome == LK_BUSY) {
        *ret_stand = lk_memory_stand_of_take(store, &event.times);
    }
    outcome = lk_claim_from_effects(store->model, effects, &event.times, ret_claim, error);
    pthread_mutex_unlock(&store->mutex);
    return outcome;
}

lk_outcome lk_memory_finish(struct lk_engine *engine, const struct lk_finish *finish,
                            const struct lk_patience *patience, lk_error *error) {
    struct lk_event event = {.kind = LK_EVENT_FINISH, .finish = *finish};

    (void)patience;
    return decide(engine, &event, NULL, error);
}

lk_outcome lk_memory_unpark(struct lk_engine *engine, const struct lk_unpark *unpark,
                            const struct lk_patience *patience, lk_error *error) {
    struct lk_event event = {.kind = LK_EVENT_UNPARK, .unpark = *unpark};

    (void)patience;
    return decide(engine, &event, NULL, error);
}

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
                           const struct lk_patience *patience, lk_queue_stats *ret_stats,
                           lk_error *error) {
    struct lk_memory_store *store = lk_memory_store_of(engine);
    struct lk_queue_counts counts;

    (void)patience;
    (void)lk_memory_lock(store);
    lk_model_queue_counts(store->model, queue, &counts);
    pthread_mutex_unlock(&store->mutex);
    lk_stats_from_counts(&counts, ret_stats);
    return lk_error_clear(error, LK_OK);
}

lk_outcome lk_memory_wait_for_work(struct lk_engine *engine, const struct lk_path *queue,
                                   const struct lk_stand *stand, int64_t until_us,
                                   struct lk_waker *waker) {
    struct lk_memory_store *store = lk_memory_store_of(engine);
    struct lk_waker own;
    lk_outcome outcome = LK_INTERNAL;

    waker = lk_waker_borrow(waker, &own);
    if (waker != NULL) {
        outcome = lk_memory_await_work(store, queue, stand, until_us, waker);
        lk_waker_give_back(waker, &own);
    }
    return outcome;
}
