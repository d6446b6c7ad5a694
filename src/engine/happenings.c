/* SPDX-License-Identifier: Apache-2.0 */
/* Events in the open, and the answers to who asks for them. */
#include <stdlib.h>

#include "base/text.h"
#include "engine/happening.h"

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

void lk_watch_event_done(lk_watch_event *event) {
    for (size_t i = 0; i < event->part_count; i++) {
        free(event->paths[i]);
        free(event->parts[i]);
    }
    free(event->paths);
    free(event->parts);
    free(event->owner);
    free(event->note);
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

static bool fill_parts(const struct lk_happening *happening, lk_watch_event *event) {
    char text[LK_PART_TEXT_MAX];
    bool is_complete = make_room_for_parts(event, happening->part_count);

    for (size_t i = 0; is_complete && i < happening->part_count; i++) {
        const struct lk_part *part = &happening->parts[i];
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

bool lk_watch_event_make(const struct lk_happening *happening, uint64_t sequence,
                         int64_t at_unix_ms, lk_watch_event *ret_event) {
    bool is_complete = true;
    lk_watch_event event = {
        .kind = happening->kind,
        .refusal = happening->refusal,
        .sequence = sequence,
        .at_unix_ms = at_unix_ms,
        .owner = copy_if_any(happening->owner, &is_complete),
        .note = copy_if_any(happening->note, &is_complete),
        .ticket = happening->ticket,
        .token = happening->token,
        .attempt = happening->attempt,
        .is_deletion = happening->is_deletion,
    };

    is_complete = fill_parts(happening, &event) && is_complete;
    if (happening->is_of_item) {
        is_complete = fill_item(&happening->parts[0].path, &event) && is_complete;
    }
    if (!is_complete) {
        lk_watch_event_done(&event);
        return false;
    }
    *ret_event = event;
    return true;
}

bool lk_watch_event_copy(const lk_watch_event *event, lk_watch_event *ret_event) {
    lk_watch_event copy = *event;
    bool is_complete = true;

    copy.owner = copy_if_any(lk_slice_of(event->owner), &is_complete);
    copy.note = copy_if_any(lk_slice_of(event->note), &is_complete);
    copy.queue = copy_if_any(lk_slice_of(event->queue), &is_complete);
    copy.id = copy_if_any(lk_slice_of(event->id), &is_complete);
    is_complete = make_room_for_parts(&copy, event->part_count) && is_complete;
    for (size_t i = 0; i < copy.part_count; i++) {
        copy.paths[i] = copy_if_any(lk_slice_of(event->paths[i]), &is_complete);
        copy.parts[i] = copy_if_any(lk_slice_of(event->parts[i]), &is_complete);
    }
    if (!is_complete) {
        lk_watch_event_done(&copy);
        return false;
    }
    *ret_event = copy;
    return true;
}

/* ---- an answer ------------------------------------------------------------------------------- */

struct lk_happenings *lk_happenings_new(const struct lk_event_query *query) {
    struct lk_happenings *happenings = calloc(1, sizeof *happenings);

    if (happenings != NULL) {
        happenings->last = query->after;
    }
    return happenings;
}

void lk_happenings_free(struct lk_happenings *happenings) {
    if (happenings == NULL) {
        return;
    }
    for (size_t i = 0; i < happenings->count; i++) {
        lk_watch_event_done(&happenings->events[i]);
    }
    free(happenings->events);
    free(happenings);
}

bool lk_happenings_is_full(const struct lk_happenings *happenings,
                           const struct lk_event_query *query) {
    return happenings->count >= query->max;
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

static bool append(struct lk_happenings *happenings, lk_watch_event *event) {
    if (happenings->count == happenings->room) {
        size_t room = happenings->room == 0 ? ROOM_MIN : happenings->room * 2;
        lk_watch_event *events = realloc(happenings->events, room * sizeof *events);
        if (events == NULL) {
            lk_watch_event_done(event);
            return false;
        }
        happenings->events = events;
        happenings->room = room;
    }
    happenings->events[happenings->count++] = *event;
    return true;
}

static bool append_gap(struct lk_happenings *happenings, uint64_t sequence, int64_t at_unix_ms) {
    lk_watch_event gap = {.kind = LK_WATCH_GAP, .sequence = sequence, .at_unix_ms = at_unix_ms};

    happenings->last = sequence;
    return append(happenings, &gap);
}

bool lk_happenings_pass(struct lk_happenings *happenings, uint64_t sequence, int64_t at_unix_ms) {
    if (sequence != happenings->last + 1 && !append_gap(happenings, sequence - 1, at_unix_ms)) {
        return false;
    }
    happenings->last = sequence;
    return true;
}

bool lk_happenings_add(struct lk_happenings *happenings, const struct lk_event_query *query,
                       lk_watch_event *event) {
    if (!lk_happenings_pass(happenings, event->sequence, event->at_unix_ms)) {
        lk_watch_event_done(event);
        return false;
    }
    if (!is_wanted(event, query->prefix)) {
        lk_watch_event_done(event);
        return true;
    }
    return append(happenings, event);
}

bool lk_happenings_end(struct lk_happenings *happenings, const struct lk_event_query *query,
                       uint64_t last_sequence, int64_t now_unix_ms) {
    if (query->after == LK_EVENTS_FROM_NOW) {
        happenings->last = last_sequence;
        return true;
    }
    return happenings->last == last_sequence || append_gap(happenings, last_sequence, now_unix_ms);
}
