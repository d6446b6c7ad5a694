/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a store in memory, and the operations on them and on the bounds. */
#include "engine/memory/events.h"

#include "base/error.h"
#include "engine/memory/store.h"

/* ---- keeping --------------------------------------------------------------------------------- */

static size_t bound_of(const struct lk_memory_events *events) {
    return events->kept_max > 0 ? events->kept_max : LK_WATCHED_EVENTS_MAX;
}

struct keeping {
    struct lk_memory_events *events;
    int64_t at_unix_us;
};

/* Where memory is exhausted the number stays unused. */
static bool keep_one(void *context, const struct lk_event *step_event) {
    const struct keeping *keeping = context;
    struct lk_memory_events *events = keeping->events;

    events->last_sequence++;
    lk_event_ring_drop_oldest(&events->ring, bound_of(events) - 1, UINT64_MAX);
    (void)lk_event_ring_add(&events->ring, lk_stored_event_make(step_event, events->last_sequence,
                                                                keeping->at_unix_us));
    return true;
}

bool lk_memory_events_keep(struct lk_memory_events *events, const struct lk_model *model,
                           const struct lk_effects *effects, const struct lk_command *command) {
    struct keeping keeping = {events, command->times.wall_us};
    uint64_t before = events->last_sequence;

    (void)lk_events_of_step(model, effects, command, keep_one, &keeping);
    return events->last_sequence != before;
}

void lk_memory_events_mark(struct lk_memory_events *events, int64_t now_us) {
    if (!lk_memory_events_are_kept(events, now_us)) {
        events->last_sequence++;
    }
    events->watched_until_us = now_us + LK_WATCHED_US;
}

void lk_memory_events_bound(struct lk_memory_events *events, size_t kept_max, int64_t now_us) {
    if (kept_max > 0 && !lk_memory_events_are_kept(events, now_us)) {
        events->last_sequence++;
    }
    events->kept_max = kept_max;
    lk_event_ring_drop_oldest(&events->ring, bound_of(events), UINT64_MAX);
}

/* ---- asking for events ----------------------------------------------------------------------- */

static lk_outcome read_events(struct lk_engine *engine, const struct lk_event_query *query,
                              const struct lk_patience *patience, struct lk_event_page **ret_page,
                              lk_error *error) {
    struct lk_memory_store *store = lk_memory_store_of(engine);
    struct lk_command tick = {.kind = LK_COMMAND_TICK};
    struct lk_event_page *page;

    (void)patience; /* nothing here is waited for */
    pthread_mutex_lock(&store->mutex);
    lk_memory_events_mark(&store->events, store->time->now_us(store->time->context));
    (void)lk_memory_step(store, &tick);
    page = lk_event_ring_ask(&store->events.ring, query, store->events.last_sequence,
                             tick.times.wall_us / 1000);
    pthread_mutex_unlock(&store->mutex);
    if (page == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the events");
    }
    *ret_page = page;
    return lk_error_clear(error, LK_OK);
}

static lk_outcome await_events(struct lk_engine *engine, uint64_t after, int64_t until_us,
                               struct lk_waker *waker) {
    struct lk_memory_store *store = lk_memory_store_of(engine);
    struct lk_waker own;
    lk_outcome outcome = LK_INTERNAL;

    waker = lk_waker_borrow(waker, &own);
    if (waker != NULL) {
        outcome = lk_memory_sleep_for_events(store, after, until_us, waker);
        lk_waker_give_back(waker, &own);
    }
    return outcome;
}

const struct lk_event_ops lk_memory_event_ops = {.read = read_events, .await = await_events};

/* ---- bounds ---------------------------------------------------------------------------------- */

static lk_outcome limits_get(struct lk_engine *engine, const struct lk_patience *patience,
                             lk_limits *ret_limits, lk_error *error) {
    struct lk_memory_store *store = lk_memory_store_of(engine);

    (void)patience;
    pthread_mutex_lock(&store->mutex);
    lk_limits_from_quotas(&store->quotas, store->events.kept_max, ret_limits);
    pthread_mutex_unlock(&store->mutex);
    return lk_error_clear(error, LK_OK);
}

static lk_outcome limits_set(struct lk_engine *engine, const lk_limits *limits,
                             const struct lk_patience *patience, lk_error *error) {
    struct lk_memory_store *store = lk_memory_store_of(engine);

    (void)patience;
    pthread_mutex_lock(&store->mutex);
    lk_limits_into_quotas(limits, &store->quotas);
    lk_model_set_quotas(store->model, &store->quotas);
    if (limits->events != LK_LIMIT_AS_IS) {
        lk_memory_events_bound(&store->events, (size_t)limits->events,
                               store->time->now_us(store->time->context));
    }
    pthread_mutex_unlock(&store->mutex);
    return lk_error_clear(error, LK_OK);
}

const struct lk_limit_ops lk_memory_limit_ops = {.get = limits_get, .set = limits_set};
