/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events that a store in memory keeps (R21), and its bounds (R22).
 *
 * The last so many, guarded by the store's mutex. The ring is empty and costs nothing unless
 * events are kept by bound, or the store is marked as watched.
 */
#ifndef LK_ENGINE_MEMORY_EVENTS_H
#define LK_ENGINE_MEMORY_EVENTS_H

#include "engine/event_ring.h"

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

#endif
