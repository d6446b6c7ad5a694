/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /v1/events: events (R21) as server-sent events. The sequence number is the id, so a client
 * that reconnects with Last-Event-ID goes on where it was, as far as events are kept.
 *
 * One chunk is being written at a time: a slow reader gets its events later, and costs no memory
 * meanwhile.
 */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "command/rights.h"
#include "form/form.h"
#include "server/core/event_log.h"
#include "server/http/http.h"

enum {
    PIECE_BYTES_MAX = 64 * 1024,
    STREAMS_MAX = 1024,
    HEARTBEAT_S = 15,
    UNREAD_BYTES_MAX = 4096, /* of input that a follower sends, which is not read */
};

struct lk_http_stream {
    struct lk_watcher watcher;
    struct lk_http_listener *listener;
    struct evhttp_request *request;
    struct lk_http_live_check live_check;
    struct lk_login_grant grant; /* with users: that of the reader */
    TAILQ_ENTRY(lk_http_stream) list;
    TAILQ_ENTRY(lk_http_stream) ready;
    bool is_ready;
    bool is_sending;
    bool is_over;  /* this service does not lead any more */
    bool has_sent; /* an event was sent since the last heartbeat */
};

static void on_events(struct lk_watcher *watcher) {
    struct lk_http_stream *stream = (struct lk_http_stream *)(void *)watcher;

    if (!stream->is_ready) {
        stream->is_ready = true;
        TAILQ_INSERT_TAIL(&stream->listener->ready, stream, ready);
    }
}

static void on_ended(struct lk_watcher *watcher) {
    ((struct lk_http_stream *)(void *)watcher)->is_over = true;
    on_events(watcher);
}

/*
 * The connection closes, whichever side closed it. If evhttp closed it, the request is still owned
 * by the code that answers it.
 */
void lk_http_stream_closed(struct lk_http_stream *stream) {
    struct lk_server *server = stream->listener->server;
    struct lk_times times = lk_server_times(server);

    if (evhttp_request_get_connection(stream->request) == NULL) {
        evhttp_request_free(stream->request);
    }
    lk_http_live_check_end(&stream->live_check);
    lk_watcher_end(lk_server_core(server), &stream->watcher, &times);
    TAILQ_REMOVE(&stream->listener->streams, stream, list);
    if (stream->is_ready) {
        TAILQ_REMOVE(&stream->listener->ready, stream, ready);
    }
    stream->listener->stream_count--;
    free(stream);
}

static void on_gone(void *context) {
    const struct lk_http_stream *stream = context;

    evhttp_connection_free(evhttp_request_get_connection(stream->request));
}

static void write_event(struct lk_buffer *out, const lk_watch_event *event) {
    struct lk_form_writer writer = lk_form_writer_json(out);

    lk_buffer_add_text(out, "id: ");
    lk_buffer_add_number(out, (int64_t)event->sequence);
    lk_buffer_add_text(out, "\nevent: ");
    lk_buffer_add_text(out, lk_watch_kind_name(event->kind));
    lk_buffer_add_text(out, "\ndata: ");
    lk_form_write_event(&writer, event);
    lk_buffer_add_text(out, "\n\n");
    out->failed = lk_form_writer_failed(&writer);
}

static void on_sent(struct evhttp_connection *connection, void *context) {
    struct lk_http_stream *stream = context;

    (void)connection;
    stream->is_sending = false;
    on_events(&stream->watcher);
}

static void send_piece(struct lk_http_stream *stream, const struct lk_buffer *piece) {
    struct evbuffer *chunk = evbuffer_new();

    if (chunk == NULL || evbuffer_add(chunk, piece->bytes, piece->size) != 0) {
        on_gone(stream);
    } else {
        stream->is_sending = true;
        evhttp_send_reply_chunk_with_cb(stream->request, chunk, on_sent, stream);
    }
    if (chunk != NULL) {
        evbuffer_free(chunk);
    }
}

static void send_events(struct lk_http_stream *stream) {
    struct lk_buffer piece = {.max = 0};
    const lk_watch_event *event = NULL;
    struct lk_visible_event room;
    struct lk_core *core = lk_server_core(stream->listener->server);
    struct lk_times times = lk_server_times(stream->listener->server);

    if (stream->is_over) {
        on_gone(stream);
        return;
    }
    while (!stream->is_sending && piece.size < PIECE_BYTES_MAX
           && (event = lk_watcher_next(core, &stream->watcher, &times)) != NULL) {
        event = lk_visible_event(stream->grant.user, event, &room);
        if (event != NULL) {
            write_event(&piece, event);
        }
    }
    if (piece.failed) {
        on_gone(stream);
    } else if (piece.size > 0) {
        stream->has_sent = true;
        send_piece(stream, &piece);
    }
    lk_buffer_done(&piece);
}

/* Sends a comment, for proxies that close idle connections. */
static void beat(evutil_socket_t socket, short what, void *context) {
    static const char comment[] = ":\n\n";
    struct lk_http_listener *listener = context;
    struct lk_http_stream *next;

    (void)socket;
    (void)what;
    for (struct lk_http_stream *stream = TAILQ_FIRST(&listener->streams); stream != NULL;
         stream = next) {
        struct lk_buffer piece = {.max = 0};

        next = TAILQ_NEXT(stream, list); /* the stream may be closed */
        if (stream->is_sending || stream->has_sent) {
            stream->has_sent = false;
            continue;
        }
        lk_buffer_add_text(&piece, comment);
        if (!piece.failed) {
            send_piece(stream, &piece);
        }
        lk_buffer_done(&piece);
    }
}

/* The heartbeat interval is no longer than the time that a client may take for a request. */
void lk_http_events_begin(struct lk_http_listener *listener, uint32_t request_s) {
    const struct timeval every = {.tv_sec = request_s < HEARTBEAT_S ? request_s : HEARTBEAT_S};

    (void)event_assign(&listener->heartbeat, lk_server_loop(listener->server), -1, EV_PERSIST, beat,
                       listener);
    (void)event_add(&listener->heartbeat, &every);
}

void lk_http_events_end_turn(struct lk_http_listener *listener) {
    while (!TAILQ_EMPTY(&listener->ready)) {
        struct lk_http_stream *stream = TAILQ_FIRST(&listener->ready);
        TAILQ_REMOVE(&listener->ready, stream, ready);
        stream->is_ready = false;
        send_events(stream);
    }
}

void lk_http_events_check_grants(struct lk_http_listener *listener) {
    struct lk_logins *logins = lk_server_logins(listener->server);
    int64_t wall_us = lk_server_times(listener->server).wall_us;
    struct lk_http_stream *next;

    for (struct lk_http_stream *stream = TAILQ_FIRST(&listener->streams); stream != NULL;
         stream = next) {
        next = TAILQ_NEXT(stream, list);
        if (!lk_grant_is_valid(logins, &stream->grant, wall_us)) {
            on_gone(stream);
        }
    }
}

void lk_http_events_close(struct lk_http_listener *listener) {
    (void)event_del(&listener->heartbeat);
    while (!TAILQ_EMPTY(&listener->streams)) {
        on_gone(TAILQ_FIRST(&listener->streams));
    }
}

/*
 * First sends the stream's position, as an event without data: a client that is cut off before the
 * first event reconnects with that id, and misses nothing.
 */
static void begin_stream(struct evhttp_request *request, uint64_t position) {
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
    struct evbuffer *chunk = evbuffer_new();

    (void)evhttp_add_header(headers, "Content-Type", "text/event-stream");
    (void)evhttp_add_header(headers, "Cache-Control", "no-store");
    (void)evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
    evhttp_send_reply_start(request, HTTP_OK, NULL);
    if (chunk != NULL) {
        (void)evbuffer_add_printf(chunk, ": follows\nid: %" PRIu64 "\n\n", position);
        evhttp_send_reply_chunk(request, chunk);
        evbuffer_free(chunk);
    }
}

lk_outcome lk_http_events_open(struct lk_http_listener *listener, struct evhttp_request *request,
                               const struct lk_selection *selection, lk_error *error) {
    const struct lk_path *prefix = selection->has_path ? &selection->path : NULL;
    struct evhttp_connection *connection = evhttp_request_get_connection(request);
    struct lk_times times = lk_server_times(listener->server);
    struct lk_http_client *client = lk_http_client_of(listener, request);
    struct lk_http_stream *stream;

    if (listener->user != NULL && prefix != NULL
        && !lk_rules_allow(lk_user_rules(listener->user), LK_RIGHT_WATCH, prefix)) {
        return lk_error_set(error, LK_DENIED, "the user %s has no right to watch: %.*s",
                            listener->user->name, (int)prefix->size, prefix->bytes);
    }
    if (listener->stream_count == STREAMS_MAX || client == NULL) {
        return lk_error_set(error, LK_FULL, "too many clients follow events");
    }
    stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for an event stream");
    }
    stream->listener = listener;
    stream->request = request;
    stream->grant = client->grant;
    stream->watcher.ready = on_events;
    stream->watcher.ended = on_ended;
    lk_watcher_begin(lk_server_core(listener->server), &stream->watcher, prefix, selection->after,
                     &times);
    TAILQ_INSERT_TAIL(&listener->streams, stream, list);
    listener->stream_count++;
    lk_http_live_check_begin(&stream->live_check, request, on_gone, stream);
    client->stream = stream;
    lk_http_client_free_request(client, request);
    bufferevent_setwatermark(evhttp_connection_get_bufferevent(connection), EV_READ, 0,
                             UNREAD_BYTES_MAX);
    begin_stream(request, stream->watcher.after);
    on_events(&stream->watcher);
    return LK_OK;
}
