/* SPDX-License-Identifier: Apache-2.0 */
/* Events in decoded form, and the pages that answer a query. */
#include <stdlib.h>

#include "base/text.h"
#include "engine/event.h"

enum { ROOM_MIN = 16 };

bool lk_watch_kind_parse(struct lk_slice name, lk_watch_kind *ret_kind) {
    for (int kind = 0; kind < LK_WATCH_KIND_COUNT; kind++) {
        if (lk_slice_equal(name, lk_slice_of(lk_watch_kind_name((lk_watch_kind)kind)))) {
            *ret_kind = (lk_watch_kind)kind;
            return true;
        }
    }
    return false;
}

/* ---- one event ------------------------------------------------------------------------------- */

static void free_texts(char **texts, size_t count) {
    for (size_t i = 0; texts != NULL && i < count; i++) {
        free(texts[i]);
    }
    free(texts);
}

void lk_watch_event_done(lk_watch_event *event) {
    free_texts(event->paths, event->part_count);
    free_texts(event->parts, event->part_count);
    free(event->owner);
    free(event->user);
    free(event->note);
    free(event->by);
    free(event->reason);
    free(event->queue);
    free(event->id);
    *event = (lk_watch_event){.kind = LK_WATCH_GAP};
}

/* A copy, NULL of nothing; *is_complete becomes false when memory is exhausted. */
static char *copy_if_any(struct lk_slice text, bool *is_complete) {
    char *copy = text.size > 0 ? lk_text_copy(text) : NULL;

    *is_complete = *is_complete && (copy != NULL || text.size == 0);
    return copy;
}

static bool make_room_for_parts(lk_watch_event *event, size_t count) {
    event->paths = calloc(count, sizeof *event->paths);
    event->parts = calloc(count, sizeof *event->parts);
    event->part_count = event->paths != NULL && event->parts != NULL ? count : 0;
    return event->part_count > 0;
}

static bool fill_parts(const struct lk_event *step_event, lk_watch_event *event) {
    char text[LK_PART_TEXT_MAX];
    bool is_complete = make_room_for_parts(event, step_event->part_count);

    for (size_t i = 0; is_complete && i < step_event->part_count; i++) {
        const struct lk_part *part = &step_event->parts[i];
        size_t size = lk_parts_write(part, 1, text);
        event->paths[i] =
            copy_if_any((struct lk_slice){part->path.bytes, part->path.size}, &is_complete);
        event->parts[i] = copy_if_any((struct lk_slice){text, size}, &is_complete);
    }
    return is_complete;
}

static bool fill_item(const struct lk_path *path, lk_watch_event *event) {
    struct lk_slice id = lk_path_segment(path, path->depth - 1u);
    bool is_complete = true;

    if (path->depth > 1) {
        event->queue =
            copy_if_any((struct lk_slice){path->bytes, path->size - id.size - 1u}, &is_complete);
        event->id = copy_if_any(id, &is_complete);
    }
    return is_complete;
}

bool lk_watch_event_make(const struct lk_event *step_event, uint64_t sequence, int64_t at_unix_ms,
                         lk_watch_event *ret_event) {
    bool is_complete = true;
    lk_watch_event event = {
        .kind = step_event->kind,
        .refusal = step_event->refusal,
        .sequence = sequence,
        .at_unix_ms = at_unix_ms,
        .owner = copy_if_any(step_event->owner, &is_complete),
        .note = copy_if_any(step_event->note, &is_complete),
        .by = copy_if_any(step_event->by, &is_complete),
        .reason = copy_if_any(step_event->reason, &is_complete),
        .ticket = step_event->ticket,
        .token = step_event->token,
        .attempt = step_event->attempt,
        .is_deletion = step_event->is_deletion,
    };

    is_complete = fill_parts(step_event, &event) && is_complete;
    if (step_event->is_of_item) {
        is_complete = fill_item(&step_event->parts[0].path, &event) && is_complete;
    }
    if (!is_complete) {
        lk_watch_event_done(&event);
        return false;
    }
    *ret_event = event;
    return true;
}

/* ---- an answer ------------------------------------------------------------------------------- */

struct lk_event_page *lk_event_page_new(const struct lk_event_query *query) {
    struct lk_event_page *page = calloc(1, sizeof *page);

    if (page != NULL) {
        page->last = query->after;
    }
    return page;
}

void lk_event_page_free(struct lk_event_page *page) {
    if (page == NULL) {
        return;
    }
    for (size_t i = 0; i < page->count; i++) {
        lk_watch_event_done(&page->events[i]);
    }
    free(page->events);
    free(page);
}

bool lk_event_page_is_full(const struct lk_event_page *page, const struct lk_event_query *query) {
    return page->count >= query->max;
}

static bool is_wanted(const lk_watch_event *event, const struct lk_path *prefix) {
    bool wanted = prefix == NULL;

    for (size_t i = 0; i < event->part_count && !wanted; i++) {
        struct lk_slice path = lk_slice_of(event->paths[i]);
        wanted = path.size >= prefix->size && memcmp(path.bytes, prefix->bytes, prefix->size) == 0
                 && (path.size == prefix->size || path.bytes[prefix->size] == '/');
    }
    return wanted;
}

static bool append(struct lk_event_page *page, lk_watch_event *event) {
    if (page->count == page->room) {
        size_t room = page->room == 0 ? ROOM_MIN : page->room * 2;
        lk_watch_event *events = realloc(page->events, room * sizeof *events);
        if (events == NULL) {
            lk_watch_event_done(event);
            return false;
        }
        page->events = events;
        page->room = room;
    }
    page->events[page->count++] = *event;
    return true;
}

static bool append_gap(struct lk_event_page *page, uint64_t sequence, int64_t at_unix_ms) {
    lk_watch_event gap = {.kind = LK_WATCH_GAP, .sequence = sequence, .at_unix_ms = at_unix_ms};

    page->last = sequence;
    return append(page, &gap);
}

bool lk_event_page_pass(struct lk_event_page *page, uint64_t sequence, int64_t at_unix_ms) {
    if (sequence != page->last + 1 && !append_gap(page, sequence - 1, at_unix_ms)) {
        return false;
    }
    page->last = sequence;
    return true;
}

bool lk_event_page_add(struct lk_event_page *page, const struct lk_event_query *query,
                       lk_watch_event *event) {
    if (!lk_event_page_pass(page, event->sequence, event->at_unix_ms)) {
        lk_watch_event_done(event);
        return false;
    }
    if (!is_wanted(event, query->prefix)) {
        lk_watch_event_done(event);
        return true;
    }
    return append(page, event);
}

bool lk_event_page_end(struct lk_event_page *page, const struct lk_event_query *query,
                       uint64_t last_sequence, int64_t now_unix_ms) {
    if (query->after == LK_EVENTS_FROM_NOW) {
        page->last = last_sequence;
        return true;
    }
    return page->last == last_sequence || append_gap(page, last_sequence, now_unix_ms);
}
