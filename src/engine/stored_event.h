/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event (R21) as it is kept: in one piece of memory, so that a million of them are affordable,
 * and so that a batch copies it byte by byte. And the last events of a store.
 */
#ifndef LK_ENGINE_STORED_EVENT_H
#define LK_ENGINE_STORED_EVENT_H

#include "engine/event.h"

struct lk_stored_event {
    uint64_t sequence;
    uint64_t batch; /* its batch; 0: it is durable, or need not be */
    int64_t at_unix_us;
    uint64_t ticket;
    uint64_t token;
    lk_watch_kind kind;
    lk_outcome refusal;
    uint32_t attempt;
    uint16_t parts_size;
    uint16_t owner_size;
    uint16_t note_size;
    uint16_t by_size;
    uint16_t reason_size;
    bool is_of_item;
    bool is_deletion;
    char text
        []; /* the parts as text (R2), the owner, the note, the user that broke it, the reason */
};

_Static_assert(LK_PARTS_MAX *LK_PART_TEXT_MAX <= UINT16_MAX, "parts_size can tell");

/* To be freed by free(). NULL: memory is exhausted. */
struct lk_stored_event *lk_stored_event_make(const struct lk_event *step_event, uint64_t sequence,
                                             int64_t at_unix_us);

static inline size_t lk_stored_event_bytes(const struct lk_stored_event *kept) {
    return sizeof *kept + kept->parts_size + kept->owner_size + kept->note_size + kept->by_size
           + kept->reason_size;
}

static inline struct lk_slice lk_stored_event_parts(const struct lk_stored_event *kept) {
    return (struct lk_slice){kept->text, kept->parts_size};
}

static inline struct lk_slice lk_stored_event_owner(const struct lk_stored_event *kept) {
    return (struct lk_slice){kept->text + kept->parts_size, kept->owner_size};
}

static inline struct lk_slice lk_stored_event_note(const struct lk_stored_event *kept) {
    return (struct lk_slice){kept->text + kept->parts_size + kept->owner_size, kept->note_size};
}

static inline struct lk_slice lk_stored_event_by(const struct lk_stored_event *kept) {
    struct lk_slice note = lk_stored_event_note(kept);

    return (struct lk_slice){note.bytes + note.size, kept->by_size};
}

static inline struct lk_slice lk_stored_event_reason(const struct lk_stored_event *kept) {
    struct lk_slice by = lk_stored_event_by(kept);

    return (struct lk_slice){by.bytes + by.size, kept->reason_size};
}

/* Whether one of its paths is at or below the prefix; depth 0: always true. */
bool lk_stored_event_is_below(const struct lk_stored_event *kept, const struct lk_path *prefix);

/* Converts to the public record. Returns false when memory is exhausted, without a result. */
bool lk_stored_event_open(const struct lk_stored_event *kept, lk_watch_event *ret_event);

/* ---- the last events of a store -------------------------------------------------------------- */

/*
 * In the order of their numbers: what is older is dropped. It grows as needed, and is empty at no
 * cost. Not thread-safe.
 */

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
