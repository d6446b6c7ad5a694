/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event (R21) as it is kept: in one piece of memory, so that a million of them are affordable,
 * and so that a batch copies it byte by byte.
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

#endif
