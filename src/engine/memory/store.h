/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store in memory: the model, the threads that sleep on it, the record of breaks, and events.
 *
 * Every decision goes through lk_memory_step(), which wakes the threads that it concerns. Shared by
 * opens of the same name, counted. Not known here: URLs, results, the table of operations.
 */
#ifndef LK_ENGINE_MEMORY_STORE_H
#define LK_ENGINE_MEMORY_STORE_H

#include <pthread.h>

#include "base/sleepers.h"
#include "engine/memory/memory.h"
#include "engine/reply/reply.h"
#include "engine/stored_event.h"

/* ---- events and bounds ----------------------------------------------------------------------- */

/*
 * The events that a store keeps (R21), and its bounds (R22).
 *
 * The last so many, guarded by the store's mutex. The ring is empty and costs nothing unless
 * events are kept by bound, or the store is marked as watched.
 */

struct lk_memory_events {
    struct lk_event_ring ring;
    size_t kept_max;          /* by bound; 0: only while the store is watched */
    uint64_t last_sequence;   /* drawn */
    int64_t watched_until_us; /* on the store's clock */
};

/* Whether what happens at this moment is kept. */
static inline bool lk_memory_events_are_kept(const struct lk_memory_events *events,
                                             int64_t now_us) {
    return events->kept_max > 0 || events->watched_until_us > now_us;
}

/*
 * Keeps what the step has done; whether that was anything. Where memory is exhausted an event is
 * left out, and its number stays unused: watchers get a gap.
 */
bool lk_memory_events_keep(struct lk_memory_events *events, const struct lk_model *model,
                           const struct lk_effects *effects, const struct lk_command *command);

/* Marks the store as watched. What happened while it was not is a hole in the numbers. */
void lk_memory_events_mark(struct lk_memory_events *events, int64_t now_us);

/* Keeps so many at all times from now on; 0: only while the store is watched. */
void lk_memory_events_bound(struct lk_memory_events *events, size_t kept_max, int64_t now_us);

/* Of the engine's table. */
extern const struct lk_event_ops lk_memory_event_ops;
extern const struct lk_limit_ops lk_memory_limit_ops;

/* ---- the store ------------------------------------------------------------------------------- */

/* A wait for a grant, for work or for events; lives on the sleeping thread's stack. */
struct lk_memory_sleeper {
    struct lk_sleeper base;      /* its key is the id of the request it waits for; 0: none */
    const struct lk_path *queue; /* the work it waits for; NULL: none */
    bool wakes_at_every_end;     /* items of the queue need locks that may be anywhere */
    bool heeds_events;           /* any */
};

struct lk_memory_store {
    pthread_mutex_t mutex; /* guards everything below but the last three */
    struct lk_model *model;
    const struct lk_time_source *time;
    struct lk_sleepers sleepers; /* each one in an lk_memory_sleeper; woken by grants and ends */
    lk_audit *audit;
    struct lk_quotas quotas; /* R22: those of the model */
    struct lk_memory_events events;
    uint64_t work_version; /* how many changes may have made something claimable, in any queue */

    char *name; /* NULL: private. These three are guarded by the register of names */
    size_t use_count;
    struct lk_memory_store *next;
};

struct lk_memory_engine {
    struct lk_engine engine;
    struct lk_memory_store *store;
};

static inline struct lk_memory_store *lk_memory_store_of(struct lk_engine *engine) {
    return ((struct lk_memory_engine *)engine)->store;
}

/* The store of that name, made if there is none. lk_memory_store_leave() gives it back. */
lk_outcome lk_memory_store_join(struct lk_slice name, const struct lk_memory_options *options,
                                struct lk_memory_store **ret_store, lk_error *error);
void lk_memory_store_leave(struct lk_memory_store *store);

/*
 * One step at the store's present time, with the mutex held: event->times is filled in here, and
 * stays readable for the answer.
 */
const struct lk_effects *lk_memory_step(struct lk_memory_store *store, struct lk_command *command);

/* One step at the command's times, which are this store's and not earlier than the last step's. */
const struct lk_effects *lk_memory_step_at(struct lk_memory_store *store,
                                           const struct lk_command *command);

/* The store's present time. */
struct lk_times lk_memory_now(const struct lk_memory_store *store);

/* Expires what is overdue and leaves the mutex held, so that what follows sees only the living. */
struct lk_times lk_memory_lock(struct lk_memory_store *store);

/*
 * Fills the wait cursor of an ask that waits, or of a take that was BUSY at `times`. With the
 * mutex.
 */
void lk_memory_cursor_of_ask(const struct lk_memory_store *store, const struct lk_answer *answer,
                             struct lk_wait_cursor *cursor);
void lk_memory_cursor_of_take(const struct lk_memory_store *store, const struct lk_times *times,
                              struct lk_wait_cursor *cursor);

/* Sleeps as the table's await() does; without the mutex. */
lk_outcome lk_memory_await(struct lk_memory_store *store, const struct lk_wait_cursor *cursor,
                           int64_t until_us, struct lk_waker *waker);

/* Sleeps as the event table's await() does; without the mutex. */
lk_outcome lk_memory_sleep_for_events(struct lk_memory_store *store, uint64_t after,
                                      int64_t until_us, struct lk_waker *waker);

#endif
