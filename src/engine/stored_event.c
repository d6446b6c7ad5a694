/* SPDX-License-Identifier: Apache-2.0 */
/* Events as they are kept. */
#include "engine/stored_event.h"

#include <stdlib.h>

static char *add(char *at, struct lk_slice piece) {
    if (piece.size > 0) {
        memcpy(at, piece.bytes, piece.size);
    }
    return at + piece.size;
}

struct lk_stored_event *lk_stored_event_make(const struct lk_event *step_event, uint64_t sequence,
                                             int64_t at_unix_us) {
    char parts[LK_PARTS_MAX * LK_PART_TEXT_MAX];
    size_t parts_size = lk_parts_write(step_event->parts, step_event->part_count, parts);
    struct lk_stored_event *kept =
        malloc(sizeof *kept + parts_size + step_event->owner.size + step_event->note.size
               + step_event->by.size + step_event->reason.size);
    char *at;

    if (kept == NULL) {
        return NULL;
    }
    *kept = (struct lk_stored_event){
        .sequence = sequence,
        .at_unix_us = at_unix_us,
        .ticket = step_event->ticket,
        .token = step_event->token,
        .kind = step_event->kind,
        .refusal = step_event->refusal,
        .attempt = step_event->attempt,
        .parts_size = (uint16_t)parts_size,
        .owner_size = (uint16_t)step_event->owner.size,
        .note_size = (uint16_t)step_event->note.size,
        .by_size = (uint16_t)step_event->by.size,
        .reason_size = (uint16_t)step_event->reason.size,
        .is_of_item = step_event->is_of_item,
        .is_deletion = step_event->is_deletion,
    };
    at = add(kept->text, (struct lk_slice){parts, parts_size});
    at = add(at, step_event->owner);
    at = add(at, step_event->note);
    at = add(at, step_event->by);
    (void)add(at, step_event->reason);
    return kept;
}

static bool read_parts(const struct lk_stored_event *kept, struct lk_part *ret_parts,
                       size_t *ret_count) {
    return lk_parts_read(lk_stored_event_parts(kept), ret_parts, LK_PARTS_MAX, ret_count)
           && *ret_count > 0;
}

bool lk_stored_event_is_below(const struct lk_stored_event *kept, const struct lk_path *prefix) {
    struct lk_part parts[LK_PARTS_MAX];
    size_t count = 0;

    if (prefix->depth == 0) {
        return true;
    }
    if (!read_parts(kept, parts, &count)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (lk_path_contains(prefix, &parts[i].path)) {
            return true;
        }
    }
    return false;
}

bool lk_stored_event_open(const struct lk_stored_event *kept, lk_watch_event *ret_event) {
    struct lk_part parts[LK_PARTS_MAX];
    struct lk_event step_event = {
        .kind = kept->kind,
        .refusal = kept->refusal,
        .parts = parts,
        .owner = lk_stored_event_owner(kept),
        .note = lk_stored_event_note(kept),
        .by = lk_stored_event_by(kept),
        .reason = lk_stored_event_reason(kept),
        .ticket = kept->ticket,
        .token = kept->token,
        .attempt = kept->attempt,
        .is_of_item = kept->is_of_item,
        .is_deletion = kept->is_deletion,
    };

    return read_parts(kept, parts, &step_event.part_count)
           && lk_watch_event_make(&step_event, kept->sequence, kept->at_unix_us / 1000, ret_event);
}
