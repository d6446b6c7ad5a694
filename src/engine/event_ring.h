/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last events of a store (R21), in the order of their numbers: what is older is dropped. It
 * grows as needed, and is empty at no cost. Not thread-safe.
 */
#ifndef LK_ENGINE_EVENT_RING_H
#define LK_ENGINE_EVENT_RING_H

#include "engine/stored_event.h"

/* Zeroed: empty. Emptied by lk_event_ring_drop_oldest(ring, 0, 0), it owns nothing. */
struct lk_event_ring {
    struct lk_stored_event **events; /* `count` from `first` on, modulo `room`; owned */
    size_t room;
    size_t first;
    size_t count;
    uint64_t bytes; /* size of these events */
};

/* Index 0 is the oldest, count - 1 the newest. */
static inline struct lk_stored_event *lk_event_ring_at(const struct lk_event_ring *ring,
                                                       size_t index) {
    return ring->events[(ring->first + index) % ring->room];
}

/* NULL: the ring is empty. */
static inline const struct lk_stored_event *lk_event_ring_newest(const struct lk_event_ring *ring) {
    return ring->count > 0 ? lk_event_ring_at(ring, ring->count - 1) : NULL;
}

/*
 * Takes ownership of an event that is newer than all others. Returns false when memory is exhausted
 * (or was when the event was made: NULL), and the event is freed.
 */
bool lk_event_ring_add(struct lk_event_ring *ring, struct lk_stored_event *kept);

/* Drops the oldest events until at most `kept_max` with at most `bytes_max` bytes remain. */
void lk_event_ring_drop_oldest(struct lk_event_ring *ring, size_t kept_max, uint64_t bytes_max);

/* The ring is not empty. */
void lk_event_ring_drop_newest(struct lk_event_ring *ring);

/* The index of the first event after the number `after`; `count`: there is none. */
size_t lk_event_ring_first_after(const struct lk_event_ring *ring, uint64_t after);

/* Answers a query; `last` is the last number drawn. NULL: memory is exhausted. */
struct lk_event_page *lk_event_ring_ask(const struct lk_event_ring *ring,
                                        const struct lk_event_query *query, uint64_t last,
                                        int64_t now_unix_ms);

#endif
