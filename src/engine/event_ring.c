/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of events. */
#include "engine/event_ring.h"

#include <stdlib.h>

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
