/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP listener: opening, pending requests and whether their clients are there, and closing. */
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "server/connections/monitor.h"
#include "server/http/grab/grab.h"

static struct lk_http_listener *http_listener(struct lk_listener *listener) {
    return (struct lk_http_listener *)(void *)listener;
}

/* ---- whether the client of a request has closed its connection ------------------------------- */

/*
 * Input or an end of file has arrived. Input that a client sends before it is answered is read
 * later, and its socket stays readable until then, so the end of file is looked for at intervals.
 * Waiting for EV_CLOSED alone is not enough: libevent does not report it for a connection that was
 * reset (RST), and would wake up for the socket again and again.
 */
static void on_socket_event(evutil_socket_t socket, short what, void *context) {
    static const struct timeval later = {.tv_sec = 1};
    struct lk_http_live_check *live_check = context;
    struct pollfd place = {.fd = live_check->socket, .events = POLLRDHUP};

    (void)socket;
    (void)what;
    if (poll(&place, 1, 0) > 0) {
        live_check->on_gone(live_check->context);
    } else {
        (void)evtimer_assign(&live_check->event, event_get_base(&live_check->event),
                             on_socket_event, live_check);
        (void)event_add(&live_check->event, &later);
    }
}

void lk_http_live_check_begin(struct lk_http_live_check *live_check, struct evhttp_request *request,
                              void (*on_gone)(void *context), void *context) {
    struct evhttp_connection *connection = evhttp_request_get_connection(request);

    live_check->socket = bufferevent_getfd(evhttp_connection_get_bufferevent(connection));
    live_check->on_gone = on_gone;
    live_check->context = context;
    (void)event_assign(&live_check->event, evhttp_connection_get_base(connection),
                       live_check->socket, EV_READ | EV_CLOSED, on_socket_event, live_check);
    (void)event_add(&live_check->event, NULL);
}

void lk_http_live_check_end(struct lk_http_live_check *live_check) {
    (void)event_del(&live_check->event);
}

/* ---- exchanges ------------------------------------------------------------------------------- */

static uint64_t hash_of(uint64_t tag) {
    return lk_hash_number(0, tag); /* clients do not choose it */
}

static struct lk_http_exchange *exchange_of(struct lk_hash_entry *entry) {
    return (struct lk_http_exchange *)(void *)((char *)entry
                                               - offsetof(struct lk_http_exchange, by_tag));
}

static void add_blocked(struct lk_http_exchange *exchange) {
    struct lk_http_listener *listener = exchange->listener;

    TAILQ_INSERT_TAIL(&listener->blocked, exchange, list);
    lk_hash_table_add(&listener->blocked_by_tag, &exchange->by_tag, hash_of(exchange->tag));
}

static void remove_blocked(struct lk_http_exchange *exchange) {
    TAILQ_REMOVE(&exchange->listener->blocked, exchange, list);
    lk_hash_table_remove(&exchange->listener->blocked_by_tag, &exchange->by_tag);
}

static void free_exchange(struct lk_http_exchange *exchange) {
    lk_http_live_check_end(&exchange->live_check);
    if (exchange->is_held) {
        TAILQ_REMOVE(&exchange->listener->held, exchange, list);
    } else {
        remove_blocked(exchange);
    }
    lk_buffer_done(&exchange->reply.body);
    free(exchange->context);
    free(exchange);
}

/* The client has closed: its blocked call is withdrawn, and its answer is dropped. */
static void on_gone(void *context) {
    struct lk_http_exchange *exchange = context;
    struct lk_http_listener *listener = exchange->listener;
    struct evhttp_connection *connection = evhttp_request_get_connection(exchange->request);
    struct lk_times times = lk_server_times(listener->server);

    if (!exchange->is_held) {
        lk_core_cancel(lk_server_core(listener->server), listener->session, exchange->tag, &times);
    }
    free_exchange(exchange);
    evhttp_connection_free(connection);
}

static struct lk_http_exchange *new_exchange(struct lk_http_listener *listener,
                                             struct evhttp_request *request) {
    struct lk_http_exchange *exchange = calloc(1, sizeof *exchange);

    if (exchange == NULL) {
        return NULL;
    }
    exchange->listener = listener;
    exchange->request = request;
    exchange->tag = listener->last_tag;
    lk_http_live_check_begin(&exchange->live_check, request, on_gone, exchange);
    add_blocked(exchange);
    return exchange;
}

/* Sends the reply of the exchange, and frees the exchange. */
static void end_exchange(struct lk_http_exchange *exchange) {
    struct lk_http_listener *listener = exchange->listener;
    struct evhttp_request *request = exchange->request;
    struct lk_http_reply reply = exchange->reply;

    exchange->reply.body = (struct lk_buffer){.max = 0};
    free_exchange(exchange);
    lk_http_reply_send(listener, request, &reply);
}

static void hold(struct lk_http_exchange *exchange, uint64_t batch, struct lk_http_reply *reply) {
    remove_blocked(exchange);
    TAILQ_INSERT_TAIL(&exchange->listener->held, exchange, list);
    exchange->is_held = true;
    exchange->batch = batch;
    exchange->reply = *reply;
    if (batch <= exchange->listener->durable) {
        end_exchange(exchange);
    }
}

static struct lk_http_exchange *find_exchange(struct lk_http_listener *listener, uint64_t tag) {
    struct lk_hash_entry *entry = lk_hash_table_first(&listener->blocked_by_tag, hash_of(tag));

    for (; entry != NULL; entry = lk_hash_entry_next(entry)) {
        struct lk_http_exchange *exchange = exchange_of(entry);
        if (exchange->tag == tag) {
            return exchange;
        }
    }
    return NULL;
}

/* ---- from the core --------------------------------------------------------------------------- */

static void answer(void *peer, uint64_t tag, uint64_t batch, const struct lk_reply *core_reply) {
    struct lk_http_listener *listener = peer;
    struct evhttp_request *request = listener->calling;
    bool is_at_once = request != NULL && tag == listener->last_tag;
    struct lk_http_exchange *exchange = is_at_once ? NULL : find_exchange(listener, tag);
    struct lk_http_reply reply = {.body.max = LK_HTTP_REPLY_BYTES_MAX};

    if (!is_at_once && exchange == NULL) {
        return;
    }
    lk_http_reply_fill(listener, is_at_once ? &listener->context : exchange->context, core_reply,
                       &reply);
    if (is_at_once) {
        listener->calling = NULL;
        exchange = batch > listener->durable ? new_exchange(listener, request) : NULL;
        if (batch > listener->durable && exchange == NULL) {
            lk_buffer_done(&reply.body);
            lk_http_refuse(listener, request, HTTP_INTERNAL, LK_INTERNAL,
                           "no memory for a blocked call");
            return;
        }
    }
    if (exchange != NULL) {
        hold(exchange, batch, &reply);
    } else {
        lk_http_reply_send(listener, request, &reply);
    }
}

/* Held replies are in the order of their batches. */
static void durable(void *peer, uint64_t batch) {
    struct lk_http_listener *listener = peer;

    listener->durable = batch;
    while (!TAILQ_EMPTY(&listener->held) && TAILQ_FIRST(&listener->held)->batch <= batch) {
        end_exchange(TAILQ_FIRST(&listener->held));
    }
}

static void failed(void *peer, const char *why) {
    struct lk_http_listener *listener = peer;

    while (!TAILQ_EMPTY(&listener->held)) {
        struct evhttp_request *request = TAILQ_FIRST(&listener->held)->request;
        free_exchange(TAILQ_FIRST(&listener->held));
        lk_http_refuse(listener, request, HTTP_SERVUNAVAIL, LK_UNAVAILABLE, why);
    }
}

static const struct lk_session_ops session_ops = {
    .answer = answer,
    .durable = durable,
    .failed = failed,
};

/* ---- messages -------------------------------------------------------------------------------- */

void lk_http_refused(struct lk_http_listener *listener, int socket, enum lk_refusal why) {
    lk_refusal_note(listener->server, &listener->base, &listener->listen_socket, socket, why);
}

void lk_http_trace(const struct lk_http_listener *listener, int socket, const char *what) {
    lk_connection_trace(&listener->base, &listener->listen_socket, socket, what);
}

/* ---- to the core ----------------------------------------------------------------------------- */

void lk_http_call(struct lk_http_listener *listener, struct evhttp_request *request) {
    struct lk_core *core = lk_server_core(listener->server);
    struct lk_times times = lk_server_times(listener->server);
    int64_t begun_us = lk_slow_begin(listener->server);
    struct lk_http_exchange *exchange;

    listener->call.tag = ++listener->last_tag;
    listener->call.ends_withdrawn = true;
    listener->calling = request;
    lk_core_call(core, listener->session, &listener->call, &times);
    lk_slow_end(listener->server, &listener->base, listener->context.command, &listener->draft,
                begun_us);
    if (listener->calling == NULL) {
        return;
    }
    listener->calling = NULL;
    exchange = new_exchange(listener, request);
    if (exchange != NULL) {
        exchange->context = lk_reply_context_copy(&listener->context);
    }
    if (exchange == NULL || exchange->context == NULL) {
        lk_core_cancel(core, listener->session, listener->last_tag, &times);
        if (exchange != NULL) {
            free_exchange(exchange);
        }
        lk_http_refuse(listener, request, HTTP_INTERNAL, LK_INTERNAL,
                       "no memory for a blocked call");
    } else {
        lk_http_client_free_request(lk_http_client_of(listener, request), request);
    }
}

/* ---- the listener ---------------------------------------------------------------------------- */

/* Replies are written by evhttp's own events. */
static bool turn_end(struct lk_listener *of) {
    lk_http_clients_end_turn(&http_listener(of)->clients);
    lk_http_events_end_turn(http_listener(of));
    return false;
}

static void set_backpressure(struct lk_listener *of, bool has_backpressure) {
    (void)of;
    (void)
        has_backpressure; /* each connection has one request at a time, which waits for its batch */
}

static size_t shed(struct lk_listener *of, bool ends) {
    return lk_http_clients_shed(&http_listener(of)->clients, ends);
}

static void stop(struct lk_listener *of) {
    struct lk_http_listener *listener = http_listener(of);

    if (listener->bound != NULL) {
        lk_http_clients_stop_accepting(&listener->clients);
        lk_http_clients_shorten_timeouts(&listener->clients);
        evhttp_del_accept_socket(listener->http, listener->bound);
        listener->bound = NULL;
        lk_listen_socket_close(&listener->listen_socket);
    }
    lk_http_events_close(listener);
}

static bool is_quiet(const struct lk_listener *of) {
    const struct lk_http_listener *listener = (const struct lk_http_listener *)(const void *)of;

    return TAILQ_EMPTY(&listener->blocked) && TAILQ_EMPTY(&listener->held)
           && TAILQ_EMPTY(&listener->clients.writing);
}

static void close_listener(struct lk_listener *of) {
    struct lk_http_listener *listener = http_listener(of);
    struct lk_times times = lk_server_times(listener->server);

    stop(of);
    while (!TAILQ_EMPTY(&listener->blocked)) {
        free_exchange(TAILQ_FIRST(&listener->blocked));
    }
    while (!TAILQ_EMPTY(&listener->held)) {
        free_exchange(TAILQ_FIRST(&listener->held));
    }
    lk_hash_table_done(&listener->blocked_by_tag);
    lk_http_grab_close(listener);
    if (listener->session != NULL) {
        lk_core_session_close(lk_server_core(listener->server), listener->session, &times);
    }
    if (listener->http != NULL) {
        evhttp_free(listener->http);
    }
    lk_http_clients_end(&listener->clients);
    lk_listen_socket_close(&listener->listen_socket);
    free(listener);
}

static uint64_t count_clients(const struct lk_listener *of) {
    return ((const struct lk_http_listener *)(const void *)of)->clients.count;
}

static void list_clients(const struct lk_listener *of, const struct lk_user *user,
                         struct lk_buffer *out) {
    lk_http_clients_list(&((const struct lk_http_listener *)(const void *)of)->clients, user, out);
}

/* The users may have changed: a blocked request of a user with other rights is withdrawn. */
static void check_grant(struct lk_http_exchange *exchange) {
    struct lk_http_listener *listener = exchange->listener;
    struct evhttp_request *request = exchange->request;
    struct lk_http_client *client = lk_http_client_of(listener, request);
    struct lk_times times = lk_server_times(listener->server);
    bool is_valid =
        client != NULL
        && lk_grant_is_valid(lk_server_logins(listener->server), &client->grant, times.wall_us);

    if (client == NULL || (is_valid && !lk_grant_has_other_rules(&client->grant))) {
        return;
    }
    lk_core_cancel(lk_server_core(listener->server), listener->session, exchange->tag, &times);
    free_exchange(exchange);
    if (is_valid) {
        lk_http_refuse(listener, request, LK_HTTP_FORBIDDEN, LK_DENIED,
                       "the rights of the user have changed; ask again");
    } else {
        lk_http_refuse_without_password(listener, request);
    }
}

static void check_grants(struct lk_listener *of) {
    struct lk_http_listener *listener = http_listener(of);
    struct lk_http_exchange *next;

    for (struct lk_http_exchange *each = TAILQ_FIRST(&listener->blocked); each != NULL;
         each = next) {
        next = TAILQ_NEXT(each, list);
        if (each->context != NULL && each->context->user != NULL) {
            check_grant(each);
        }
    }
    lk_http_events_check_grants(listener);
}

static void take_bounds(struct lk_listener *of) {
    struct lk_http_listener *listener = (struct lk_http_listener *)(void *)of;

    lk_http_clients_take_bounds(&listener->clients, lk_server_options_of(listener->server));
}

static const struct lk_listener_ops ops = {
    .take_bounds = take_bounds,
    .count_clients = count_clients,
    .list_clients = list_clients,
    .check_grants = check_grants,
    .turn_end = turn_end,
    .set_backpressure = set_backpressure,
    .shed = shed,
    .stop = stop,
    .is_quiet = is_quiet,
    .close = close_listener,
};

/* Starts evhttp with its bounds on the listening socket, which it then owns. */
static bool begin_http(struct lk_http_listener *listener) {
    listener->http = evhttp_new(lk_server_loop(listener->server));
    if (listener->http == NULL) {
        return false;
    }
    evhttp_set_max_body_size(listener->http, LK_HTTP_BODY_BYTES_MAX);
    evhttp_set_max_headers_size(listener->http, LK_HTTP_HEADER_BYTES_MAX);
    evhttp_set_default_content_type(listener->http, NULL);
    evhttp_set_allowed_methods(listener->http, EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_PUT
                                                   | EVHTTP_REQ_DELETE | EVHTTP_REQ_HEAD
                                                   | EVHTTP_REQ_OPTIONS | EVHTTP_REQ_PATCH
                                                   | EVHTTP_REQ_TRACE);
    /* A request that is too large is read to its end, so that the client reads the reply that says
     * so. */
    (void)evhttp_set_flags(listener->http, EVHTTP_SERVER_LINGERING_CLOSE);
    evhttp_set_gencb(listener->http, lk_http_handle, listener);
    listener->bound =
        evhttp_accept_socket_with_handle(listener->http, listener->listen_socket.socket);
    if (listener->bound != NULL) {
        listener->listen_socket.socket = -1;
        lk_http_clients_start_accepting(&listener->clients);
    }
    return listener->bound != NULL;
}

lk_outcome lk_listener_http_open(struct lk_server *server, struct lk_listen_socket *listen_socket,
                                 struct lk_listener **ret_listener, lk_error *error) {
    const struct lk_server_options *options = lk_server_options_of(server);
    struct lk_http_listener *listener = calloc(1, sizeof *listener);
    lk_outcome outcome;

    if (listener == NULL) {
        lk_listen_socket_close(listen_socket);
        return lk_error_set(error, LK_INTERNAL, "no memory for the HTTP listener");
    }
    listener->base.ops = &ops;
    listener->server = server;
    listener->listen_socket = *listen_socket;
    lk_handshakes_begin(&listener->handshakes, server, &listener->base, &listener->listen_socket,
                        "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n"
                        "Content-Type: application/json\r\n\r\n"
                        "{\"status\":\"invalid\",\"error\":\"" LK_HANDSHAKE_WANTED
                        ": https://HOST:PORT\"}\n");
    listener->is_checking_host = listen_socket->path == NULL && !lk_server_wants_login(options);
    TAILQ_INIT(&listener->blocked);
    TAILQ_INIT(&listener->held);
    TAILQ_INIT(&listener->streams);
    TAILQ_INIT(&listener->ready);
    lk_http_events_begin(listener, options->request_seconds_max);
    lk_http_clients_begin(listener, options, listen_socket->path != NULL);
    outcome = lk_core_session_open(lk_server_core(server), &session_ops, listener,
                                   &listener->session, error);
    if (outcome == LK_OK) {
        outcome = lk_http_grab_open(listener, error);
    }
    if (outcome == LK_OK && listener->handshakes.context != NULL) {
        outcome = lk_http_tls_load(error);
    }
    if (outcome == LK_OK && !begin_http(listener)) {
        outcome = lk_error_set(error, LK_INTERNAL, "libevent cannot start an HTTP server");
    }
    if (outcome != LK_OK) {
        close_listener(&listener->base);
        return outcome;
    }
    *ret_listener = &listener->base;
    return LK_OK;
}
