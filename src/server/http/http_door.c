/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP listener: opening, the pending requests, and closing. */
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "server/http/http.h"

static struct lk_http_door *http_door(struct lk_listener *door) {
    return (struct lk_http_door *)(void *)door;
}

/* ---- exchanges ------------------------------------------------------------------------------- */

static void free_exchange(struct lk_http_exchange *exchange) {
    lk_http_live_check_end(&exchange->lookout);
    if (exchange->is_held) {
        TAILQ_REMOVE(&exchange->door->held, exchange, list);
    } else {
        TAILQ_REMOVE(&exchange->door->blocked, exchange, list);
    }
    lk_buffer_done(&exchange->reply.body);
    free(exchange->context);
    free(exchange);
}

/* The client has closed: its blocked call is withdrawn, and its answer is dropped. */
static void hear_gone(void *context) {
    struct lk_http_exchange *exchange = context;
    struct lk_http_door *door = exchange->door;
    struct evhttp_connection *connection = evhttp_request_get_connection(exchange->request);
    struct lk_times times = lk_server_times(door->server);

    if (!exchange->is_held) {
        lk_core_cancel(lk_server_core(door->server), door->session, exchange->tag, &times);
    }
    free_exchange(exchange);
    evhttp_connection_free(connection);
}

static struct lk_http_exchange *new_exchange(struct lk_http_door *door,
                                             struct evhttp_request *request) {
    struct lk_http_exchange *exchange = calloc(1, sizeof *exchange);

    if (exchange == NULL) {
        return NULL;
    }
    exchange->door = door;
    exchange->request = request;
    exchange->tag = door->last_tag;
    lk_http_live_check_begin(&exchange->lookout, request, hear_gone, exchange);
    TAILQ_INSERT_TAIL(&door->blocked, exchange, list);
    return exchange;
}

/* Sends the reply of the exchange, and frees the exchange. */
static void end_exchange(struct lk_http_exchange *exchange) {
    struct lk_http_door *door = exchange->door;
    struct evhttp_request *request = exchange->request;
    struct lk_http_reply reply = exchange->reply;

    exchange->reply.body = (struct lk_buffer){.max = 0};
    free_exchange(exchange);
    lk_http_reply_send(door, request, &reply);
}

static void hold(struct lk_http_exchange *exchange, uint64_t batch, struct lk_http_reply *reply) {
    TAILQ_REMOVE(&exchange->door->blocked, exchange, list);
    TAILQ_INSERT_TAIL(&exchange->door->held, exchange, list);
    exchange->is_held = true;
    exchange->batch = batch;
    exchange->reply = *reply;
    if (batch <= exchange->door->durable) {
        end_exchange(exchange);
    }
}

static struct lk_http_exchange *find_exchange(struct lk_http_door *door, uint64_t tag) {
    struct lk_http_exchange *exchange;

    TAILQ_FOREACH(exchange, &door->blocked, list) {
        if (exchange->tag == tag) {
            return exchange;
        }
    }
    return NULL;
}

/* ---- from the core --------------------------------------------------------------------------- */

static void answer(void *peer, uint64_t tag, uint64_t batch, const struct lk_reply *said) {
    struct lk_http_door *door = peer;
    struct evhttp_request *request = door->calling;
    bool is_at_once = request != NULL && tag == door->last_tag;
    struct lk_http_exchange *exchange = is_at_once ? NULL : find_exchange(door, tag);
    struct lk_http_reply reply = {.body.max = LK_HTTP_REPLY_BYTES_MAX};

    if (!is_at_once && exchange == NULL) {
        return;
    }
    lk_http_reply_fill(door, is_at_once ? &door->context : exchange->context, said, &reply);
    if (is_at_once) {
        door->calling = NULL;
        exchange = batch > door->durable ? new_exchange(door, request) : NULL;
        if (batch > door->durable && exchange == NULL) {
            lk_buffer_done(&reply.body);
            lk_http_refuse(door, request, HTTP_INTERNAL, LK_INTERNAL, "no memory to wait");
            return;
        }
    }
    if (exchange != NULL) {
        hold(exchange, batch, &reply);
    } else {
        lk_http_reply_send(door, request, &reply);
    }
}

/* Held replies are in the order of their batches. */
static void durable(void *peer, uint64_t batch) {
    struct lk_http_door *door = peer;

    door->durable = batch;
    while (!TAILQ_EMPTY(&door->held) && TAILQ_FIRST(&door->held)->batch <= batch) {
        end_exchange(TAILQ_FIRST(&door->held));
    }
}

static void failed(void *peer, const char *why) {
    struct lk_http_door *door = peer;

    while (!TAILQ_EMPTY(&door->held)) {
        struct evhttp_request *request = TAILQ_FIRST(&door->held)->request;
        free_exchange(TAILQ_FIRST(&door->held));
        lk_http_refuse(door, request, HTTP_SERVUNAVAIL, LK_UNAVAILABLE, why);
    }
}

static const struct lk_session_ops session_ops = {
    .answer = answer,
    .durable = durable,
    .failed = failed,
};

/* ---- to the core ----------------------------------------------------------------------------- */

void lk_http_call(struct lk_http_door *door, struct evhttp_request *request) {
    struct lk_core *core = lk_server_core(door->server);
    struct lk_times times = lk_server_times(door->server);
    struct lk_http_exchange *exchange;

    door->call.tag = ++door->last_tag;
    door->call.ends_withdrawn = true;
    door->calling = request;
    lk_core_call(core, door->session, &door->call, &times);
    if (door->calling == NULL) {
        return;
    }
    door->calling = NULL;
    exchange = new_exchange(door, request);
    if (exchange != NULL) {
        exchange->context = lk_reply_context_copy(&door->context);
    }
    if (exchange == NULL || exchange->context == NULL) {
        lk_core_cancel(core, door->session, door->last_tag, &times);
        if (exchange != NULL) {
            free_exchange(exchange);
        }
        lk_http_refuse(door, request, HTTP_INTERNAL, LK_INTERNAL, "no memory to wait");
    } else {
        lk_http_client_waits(lk_http_client_of(door, request), request);
    }
}

/* ---- the listener ---------------------------------------------------------------------------- */

/* Replies are written by evhttp's own events. */
static bool turn_end(struct lk_listener *of) {
    lk_http_clients_end_turn(&http_door(of)->clients);
    lk_http_events_end_turn(http_door(of));
    return false;
}

static void choke(struct lk_listener *of, bool is_choked) {
    (void)of;
    (void)is_choked; /* each connection has one request at a time, which waits for its batch */
}

static size_t shed(struct lk_listener *of, bool ends) {
    return lk_http_clients_shed(&http_door(of)->clients, ends);
}

static void stop(struct lk_listener *of) {
    struct lk_http_door *door = http_door(of);

    if (door->bound != NULL) {
        lk_http_clients_uninvite(&door->clients);
        lk_http_clients_hurry(&door->clients);
        evhttp_del_accept_socket(door->http, door->bound);
        door->bound = NULL;
        lk_listen_socket_close(&door->listen_socket);
    }
    lk_http_events_close(door);
}

static bool is_quiet(const struct lk_listener *of) {
    const struct lk_http_door *door = (const struct lk_http_door *)(const void *)of;

    return TAILQ_EMPTY(&door->blocked) && TAILQ_EMPTY(&door->held)
           && TAILQ_EMPTY(&door->clients.reading);
}

static void close_door(struct lk_listener *of) {
    struct lk_http_door *door = http_door(of);
    struct lk_times times = lk_server_times(door->server);

    stop(of);
    while (!TAILQ_EMPTY(&door->blocked)) {
        free_exchange(TAILQ_FIRST(&door->blocked));
    }
    while (!TAILQ_EMPTY(&door->held)) {
        free_exchange(TAILQ_FIRST(&door->held));
    }
    if (door->session != NULL) {
        lk_core_session_close(lk_server_core(door->server), door->session, &times);
    }
    if (door->http != NULL) {
        evhttp_free(door->http);
    }
    lk_http_clients_end(&door->clients);
    lk_listen_socket_close(&door->listen_socket);
    free(door);
}

static uint64_t count_clients(const struct lk_listener *of) {
    return ((const struct lk_http_door *)(const void *)of)->clients.count;
}

static void list_clients(const struct lk_listener *of, struct lk_buffer *out) {
    lk_http_clients_list(&((const struct lk_http_door *)(const void *)of)->clients, out);
}

static const struct lk_listener_ops ops = {
    .count_clients = count_clients,
    .list_clients = list_clients,
    .turn_end = turn_end,
    .choke = choke,
    .shed = shed,
    .stop = stop,
    .is_quiet = is_quiet,
    .close = close_door,
};

/* Starts evhttp with its bounds on the listening socket, which it then owns. */
static bool begin_http(struct lk_http_door *door) {
    door->http = evhttp_new(lk_server_loop(door->server));
    if (door->http == NULL) {
        return false;
    }
    evhttp_set_max_body_size(door->http, LK_HTTP_BODY_BYTES_MAX);
    evhttp_set_max_headers_size(door->http, LK_HTTP_HEADER_BYTES_MAX);
    evhttp_set_default_content_type(door->http, NULL);
    evhttp_set_allowed_methods(door->http, EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_PUT
                                               | EVHTTP_REQ_DELETE | EVHTTP_REQ_HEAD
                                               | EVHTTP_REQ_OPTIONS | EVHTTP_REQ_PATCH
                                               | EVHTTP_REQ_TRACE);
    /* A request that is too large is read to its end, so that the client reads the reply that says
     * so. */
    (void)evhttp_set_flags(door->http, EVHTTP_SERVER_LINGERING_CLOSE);
    evhttp_set_gencb(door->http, lk_http_handle, door);
    door->bound = evhttp_accept_socket_with_handle(door->http, door->listen_socket.socket);
    if (door->bound != NULL) {
        door->listen_socket.socket = -1;
        lk_http_clients_invite(&door->clients);
    }
    return door->bound != NULL;
}

lk_outcome lk_listener_http_open(struct lk_server *server, const char *listen,
                                 struct lk_listener **ret_door,
                                 char ret_address[LK_ADDRESS_BYTES_MAX], lk_error *error) {
    const struct lk_server_options *options = lk_server_options_of(server);
    struct lk_http_door *door = calloc(1, sizeof *door);
    lk_outcome outcome;

    if (door == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the HTTP door");
    }
    door->door.ops = &ops;
    door->server = server;
    TAILQ_INIT(&door->blocked);
    TAILQ_INIT(&door->held);
    TAILQ_INIT(&door->streams);
    TAILQ_INIT(&door->ready);
    lk_http_events_begin(door, options->request_seconds_max);
    lk_http_clients_begin(door, options, strncmp(listen, "unix:", 5) == 0);
    door->listen_socket.socket = -1;
    outcome = lk_listen_socket_open(options, listen, &door->listen_socket, ret_address, error);
    if (outcome == LK_OK) {
        door->is_checking_host = door->listen_socket.path == NULL && options->password == NULL;
        (void)snprintf(door->host, sizeof door->host, "%s", listen);
        outcome =
            lk_core_session_open(lk_server_core(server), &session_ops, door, &door->session, error);
    }
    if (outcome == LK_OK && !begin_http(door)) {
        outcome = lk_error_set(error, LK_INTERNAL, "libevent opens no HTTP server");
    }
    if (outcome != LK_OK) {
        close_door(&door->door);
        return outcome;
    }
    *ret_door = &door->door;
    return LK_OK;
}
