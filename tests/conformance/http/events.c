/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /v1/events: a stream of server-sent events. It goes on from one question to the next where
 * each continues the one before, and no follower can have left and come back meanwhile; else a
 * stream begins again behind the last id, as browsers do it. One follower at a time.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/event.h"
#include "http.h"

enum {
    PREFIX_BYTES_MAX = LK_PATH_BYTES_MAX + 1,
    HEADER_BYTES_MAX = 64,
    POLL_MS_MAX = 1000,
    BACKLOG_MS = 20
};

struct http_stream {
    CURLM *multi;
    CURL *easy;
    struct curl_slist *headers;
    struct lk_buffer unread;
    uint64_t position; /* the last id that was said */
    bool has_position; /* one was */
    bool is_over;
    bool is_left; /* the last question found nothing, and no call waits for more */
    char prefix[PREFIX_BYTES_MAX];
};

void http_stream_free(struct http_stream *stream) {
    if (stream == NULL) {
        return;
    }
    if (stream->easy != NULL) {
        curl_multi_remove_handle(stream->multi, stream->easy);
        curl_easy_cleanup(stream->easy);
    }
    curl_multi_cleanup(stream->multi);
    curl_slist_free_all(stream->headers);
    lk_buffer_done(&stream->unread);
    free(stream);
}

/* ---- the stream ------------------------------------------------------------------------------ */

static size_t receive(char *bytes, size_t size, size_t count, void *context) {
    struct http_stream *stream = context;

    lk_buffer_add(&stream->unread, bytes, size * count);
    return stream->unread.failed ? 0 : size * count;
}

static void name_prefix(const struct lk_path *prefix, char ret_name[PREFIX_BYTES_MAX]) {
    struct lk_text text = lk_text_in(ret_name, PREFIX_BYTES_MAX);

    if (prefix != NULL) {
        lk_text_add(&text, (struct lk_slice){prefix->bytes, prefix->size});
    }
}

/* A follower that comes back sends the last id as browsers do. */
static bool begin(struct http_stream *stream, const struct http_store *store,
                  const struct lk_event_query *query) {
    char *target = http_target("/v1/events?prefix=", query->prefix, "");
    char header[HEADER_BYTES_MAX];
    struct lk_text text = lk_text_in(header, sizeof header);

    lk_text_format(&text, "Last-Event-ID:");
    if (query->after != LK_EVENTS_FROM_NOW) {
        lk_text_format(&text, " %llu", (unsigned long long)query->after);
    }
    name_prefix(query->prefix, stream->prefix);
    stream->multi = curl_multi_init();
    stream->headers = curl_slist_append(NULL, header);
    stream->easy = target != NULL ? http_handle_new(store, target) : NULL;
    free(target);
    return stream->multi != NULL && stream->headers != NULL && stream->easy != NULL
           && curl_easy_setopt(stream->easy, CURLOPT_HTTPHEADER, stream->headers) == CURLE_OK
           && curl_easy_setopt(stream->easy, CURLOPT_WRITEFUNCTION, receive) == CURLE_OK
           && curl_easy_setopt(stream->easy, CURLOPT_WRITEDATA, stream) == CURLE_OK
           && curl_multi_add_handle(stream->multi, stream->easy) == CURLM_OK;
}

/* Takes in what has come. */
static void pump(struct http_stream *stream) {
    int running = 0;

    if (curl_multi_perform(stream->multi, &running) != CURLM_OK || running == 0) {
        stream->is_over = true;
    }
}

static bool has_whole_event(const struct http_stream *stream) {
    return memmem(stream->unread.bytes != NULL ? stream->unread.bytes : "", stream->unread.size,
                  "\n\n", 2)
           != NULL;
}

/* Until there is a whole event, or the patience is over (LK_TIMEOUT). */
static lk_outcome await_event(struct http_stream *stream, const struct lk_patience *patience) {
    struct curl_waitfd thrown = {.fd = -1, .events = CURL_WAIT_POLLIN};

    if (patience->waker != NULL) {
        thrown.fd = lk_waker_thrown_descriptor(patience->waker);
    }
    for (;;) {
        int64_t left_ms = (patience->until_us - lk_clock_now_us()) / 1000;
        pump(stream);
        if (has_whole_event(stream)) {
            return LK_OK;
        }
        if (stream->is_over) {
            return LK_UNAVAILABLE;
        }
        if (patience->waker != NULL && lk_waker_is_thrown(patience->waker)) {
            return LK_CANCELLED;
        }
        if (left_ms <= 0) {
            return LK_TIMEOUT;
        }
        (void)curl_multi_poll(stream->multi, &thrown, thrown.fd >= 0,
                              left_ms < POLL_MS_MAX ? (int)left_ms : POLL_MS_MAX, NULL);
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

static lk_outcome read_refusal(struct http_reader *reader, const json_t *json) {
    static const lk_outcome refusals[] = {LK_BUSY, LK_DEADLOCK, LK_FULL};
    const char *said = json_string_value(json_object_get(json, "refusal"));

    for (size_t i = 0; said != NULL && i < sizeof refusals / sizeof refusals[0]; i++) {
        if (strcmp(said, lk_outcome_name(refusals[i])) == 0) {
            return refusals[i];
        }
    }
    reader->is_damaged = reader->is_damaged || said != NULL;
    return LK_OK;
}

static lk_watch_event read_json(struct http_reader *reader, const json_t *json) {
    size_t part_count;
    lk_watch_event event = {
        .refusal = read_refusal(reader, json),
        .sequence = http_read_count(reader, json, "sequence"),
        .at_unix_ms = http_read_number(reader, json, "at_ms", 0),
        .paths = http_read_texts(reader, json, "paths", &part_count),
        .owner = http_read_text(reader, json, "owner"),
        .note = http_read_text(reader, json, "note"),
        .ticket = http_read_count(reader, json, "ticket"),
        .token = http_read_count(reader, json, "token"),
        .queue = http_read_text(reader, json, "queue"),
        .id = http_read_text(reader, json, "id"),
        .attempt = (uint32_t)http_read_count(reader, json, "attempt"),
        .is_deletion = http_read_flag(reader, json, "deleted"),
        .by = http_read_text(reader, json, "by"),
        .reason = http_read_text(reader, json, "reason"),
    };

    event.parts = http_read_texts(reader, json, "parts", &event.part_count);
    reader->is_damaged = reader->is_damaged || part_count != event.part_count;
    return event;
}

/* The fields of one event as the stream has it. Lines without a known name are passed over. */
struct fields {
    struct lk_slice id;
    struct lk_slice kind;
    struct lk_slice data;
};

static void read_line(struct lk_slice line, struct fields *fields) {
    static const struct {
        const char *name;
        size_t at;
    } names[] = {
        {"id: ", offsetof(struct fields, id)},
        {"event: ", offsetof(struct fields, kind)},
        {"data: ", offsetof(struct fields, data)},
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t size = strlen(names[i].name);
        if (line.size >= size && memcmp(line.bytes, names[i].name, size) == 0) {
            struct lk_slice value = {.bytes = line.bytes + size, .size = line.size - size};
            memcpy((char *)fields + names[i].at, &value, sizeof value);
        }
    }
}

/* Takes the first event out of what is unread: its fields, and how long all of it is. */
static size_t read_fields(const struct http_stream *stream, struct fields *fields) {
    const char *bytes = stream->unread.bytes;
    const char *end = memmem(bytes, stream->unread.size, "\n\n", 2);

    for (const char *line = bytes; line < end + 1;) {
        const char *line_end = memchr(line, '\n', (size_t)(end + 1 - line));
        read_line((struct lk_slice){.bytes = line, .size = (size_t)(line_end - line)}, fields);
        line = line_end + 1;
    }
    return (size_t)(end + 2 - bytes);
}

/* The event that the fields tell; what they say twice must agree. */
static bool read_event(const struct fields *fields, uint64_t id, lk_watch_event *ret_event) {
    struct http_reader reader = {.is_damaged = false};
    json_t *json = json_loadb(fields->data.bytes, fields->data.size, 0, NULL);
    const char *kind = json_string_value(json_object_get(json, "event"));
    lk_watch_event event = read_json(&reader, json);

    if (reader.is_damaged || !lk_watch_kind_parse(fields->kind, &event.kind) || kind == NULL
        || !lk_slice_equal(fields->kind, lk_slice_of(kind)) || event.sequence != id) {
        lk_watch_event_done(&event);
        json_decref(json);
        return false;
    }
    json_decref(json);
    *ret_event = event;
    return true;
}

/* The first event of what is unread, which may be no more than an id. */
static bool take_event(struct http_stream *stream, struct lk_event_page *page) {
    struct fields fields = {.id.size = 0};
    size_t size = read_fields(stream, &fields);
    bool is_well = true;

    if (fields.id.size > 0) {
        stream->position = strtoull(fields.id.bytes, NULL, 10); /* a line end ends it */
        stream->has_position = true;
    }
    if (fields.data.size > 0) {
        is_well =
            fields.id.size > 0 && read_event(&fields, stream->position, &page->events[page->count]);
        page->count += is_well;
    }
    lk_buffer_consume(&stream->unread, size);
    page->last = stream->position;
    return is_well;
}

/* ---- questions ------------------------------------------------------------------------------- */

/* Whether the stream that is open goes on where the question does. */
static bool continues(const struct http_stream *stream, const struct lk_event_query *query) {
    char prefix[PREFIX_BYTES_MAX];

    name_prefix(query->prefix, prefix);
    return stream != NULL && !stream->is_over && !stream->is_left
           && query->after != LK_EVENTS_FROM_NOW && stream->has_position
           && query->after == stream->position && strcmp(prefix, stream->prefix) == 0;
}

/* The stream says where it is before anything else; what has happened since comes right behind. */
static lk_outcome open_stream(struct http_store *store, const struct lk_event_query *query,
                              const struct lk_patience *patience, lk_error *error) {
    lk_outcome outcome;

    http_stream_free(store->stream);
    store->stream = calloc(1, sizeof *store->stream);
    if (store->stream == NULL || !begin(store->stream, store, query)) {
        return lk_error_set(error, LK_INTERNAL, "no stream can be made");
    }
    outcome = await_event(store->stream, patience);
    (void)curl_multi_poll(store->stream->multi, NULL, 0, BACKLOG_MS, NULL);
    return outcome == LK_OK ? LK_OK
                            : lk_error_set(error, outcome == LK_TIMEOUT ? LK_UNAVAILABLE : outcome,
                                           "the stream has not begun");
}

lk_outcome http_events(struct lk_engine *engine, const struct lk_event_query *query,
                       const struct lk_patience *patience, struct lk_event_page **ret_page,
                       lk_error *error) {
    struct http_store *store = http_store_of(engine);
    struct lk_event_page *page = lk_event_page_new(query);
    lk_outcome outcome = LK_OK;

    pthread_mutex_lock(&store->following);
    if (page == NULL || (page->events = calloc(query->max, sizeof *page->events)) == NULL) {
        outcome = lk_error_set(error, LK_INTERNAL, "no memory for events");
    } else if (!continues(store->stream, query)) {
        outcome = open_stream(store, query, patience, error);
    }
    if (outcome == LK_OK) {
        pump(store->stream);
    }
    while (outcome == LK_OK && has_whole_event(store->stream) && page->count < query->max) {
        if (!take_event(store->stream, page)) {
            outcome = lk_error_set(error, LK_INTERNAL, "an event that is not of its shape");
        }
    }
    if (outcome == LK_OK) {
        page->has_more = has_whole_event(store->stream);
        store->stream->is_left = page->count == 0;
        *ret_page = page;
    } else {
        lk_event_page_free(page);
    }
    pthread_mutex_unlock(&store->following);
    return outcome;
}

lk_outcome http_await_events(struct lk_engine *engine, uint64_t after, int64_t until_us,
                             struct lk_waker *waker) {
    const struct lk_patience patience = {.until_us = until_us, .waker = waker};
    struct http_store *store = http_store_of(engine);
    lk_outcome outcome = LK_OK;

    (void)after; /* where the stream is */
    pthread_mutex_lock(&store->following);
    if (store->stream != NULL) {
        store->stream->is_left = false;
        outcome = await_event(store->stream, &patience);
    }
    pthread_mutex_unlock(&store->following);
    return outcome == LK_TIMEOUT ? LK_OK : outcome;
}
