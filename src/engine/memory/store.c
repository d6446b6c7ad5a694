/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store in memory.
 *
 * The store has no timer: an overdue deadline takes effect at the next step, and a sleeping thread
 * takes that step when the deadline comes. So a store that is not used costs nothing. Lock order:
 * register of names, store, waker. A step wakes only the threads whose request changed, or whose
 * queue may have an item to take.
 */
#include "engine/memory/store.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/text.h"

/* The clock counts suspended time and a sleep does not, so no sleep is longer than this. */
#define SLEEP_US_MAX INT64_C(1000000)

/* ---- the register of names ------------------------------------------------------------------- */

/* `mem:NAME` is the same store in the whole process, so the register has to be global. */
static pthread_mutex_t register_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct lk_memory_store *register_head;

static void store_free(struct lk_memory_store *store) {
    lk_model_free(store->model);
    lk_audit_free(store->audit);
    lk_event_ring_drop_oldest(&store->events.ring, 0, 0);
    (void)pthread_mutex_destroy(&store->mutex);
    free(store->name);
    free(store);
}

static struct lk_memory_store *store_new(struct lk_slice name,
                                         const struct lk_memory_options *options) {
    const struct lk_model_config config = {.quotas = options->quotas};
    struct lk_memory_store *store = calloc(1, sizeof *store);

    if (store == NULL) {
        return NULL;
    }
    if (pthread_mutex_init(&store->mutex, NULL) != 0) {
        free(store);
        return NULL;
    }
    store->time = options->time != NULL ? options->time : &lk_time_source_system;
    store->use_count = 1;
    store->quotas = options->quotas;
    store->model = lk_model_new(&config);
    store->audit = lk_audit_new();
    store->name = name.size > 0 ? lk_text_copy(name) : NULL;
    if (store->model == NULL || store->audit == NULL || (store->name == NULL && name.size > 0)) {
        store_free(store);
        return NULL;
    }
    return store;
}

static struct lk_memory_store *find_by_name(struct lk_slice name) {
    struct lk_memory_store *store = register_head;

    while (store != NULL && !lk_slice_equal(lk_slice_of(store->name), name)) {
        store = store->next;
    }
    return store;
}

lk_outcome lk_memory_store_join(struct lk_slice name, const struct lk_memory_options *options,
                                struct lk_memory_store **ret_store, lk_error *error) {
    struct lk_memory_store *store = NULL;

    pthread_mutex_lock(&register_mutex);
    if (name.size > 0) {
        store = find_by_name(name);
    }
    if (store != NULL) {
        store->use_count++;
    } else {
        store = store_new(name, options);
        if (store != NULL && name.size > 0) {
            store->next = register_head;
            register_head = store;
        }
    }
    pthread_mutex_unlock(&register_mutex);
    if (store == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for a store");
    }
    *ret_store = store;
    return LK_OK;
}

void lk_memory_store_leave(struct lk_memory_store *store) {
    struct lk_memory_store **link = &register_head;
    bool is_last;

    pthread_mutex_lock(&register_mutex);
    store->use_count--;
    is_last = store->use_count == 0;
    if (is_last && store->name != NULL) {
        while (*link != store) {
            link = &(*link)->next;
        }
        *link = store->next;
    }
    pthread_mutex_unlock(&register_mutex);
    if (is_last) {
        store_free(store);
    }
}

/* ---- steps and wake-ups ---------------------------------------------------------------------- */

static struct lk_memory_sleeper *sleeper_of(struct lk_sleeper *sleeper) {
    return (struct lk_memory_sleeper *)sleeper; /* its first member */
}

/* A request ended or became weaker: what it locked may be what an item needs. */
static void wake_workers_for_lock(struct lk_memory_store *store, const struct lk_record *record) {
    struct lk_sleeper *each;

    store->work_version++;
    LIST_FOREACH(each, &store->sleepers.list, list) {
        const struct lk_memory_sleeper *sleeper = sleeper_of(each);
        bool concerns = sleeper->queue != NULL && sleeper->wakes_at_every_end;

        for (size_t i = 0; sleeper->queue != NULL && !concerns && i < record->part_count; i++) {
            concerns = lk_path_related(sleeper->queue, &record->parts[i].path);
        }
        if (concerns) {
            lk_sleeper_wake(each);
        }
    }
}

static void wake_workers_of_item(struct lk_memory_store *store, lk_item_ref item) {
    struct lk_item_record record;
    struct lk_sleeper *each;

    lk_model_item_record(store->model, item, &record);
    store->work_version++;
    LIST_FOREACH(each, &store->sleepers.list, list) {
        const struct lk_path *queue = sleeper_of(each)->queue;

        if (queue != NULL && lk_path_equal(queue, &record.queue)) {
            lk_sleeper_wake(each);
        }
    }
}

/* The item may have been the head of strict needs, behind which others wait. */
static void wake_workers_of_dropped(struct lk_memory_store *store, lk_item_ref item) {
    struct lk_item_record record;

    lk_model_item_record(store->model, item, &record);
    if (lk_needs_are_strict(record.needs, record.need_count)) {
        wake_workers_of_item(store, item);
    }
}

static void wake_watchers(struct lk_memory_store *store) {
    struct lk_sleeper *each;

    LIST_FOREACH(each, &store->sleepers.list, list) {
        if (sleeper_of(each)->heeds_events) {
            lk_sleeper_wake(each);
        }
    }
}

static void on_change(struct lk_memory_store *store, const struct lk_change *change) {
    struct lk_record record;

    switch (change->kind) {
    case LK_CHANGE_GRANTED:
        lk_model_record(store->model, change->request, &record);
        lk_sleepers_wake(&store->sleepers, record.id);
        break;
    case LK_CHANGE_RELEASED:
    case LK_CHANGE_WITHDRAWN:
    case LK_CHANGE_PERISHED:
    case LK_CHANGE_BROKEN:
        lk_model_record(store->model, change->request, &record);
        lk_sleepers_wake(&store->sleepers, record.id);
        wake_workers_for_lock(store, &record);
        break;
    case LK_CHANGE_CONVERTED:
        lk_model_record(store->model, change->request, &record);
        wake_workers_for_lock(store, &record);
        break;
    case LK_CHANGE_ITEM_PUSHED:
    case LK_CHANGE_ITEM_REPLACED:
    case LK_CHANGE_ITEM_RETRIED:
    case LK_CHANGE_ITEM_DONE: /* it may have been pushed again */
    case LK_CHANGE_ITEM_FREED:
    case LK_CHANGE_ITEM_UNPARKED:
        wake_workers_of_item(store, change->item);
        break;
    case LK_CHANGE_ITEM_DROPPED:
        wake_workers_of_dropped(store, change->item);
        break;
    case LK_CHANGE_QUEUED:
    case LK_CHANGE_REFRESHED:
    case LK_CHANGE_REVOKED:
    case LK_CHANGE_VALUE_PUT:
    case LK_CHANGE_VALUE_DELETED:
    case LK_CHANGE_VALUE_DOUBTED:
    case LK_CHANGE_ITEM_CLAIMED:
    case LK_CHANGE_ITEM_STOLEN:
    case LK_CHANGE_ITEM_PARKED:
    case LK_CHANGE_ITEM_CANCELLED:
    case LK_CHANGE_ITEM_FORGOTTEN:
    case LK_CHANGE_ITEM_PROGRESSED:
    case LK_CHANGE_QUEUE_COUNTED:
    case LK_CHANGE_QUEUE_FORGOTTEN:
        break;
    }
}

struct lk_times lk_memory_now(const struct lk_memory_store *store) {
    return (struct lk_times){.now_us = store->time->now_us(store->time->context),
                             .wall_us = store->time->wall_us(store->time->context)};
}

const struct lk_effects *lk_memory_step(struct lk_memory_store *store, struct lk_command *command) {
    command->times = lk_memory_now(store);
    return lk_memory_step_at(store, command);
}

const struct lk_effects *lk_memory_step_at(struct lk_memory_store *store,
                                           const struct lk_command *command) {
    const struct lk_effects *effects = lk_model_step(store->model, command);

    for (size_t i = 0; i < effects->change_count; i++) {
        on_change(store, &effects->changes[i]);
    }
    if (lk_memory_events_are_kept(&store->events, command->times.now_us)
        && lk_memory_events_keep(&store->events, store->model, effects, command)) {
        wake_watchers(store);
    }
    return effects;
}

struct lk_times lk_memory_lock(struct lk_memory_store *store) {
    struct lk_command tick = {.kind = LK_COMMAND_TICK};

    pthread_mutex_lock(&store->mutex);
    (void)lk_memory_step(store, &tick);
    return tick.times;
}

/* ---- sleeping -------------------------------------------------------------------------------- */

/* Applies overdue deadlines; returns the time until the next one. */
static int64_t expire(struct lk_memory_store *store) {
    int64_t now_us = store->time->now_us(store->time->context);
    int64_t next_us = lk_model_next_deadline(store->model);

    if (next_us <= now_us) {
        struct lk_command tick = {.kind = LK_COMMAND_TICK};

        (void)lk_memory_step(store, &tick);
        now_us = tick.times.now_us;
        next_us = lk_model_next_deadline(store->model);
    }
    return next_us == LK_NEVER ? SLEEP_US_MAX : next_us - now_us;
}

/*
 * Sleeps until woken, or until the time is up. A wait for work ends at `due_us` in any case, on
 * the store's clock. Called and left with the mutex held, which is free meanwhile.
 */
static lk_outcome sleep_until_woken(struct lk_memory_store *store, struct lk_sleeper *sleeper,
                                    int64_t due_us, int64_t until_us, struct lk_waker *waker) {
    bool is_thrown = false;

    if (!lk_sleeper_enter(&store->sleepers, sleeper, waker)) {
        return LK_INTERNAL;
    }
    while (!is_thrown) {
        int64_t quiet_us = expire(store);
        int64_t left_us = until_us - lk_clock_now_us();
        int64_t due_in_us =
            due_us == LK_NEVER ? LK_NEVER : due_us - store->time->now_us(store->time->context);

        if (sleeper->is_woken || left_us <= 0 || due_in_us <= 0) {
            break;
        }
        pthread_mutex_unlock(&store->mutex);
        is_thrown = lk_waker_sleep(
            sleeper->waker, lk_min(lk_min(quiet_us, due_in_us), lk_min(left_us, SLEEP_US_MAX)));
        pthread_mutex_lock(&store->mutex);
    }
    lk_sleeper_leave(sleeper);
    return is_thrown ? LK_CANCELLED : LK_OK;
}

/* ---- sleeping for a grant -------------------------------------------------------------------- */

void lk_memory_cursor_of_ask(const struct lk_memory_store *store, const struct lk_answer *answer,
                             struct lk_wait_cursor *cursor) {
    cursor->id = lk_model_request_id(store->model, answer->request);
    cursor->version = store->sleepers.version;
    cursor->in_the_way = answer->in_the_way;
}

static lk_outcome await_grant(struct lk_memory_store *store, const struct lk_wait_cursor *cursor,
                              int64_t until_us, struct lk_waker *waker) {
    struct lk_memory_sleeper sleeper = {.base = {.key = cursor->id}};
    lk_outcome outcome = LK_OK;

    pthread_mutex_lock(&store->mutex);
    if (!lk_sleepers_have_missed(&store->sleepers, cursor->id, cursor->version)) {
        outcome = sleep_until_woken(store, &sleeper.base, LK_NEVER, until_us, waker);
    }
    pthread_mutex_unlock(&store->mutex);
    return outcome;
}

/* ---- sleeping for work ----------------------------------------------------------------------- */

void lk_memory_cursor_of_take(const struct lk_memory_store *store, const struct lk_times *times,
                              struct lk_wait_cursor *cursor) {
    cursor->version = store->work_version;
    cursor->taken_us = times->now_us;
}

/*
 * When the next delayed item is due. What was due at the take already and is still delayed was
 * passed over because the queue is paused, and the end of that wakes.
 */
static int64_t next_due(const struct lk_memory_store *store, const struct lk_path *queue,
                        const struct lk_wait_cursor *cursor) {
    int64_t due_us = lk_model_next_due(store->model, queue);

    return due_us > cursor->taken_us ? due_us : LK_NEVER;
}

static lk_outcome await_work(struct lk_memory_store *store, const struct lk_wait_cursor *cursor,
                             int64_t until_us, struct lk_waker *waker) {
    const struct lk_path *queue = &cursor->command->take.queue;
    struct lk_memory_sleeper sleeper = {.queue = queue};
    lk_outcome outcome = LK_OK;

    pthread_mutex_lock(&store->mutex);
    if (store->work_version == cursor->version) {
        sleeper.wakes_at_every_end = lk_model_queue_has_needs(store->model, queue);
        outcome = sleep_until_woken(store, &sleeper.base, next_due(store, queue, cursor), until_us,
                                    waker);
    }
    pthread_mutex_unlock(&store->mutex);
    return outcome;
}

lk_outcome lk_memory_await(struct lk_memory_store *store, const struct lk_wait_cursor *cursor,
                           int64_t until_us, struct lk_waker *waker) {
    return cursor->command->kind == LK_COMMAND_TAKE ? await_work(store, cursor, until_us, waker)
                                                    : await_grant(store, cursor, until_us, waker);
}

/* ---- sleeping for events --------------------------------------------------------------------- */

lk_outcome lk_memory_sleep_for_events(struct lk_memory_store *store, uint64_t after,
                                      int64_t until_us, struct lk_waker *waker) {
    struct lk_memory_sleeper sleeper = {.heeds_events = true};
    lk_outcome outcome = LK_OK;

    pthread_mutex_lock(&store->mutex);
    if (store->events.last_sequence == after) {
        outcome = sleep_until_woken(store, &sleeper.base, LK_NEVER, until_us, waker);
    }
    pthread_mutex_unlock(&store->mutex);
    return outcome;
}

/* ---- events: keeping ------------------------------------------------------------------------- */

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

/* ---- events: asking -------------------------------------------------------------------------- */

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
    return lk_memory_sleep_for_events(lk_memory_store_of(engine), after, until_us, waker);
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
