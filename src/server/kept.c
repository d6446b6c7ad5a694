/* SPDX-License-Identifier: Apache-2.0 */
/* Events as they are kept. */
#include "server/kept.h"

#include <stdlib.h>

static char *add(char *at, struct lk_slice piece) {
    if (piece.size > 0) {
        memcpy(at, piece.bytes, piece.size);
    }
    return at + piece.size;
}

struct lk_kept *lk_kept_make(const struct lk_happening *happening, uint64_t sequence,
                             int64_t at_unix_us) {
    char parts[LK_PARTS_MAX * LK_PART_TEXT_MAX];
    size_t parts_size = lk_parts_write(happening->parts, happening->part_count, parts);
    struct lk_kept *kept =
        malloc(sizeof *kept + parts_size + happening->owner.size + happening->note.size);
    char *at;

    if (kept == NULL) {
        return NULL;
    }
    *kept = (struct lk_kept){
        .sequence = sequence,
        .at_unix_us = at_unix_us,
        .ticket = happening->ticket,
        .token = happening->token,
        .kind = happening->kind,
        .refusal = happening->refusal,
        .attempt = happening->attempt,
        .parts_size = (uint32_t)parts_size,
        .owner_size = (uint16_t)happening->owner.size,
        .note_size = (uint16_t)happening->note.size,
        .is_of_item = happening->is_of_item,
        .is_deletion = happening->is_deletion,
    };
    at = add(kept->text, (struct lk_slice){parts, parts_size});
    at = add(at, happening->owner);
    (void)add(at, happening->note);
    return kept;
}

static bool read_parts(const struct lk_kept *kept, struct lk_part *ret_parts, size_t *ret_count) {
    return lk_parts_read(lk_kept_parts(kept), ret_parts, LK_PARTS_MAX, ret_count) && *ret_count > 0;
}

bool lk_kept_is_below(const struct lk_kept *kept, const struct lk_path *prefix) {
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

bool lk_kept_open(const struct lk_kept *kept, lk_watch_event *ret_event) {
    struct lk_part parts[LK_PARTS_MAX];
    struct lk_happening happening = {
        .kind = kept->kind,
        .refusal = kept->refusal,
        .parts = parts,
        .owner = lk_kept_owner(kept),
        .note = lk_kept_note(kept),
        .ticket = kept->ticket,
        .token = kept->token,
        .attempt = kept->attempt,
        .is_of_item = kept->is_of_item,
        .is_deletion = kept->is_deletion,
    };

    return read_parts(kept, parts, &happening.part_count)
           && lk_watch_event_make(&happening, kept->sequence, kept->at_unix_us / 1000, ret_event);
}
