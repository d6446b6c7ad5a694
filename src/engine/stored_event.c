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

/* ---- the last events of a store -------------------------------------------------------------- */

enum {
    ROOM_MIN = 64,
    ASK_BYTES_MAX = 1024 * 1024, /* of the events in one answer: a page holds no more */
};

static bool reserve_one(struct lk_event_ring *ring) {
    size_t room = ring->room == 0 ? ROOM_MIN : ring->room * 2;
    struct lk_stored_event **events;

    if (ring->count < ring->room) {
        return true;
    }
    events = malloc(room * sizeof *events);
    if (events == NULL) {
        return false;
    }
    for (size_t i = 0; i < ring->count; i++) {
        events[i] = lk_event_ring_at(ring, i);
    }
    free(ring->events);
    ring->events = events;
    ring->room = room;
    ring->first = 0;
    return true;
}

bool lk_event_ring_add(struct lk_event_ring *ring, struct lk_stored_event *kept) {
    if (kept == NULL || !reserve_one(ring)) {
        free(kept);
        return false;
    }
    ring->events[(ring->first + ring->count++) % ring->room] = kept;
    ring->bytes += lk_stored_event_bytes(kept);
    return true;
}

static void drop(struct lk_event_ring *ring, size_t index) {
    struct lk_stored_event *kept = lk_event_ring_at(ring, index);

    ring->bytes -= lk_stored_event_bytes(kept);
    ring->count--;
    free(kept);
}

void lk_event_ring_drop_oldest(struct lk_event_ring *ring, size_t kept_max, uint64_t bytes_max) {
    while (ring->count > kept_max || (ring->count > 0 && ring->bytes > bytes_max)) {
        drop(ring, 0);
        ring->first = (ring->first + 1) % ring->room;
    }
    if (ring->count == 0) {
        free(ring->events);
        *ring = (struct lk_event_ring){.count = 0};
    }
}

void lk_event_ring_drop_newest(struct lk_event_ring *ring) {
    drop(ring, ring->count - 1);
}

size_t lk_event_ring_first_after(const struct lk_event_ring *ring, uint64_t after) {
    size_t low = 0;
    size_t high = ring->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lk_event_ring_at(ring, middle)->sequence <= after) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool collect_one(const struct lk_stored_event *kept, const struct lk_event_query *query,
                        struct lk_event_page *page) {
    lk_watch_event event;

    if (query->prefix != NULL && !lk_stored_event_is_below(kept, query->prefix)) {
        return lk_event_page_pass(page, kept->sequence, kept->at_unix_us / 1000);
    }
    return lk_stored_event_open(kept, &event) && lk_event_page_add(page, query, &event);
}

struct lk_event_page *lk_event_ring_ask(const struct lk_event_ring *ring,
                                        const struct lk_event_query *query, uint64_t last,
                                        int64_t now_unix_ms) {
    struct lk_event_page *page = lk_event_page_new(query);
    bool is_whole = page != NULL;
    size_t i = lk_event_ring_first_after(ring, query->after);
    size_t bytes = 0;

    for (; is_whole && i < ring->count && !lk_event_page_is_full(page, query)
           && bytes < ASK_BYTES_MAX;
         i++) {
        const struct lk_stored_event *kept = lk_event_ring_at(ring, i);
        size_t count = page->count;

        is_whole = collect_one(kept, query, page);
        bytes += page->count > count ? lk_stored_event_bytes(kept) : 0;
    }
    if (is_whole && i < ring->count) {
        page->has_more = true;
    } else {
        is_whole = is_whole && lk_event_page_end(page, query, last, now_unix_ms);
    }
    if (!is_whole) {
        lk_event_page_free(page);
        return NULL;
    }
    return page;
}
