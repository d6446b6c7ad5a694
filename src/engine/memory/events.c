/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of events of a store in memory, and the operations on it and on the bounds. */
#include "engine/memory/events.h"

#include <stdlib.h>

#include "base/error.h"
#include "engine/memory/store.h"

enum { ROOM_MIN = 64 };

/* ---- the ring -------------------------------------------------------------------------------- */

static lk_watch_event *event_at(const struct lk_memory_events *events, size_t index) {
    return &events->ring[(events->first + index) % events->room];
}

static void drop_oldest(struct lk_memory_events *events, size_t kept_max) {
    while (events->count > kept_max) {
        lk_watch_event_done(event_at(events, 0));
        events->first = (events->first + 1) % events->room;
        events->count--;
    }
}

void lk_memory_events_done(struct lk_memory_events *events) {
    drop_oldest(events, 0);
    free(events->ring);
    events->ring = NULL;
    events->room = 0;
}

static size_t bound_of(const struct lk_memory_events *events) {
    return events->kept_max > 0 ? events->kept_max : LK_WATCHED_EVENTS_MAX;
}

/* Room for one more; false: memory is exhausted. */
static bool reserve_one(struct lk_memory_events *events) {
    size_t room = events->room == 0 ? ROOM_MIN : events->room * 2;
    lk_watch_event *ring;

    if (events->count < events->room) {
        return true;
    }
    ring = malloc(room * sizeof *ring);
    if (ring == NULL) {
        return false;
    }
    for (size_t i = 0; i < events->count; i++) {
        ring[i] = *event_at(events, i);
    }
    free(events->ring);
    events->ring = ring;
    events->room = room;
    events->first = 0;
    return true;
}

struct keeping {
    struct lk_memory_events *events;
    int64_t at_unix_ms;
};

static bool keep_one(void *context, const struct lk_event *step_event) {
    struct keeping *keeping = context;
    struct lk_memory_events *events = keeping->events;
    lk_watch_event event;

    events->last_sequence++;
    drop_oldest(events, bound_of(events) - 1);
    if (reserve_one(events)
        && lk_watch_event_make(step_event, events->last_sequence, keeping->at_unix_ms, &event)) {
        *event_at(events, events->count) = event;
        events->count++;
    }
    return true;
}

bool lk_memory_events_keep(struct lk_memory_events *events, const struct lk_model *model,
                           const struct lk_effects *effects, const struct lk_command *command) {
    struct keeping keeping = {events, command->times.wall_us / 1000};
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
    drop_oldest(events, bound_of(events));
}

/* ---- asking for events ----------------------------------------------------------------------- */

/* The index of the first event after `after`, by binary search: numbers grow. */
static size_t first_behind(const struct lk_memory_events *events, uint64_t after) {
    size_t low = 0;
    size_t high = events->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (event_at(events, middle)->sequence <= after) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Fills the answer; false: memory is exhausted. */
static bool collect(const struct lk_memory_events *events, const struct lk_event_query *query,
                    int64_t now_unix_ms, struct lk_event_page *page) {
    size_t i = first_behind(events, query->after);

    for (; i < events->count && !lk_event_page_is_full(page, query); i++) {
        lk_watch_event copy;
        if (!lk_watch_event_copy(event_at(events, i), &copy)
            || !lk_event_page_add(page, query, &copy)) {
            return false;
        }
    }
    page->has_more = i < events->count;
    return page->has_more || lk_event_page_end(page, query, events->last_sequence, now_unix_ms);
}

static lk_outcome read_events(struct lk_engine *engine, const struct lk_event_query *query,
                              const struct lk_patience *patience, struct lk_event_page **ret_page,
                              lk_error *error) {
    struct lk_memory_store *store = lk_memory_store_of(engine);
    struct lk_event_page *page = lk_event_page_new(query);
    struct lk_command tick = {.kind = LK_COMMAND_TICK};
    bool is_complete = false;

    (void)patience; /* nothing here is waited for */
    if (page != NULL) {
        pthread_mutex_lock(&store->mutex);
        lk_memory_events_mark(&store->events, store->time->now_us(store->time->context));
        (void)lk_memory_step(store, &tick);
        is_complete = collect(&store->events, query, tick.times.wall_us / 1000, page);
        pthread_mutex_unlock(&store->mutex);
    }
    if (!is_complete) {
        lk_event_page_free(page);
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
