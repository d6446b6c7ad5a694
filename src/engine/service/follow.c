/* SPDX-License-Identifier: Apache-2.0 */
/* Events (R21), for which the service is asked, and waits by itself; and bounds (R22). */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/happening.h"
#include "engine/service/call.h"
#include "engine/service/service.h"

/* ---- reading events -------------------------------------------------------------------------- */

/* An event as it is read: what is in lists is counted for itself. */
struct told {
    lk_watch_event event;
    char **paths;
    size_t path_count;
    char **parts;
    size_t part_count;
};

static void read_kind(struct lk_reader *reader, const struct lk_resp_value *value, void *record) {
    struct told *told = record;

    reader->is_damaged = reader->is_damaged || !lk_watch_kind_parse(value->text, &told->event.kind);
}

static void read_refusal(struct lk_reader *reader, const struct lk_resp_value *value,
                         void *record) {
    struct told *told = record;

    told->event.refusal = lk_reader_outcome(reader, value);
}

static void read_paths(struct lk_reader *reader, const struct lk_resp_value *value, void *record) {
    struct told *told = record;

    lk_reader_read_texts(reader, value, &told->paths, &told->path_count);
}

static void read_parts(struct lk_reader *reader, const struct lk_resp_value *value, void *record) {
    struct told *told = record;

    lk_reader_read_texts(reader, value, &told->parts, &told->part_count);
}

static const struct lk_field event_fields[] = {
    {.name = "event", .kind = LK_FIELD_OTHER, .read = read_kind},
    {.name = "at_ms", .kind = LK_FIELD_NUMBER, .at = offsetof(struct told, event.at_unix_ms)},
    {.name = "sequence", .kind = LK_FIELD_COUNT, .at = offsetof(struct told, event.sequence)},
    {.name = "refusal", .kind = LK_FIELD_OTHER, .read = read_refusal},
    {.name = "paths", .kind = LK_FIELD_OTHER, .read = read_paths},
    {.name = "parts", .kind = LK_FIELD_OTHER, .read = read_parts},
    {.name = "queue", .kind = LK_FIELD_TEXT, .at = offsetof(struct told, event.queue)},
    {.name = "id", .kind = LK_FIELD_TEXT, .at = offsetof(struct told, event.id)},
    {.name = "attempt", .kind = LK_FIELD_SMALL, .at = offsetof(struct told, event.attempt)},
    {.name = "owner", .kind = LK_FIELD_TEXT, .at = offsetof(struct told, event.owner)},
    {.name = "note", .kind = LK_FIELD_TEXT, .at = offsetof(struct told, event.note)},
    {.name = "ticket", .kind = LK_FIELD_COUNT, .at = offsetof(struct told, event.ticket)},
    {.name = "token", .kind = LK_FIELD_COUNT, .at = offsetof(struct told, event.token)},
    {.name = "deleted", .kind = LK_FIELD_FLAG, .at = offsetof(struct told, event.is_deletion)},
    {.name = NULL},
};

static void free_texts(char **texts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(texts[i]);
    }
    free(texts);
}

/* Into the open, where paths and parts are as many; and none only of a gap. false: they are not. */
static bool settle(struct told *told) {
    lk_watch_event *event = &told->event;
    bool fits = told->path_count == told->part_count
                && (told->path_count == 0) == (event->kind == LK_WATCH_GAP);

    if (fits) {
        event->paths = told->paths;
        event->parts = told->parts;
        event->part_count = told->path_count;
    } else {
        free_texts(told->paths, told->path_count);
        free_texts(told->parts, told->part_count);
    }
    return fits;
}

static void read_events(struct lk_reader *reader, const struct lk_resp_value *array,
                        struct lk_happenings *happenings) {
    static const struct told blank = {.event = {.kind = LK_WATCH_GAP, .refusal = LK_OK}};
    struct lk_records records = {.items = NULL};
    struct told *told;

    lk_reader_read_maps(reader, array, event_fields, &blank, sizeof blank, &records);
    told = records.items;
    happenings->events = calloc(records.count + 1, sizeof *happenings->events);
    reader->is_out_of_memory = reader->is_out_of_memory || happenings->events == NULL;
    for (size_t i = 0; i < records.count; i++) {
        reader->is_damaged = !settle(&told[i]) || reader->is_damaged;
        if (happenings->events != NULL) {
            happenings->events[happenings->count++] = told[i].event;
        } else {
            lk_watch_event_done(&told[i].event);
        }
    }
    free(records.items);
}

/* `[last, [map, ...]]` */
static void read_answer(struct lk_service_answer *answer, const struct lk_event_query *query,
                        struct lk_happenings *happenings) {
    struct lk_reader *reader = &answer->reader;
    struct lk_resp_value value;

    if (answer->head.kind != LK_RESP_ARRAY || answer->head.count != 2
        || !lk_resp_cursor_next(&reader->cursor, &value)) {
        reader->is_damaged = true;
        return;
    }
    happenings->last = (uint64_t)lk_reader_number(reader, &value);
    if (lk_reader_is_well(reader) && lk_resp_cursor_next(&reader->cursor, &value)) {
        read_events(reader, &value, happenings);
    } else {
        reader->is_damaged = true;
    }
    happenings->has_more = lk_happenings_is_full(happenings, query);
}

/* ---- asking for events ----------------------------------------------------------------------- */

static void add_query(struct lk_words *words, const struct lk_event_query *query, int64_t wait_us) {
    lk_words_add_text(words, "EVENTS");
    lk_words_add_prefix(words, query->prefix);
    if (query->after != LK_EVENTS_FROM_NOW) {
        lk_words_add_number(words, "AFTER", (int64_t)query->after);
    }
    lk_words_add_number(words, "COUNT", (int64_t)query->max);
    if (wait_us >= 1000) {
        lk_words_add_number(words, "WAIT", wait_us / 1000);
    }
}

/*
 * The service waits for the first event, for no longer than it counts as watched anyway. Whoever is
 * told nothing because it was away asks again: nothing is missed by that, for the service tells
 * what came behind the last event that was seen, or that there is a gap.
 */
lk_outcome lk_service_events(struct lk_engine *engine, const struct lk_event_query *query,
                             const struct lk_patience *patience,
                             struct lk_happenings **ret_happenings, lk_error *error) {
    int64_t wait_us = query->until_us - lk_clock_now_us();
    struct lk_happenings *happenings = lk_happenings_new(query);
    struct lk_patience longer = *patience;
    struct lk_words words = {.count = 0};
    struct lk_service_answer answer;
    lk_outcome outcome;

    if (happenings == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the events");
    }
    wait_us = wait_us < LK_WATCHED_LEAST_US ? wait_us : LK_WATCHED_LEAST_US;
    if (wait_us > 0 && query->until_us != 0) {
        longer.until_us += wait_us;
    }
    add_query(&words, query, query->until_us != 0 ? wait_us : 0);
    outcome =
        lk_service_call(lk_service_of(engine), &words, LK_SERVICE_AGAIN, &longer, &answer, error);
    if (outcome == LK_OK) {
        read_answer(&answer, query, happenings);
        outcome = lk_service_read_end(&answer.reader, error);
    }
    lk_service_answer_done(&answer);
    lk_words_done(&words);
    if (outcome != LK_OK) {
        lk_happenings_free(happenings);
        return outcome;
    }
    *ret_happenings = happenings;
    return LK_OK;
}

/* The question itself has waited. */
lk_outcome lk_service_await_events(struct lk_engine *engine, uint64_t after, int64_t until_us,
                                   struct lk_waker *waker) {
    (void)engine;
    (void)after;
    (void)until_us;
    return waker != NULL && lk_waker_is_thrown(waker) ? LK_CANCELLED : LK_OK;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static const struct lk_field limit_fields[] = {
    {.name = "live", .kind = LK_FIELD_COUNT, .at = offsetof(lk_limits, live)},
    {.name = "live_per_owner", .kind = LK_FIELD_COUNT, .at = offsetof(lk_limits, live_per_owner)},
    {.name = "live_per_root", .kind = LK_FIELD_COUNT, .at = offsetof(lk_limits, live_per_root)},
    {.name = "waiters_per_path",
     .kind = LK_FIELD_COUNT,
     .at = offsetof(lk_limits, waiters_per_path)},
    {.name = "events", .kind = LK_FIELD_COUNT, .at = offsetof(lk_limits, events)},
    {.name = NULL},
};

/* Setting the same bounds again does no harm. */
static lk_outcome call_for_limits(struct lk_engine *engine, struct lk_words *words,
                                  const struct lk_patience *patience, lk_limits *ret_limits,
                                  lk_error *error) {
    struct lk_service_answer answer;
    lk_limits limits = {.size = sizeof limits};
    lk_outcome outcome =
        lk_service_call(lk_service_of(engine), words, LK_SERVICE_AGAIN, patience, &answer, error);

    if (outcome == LK_OK) {
        lk_reader_read_map(&answer.reader, &answer.head, limit_fields, &limits);
        outcome = lk_service_read_end(&answer.reader, error);
    }
    lk_service_answer_done(&answer);
    lk_words_done(words);
    if (outcome == LK_OK) {
        *ret_limits = limits;
    }
    return outcome;
}

lk_outcome lk_service_limits_get(struct lk_engine *engine, const struct lk_patience *patience,
                                 lk_limits *ret_limits, lk_error *error) {
    struct lk_words words = {.count = 0};

    lk_words_add_text(&words, "LIMITS");
    return call_for_limits(engine, &words, patience, ret_limits, error);
}

static void add_limit(struct lk_words *words, const char *name, uint64_t limit) {
    if (limit != LK_LIMIT_AS_IS) {
        lk_words_add_number(words, name, (int64_t)limit);
    }
}

lk_outcome lk_service_limits_set(struct lk_engine *engine, const lk_limits *limits,
                                 const struct lk_patience *patience, lk_error *error) {
    struct lk_words words = {.count = 0};
    lk_limits now;

    lk_words_add_text(&words, "LIMIT");
    add_limit(&words, "LIVE", limits->live);
    add_limit(&words, "LIVE-PER-OWNER", limits->live_per_owner);
    add_limit(&words, "LIVE-PER-ROOT", limits->live_per_root);
    add_limit(&words, "WAITERS-PER-PATH", limits->waiters_per_path);
    add_limit(&words, "EVENTS", limits->events);
    return call_for_limits(engine, &words, patience, &now, error);
}
