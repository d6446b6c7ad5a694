/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event (R21) as it is kept: in one piece of memory, so that a million of them are affordable,
 * and so that a batch has its copy by copying bytes.
 */
#ifndef LK_SERVER_KEPT_H
#define LK_SERVER_KEPT_H

#include "engine/happening.h"

struct lk_kept {
    uint64_t sequence;
    uint64_t batch; /* that it belongs to; 0: it is durable, or need not be */
    int64_t at_unix_us;
    uint64_t ticket;
    uint64_t token;
    lk_watch_kind kind;
    lk_outcome refusal;
    uint32_t attempt;
    uint32_t parts_size;
    uint16_t owner_size;
    uint16_t note_size;
    bool is_of_item;
    bool is_deletion;
    char text[]; /* the parts as text (R2), the owner, the note */
};

/* For free(). NULL: memory is exhausted. */
struct lk_kept *lk_kept_make(const struct lk_happening *happening, uint64_t sequence,
                             int64_t at_unix_us);

static inline size_t lk_kept_bytes(const struct lk_kept *kept) {
    return sizeof *kept + kept->parts_size + kept->owner_size + kept->note_size;
}

static inline struct lk_slice lk_kept_parts(const struct lk_kept *kept) {
    return (struct lk_slice){kept->text, kept->parts_size};
}

static inline struct lk_slice lk_kept_owner(const struct lk_kept *kept) {
    return (struct lk_slice){kept->text + kept->parts_size, kept->owner_size};
}

static inline struct lk_slice lk_kept_note(const struct lk_kept *kept) {
    return (struct lk_slice){kept->text + kept->parts_size + kept->owner_size, kept->note_size};
}

/* Whether a path of it is at or below the prefix; depth 0: everything is. */
bool lk_kept_is_below(const struct lk_kept *kept, const struct lk_path *prefix);

/* In the open. Returns false when memory is exhausted, nothing made. */
bool lk_kept_open(const struct lk_kept *kept, lk_watch_event *ret_event);

#endif
