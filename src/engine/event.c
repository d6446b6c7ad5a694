/* SPDX-License-Identifier: Apache-2.0 */
/* Events (R21): those of a step of the model, and those that watchers get. */
#include "engine/event.h"

#include <stdlib.h>

#include "base/text.h"

/* The state of one traversal. Large: two records. */
struct telling {
    const struct lk_model *model;
    const struct lk_command *command;
    lk_visit_event *visit;
    void *context;
    lk_ref claim; /* the claim that changed last, to which the next item belongs; 0: none */
    struct lk_record record; /* of the request that changed last */
    struct lk_item_record item;
};

static bool tell_request(struct telling *telling, lk_watch_kind kind) {
    const struct lk_record *record = &telling->record;
    struct lk_event step_event = {
        .kind = kind,
        .parts = record->parts,
        .part_count = record->part_count,
        .owner = record->owner,
        .note = record->note,
        .ticket = record->ticket,
        .token = record->token,
        .is_of_item = record->is_claim,
    };

    if (kind == LK_WATCH_BROKEN) {
        step_event.by = telling->command->broken.by;
        step_event.reason = telling->command->broken.reason;
    }
    return telling->visit(telling->context, &step_event);
}

/* A change of a request. The grant and the release of a claim are events of its item. */
static bool tell_request_change(struct telling *telling, const struct lk_change *change) {
    static const lk_watch_kind kinds[] = {
        [LK_CHANGE_QUEUED] = LK_WATCH_QUEUED,       [LK_CHANGE_GRANTED] = LK_WATCH_GRANTED,
        [LK_CHANGE_CONVERTED] = LK_WATCH_CONVERTED, [LK_CHANGE_REVOKED] = LK_WATCH_BROKEN,
        [LK_CHANGE_RELEASED] = LK_WATCH_RELEASED,   [LK_CHANGE_WITHDRAWN] = LK_WATCH_WITHDRAWN,
        [LK_CHANGE_PERISHED] = LK_WATCH_PERISHED,   [LK_CHANGE_BROKEN] = LK_WATCH_BROKEN,
    };

    lk_model_record(telling->model, change->request, &telling->record);
    telling->claim = telling->record.is_claim ? change->request : 0;
    if (telling->claim != 0
        && (change->kind == LK_CHANGE_GRANTED || change->kind == LK_CHANGE_RELEASED)) {
        return true;
    }
    return tell_request(telling, kinds[change->kind]);
}

/* The owner that writes a value: by a put, or with a release. */
static struct lk_slice writer(const struct lk_command *command) {
    switch (command->kind) {
    case LK_COMMAND_PUT:
        return command->put.owner;
    case LK_COMMAND_RELEASE:
        return command->release.target.owner;
    default:
        return (struct lk_slice){NULL, 0};
    }
}

static bool tell_value(struct telling *telling, const struct lk_change *change) {
    struct lk_value_record value;
    struct lk_part part = {.mode = LK_EXCLUSIVE};
    const struct lk_event step_event = {
        .kind = LK_WATCH_VALUE_WRITTEN,
        .parts = &part,
        .part_count = 1,
        .owner = writer(telling->command),
        .is_deletion = change->kind == LK_CHANGE_VALUE_DELETED,
    };

    lk_model_value_record(telling->model, change->value, &value);
    (void)lk_path_parse(lk_slice_of(value.path), &part.path, NULL);
    return telling->visit(telling->context, &step_event);
}

/* A change of an item: with all that its claim locked, where a claim has just begun or ended. */
static bool tell_item(struct telling *telling, const struct lk_change *change, lk_watch_kind kind) {
    const struct lk_record *record = &telling->record;
    const struct lk_item_record *item = &telling->item;
    struct lk_item_path item_path;
    struct lk_part part = {.mode = LK_EXCLUSIVE};
    struct lk_event step_event = {
        .kind = kind, .parts = &part, .part_count = 1, .is_of_item = true};

    lk_model_item_record(telling->model, change->item, &telling->item);
    step_event.attempt = item->attempts;
    if (telling->claim != 0) {
        step_event.parts = record->parts;
        step_event.part_count = record->part_count;
        step_event.owner = record->owner;
        step_event.note = record->note;
        step_event.ticket = record->ticket;
        step_event.token = record->token;
    } else {
        (void)lk_item_path_make(&item->queue, item->id, &item_path, NULL);
        part.path = item_path.path;
    }
    telling->claim = 0;
    return telling->visit(telling->context, &step_event);
}

static bool tell_change(struct telling *telling, const struct lk_change *change) {
    switch (change->kind) {
    case LK_CHANGE_QUEUED:
    case LK_CHANGE_GRANTED:
    case LK_CHANGE_CONVERTED:
    case LK_CHANGE_REVOKED:
    case LK_CHANGE_RELEASED:
    case LK_CHANGE_WITHDRAWN:
    case LK_CHANGE_PERISHED:
    case LK_CHANGE_BROKEN:
        return tell_request_change(telling, change);
    case LK_CHANGE_VALUE_PUT:
    case LK_CHANGE_VALUE_DELETED:
        return tell_value(telling, change);
    case LK_CHANGE_ITEM_PUSHED:
    case LK_CHANGE_ITEM_REPLACED:
        telling->claim = 0;
        return tell_item(telling, change, LK_WATCH_PUSHED);
    case LK_CHANGE_ITEM_CLAIMED:
        return tell_item(telling, change, LK_WATCH_CLAIMED);
    case LK_CHANGE_ITEM_STOLEN:
        return tell_item(telling, change, LK_WATCH_STOLEN);
    case LK_CHANGE_ITEM_DONE:
        return tell_item(telling, change, LK_WATCH_DONE);
    case LK_CHANGE_ITEM_RETRIED:
        return tell_item(telling, change, LK_WATCH_RETRIED);
    case LK_CHANGE_ITEM_PARKED:
        return tell_item(telling, change, LK_WATCH_PARKED);
    case LK_CHANGE_ITEM_UNPARKED:
        telling->claim = 0;
        return tell_item(telling, change, LK_WATCH_UNPARKED);
    case LK_CHANGE_ITEM_DROPPED:
        telling->claim = 0;
        return tell_item(telling, change, LK_WATCH_DROPPED);
    case LK_CHANGE_REFRESHED:
    case LK_CHANGE_VALUE_DOUBTED:
    case LK_CHANGE_ITEM_FREED:
    case LK_CHANGE_ITEM_CANCELLED: /* the break of its claim is told */
    case LK_CHANGE_ITEM_FORGOTTEN:
    case LK_CHANGE_ITEM_PROGRESSED:
    case LK_CHANGE_QUEUE_COUNTED:
    case LK_CHANGE_QUEUE_FORGOTTEN:
        break;
    }
    return true;
}

/* A take that finds nothing is no event: workers poll all the time. */
static bool tell_refusal(struct telling *telling, lk_outcome outcome) {
    const struct lk_command *command = telling->command;
    struct lk_part part = {.mode = LK_EXCLUSIVE};
    struct lk_event step_event = {
        .kind = LK_WATCH_REFUSED, .refusal = outcome, .parts = &part, .part_count = 1};

    if (command->kind == LK_COMMAND_ASK) {
        step_event.parts = command->ask.parts;
        step_event.part_count = command->ask.part_count;
        step_event.owner = command->ask.owner;
        step_event.note = command->ask.note_given ? command->ask.note : step_event.note;
    } else if (command->kind == LK_COMMAND_PUT) {
        part.path = command->put.path;
        step_event.owner = command->put.owner;
    } else if (command->kind == LK_COMMAND_TAKE && outcome == LK_FULL) {
        part.path = command->take.queue;
        step_event.owner = command->take.owner;
    } else {
        return true;
    }
    return telling->visit(telling->context, &step_event);
}

bool lk_events_of_step(const struct lk_model *model, const struct lk_effects *effects,
                       const struct lk_command *command, lk_visit_event *visit, void *context) {
    lk_outcome outcome = effects->answer.outcome;
    struct telling telling;
    bool goes_on = true;

    telling.model = model;
    telling.command = command;
    telling.visit = visit;
    telling.context = context;
    telling.claim = 0;
    for (size_t i = 0; i < effects->change_count && goes_on; i++) {
        goes_on = tell_change(&telling, &effects->changes[i]);
    }
    if (goes_on && (outcome == LK_BUSY || outcome == LK_DEADLOCK || outcome == LK_FULL)) {
        goes_on = tell_refusal(&telling, outcome);
    }
    return goes_on;
}

/* ---- decoded events, and pages of them ------------------------------------------------------- */

/* The pages answer a query. */

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
