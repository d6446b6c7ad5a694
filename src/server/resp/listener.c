/* SPDX-License-Identifier: Apache-2.0 */
/* The RESP listener: accepting, the end of a turn, and closing. */
#include <event2/event.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "server/connections/admission.h"
#include "server/resp/resp.h"

enum { RETRY_MS = 100 };

static struct lk_resp_listener *resp_listener(struct lk_listener *listener) {
    return (struct lk_resp_listener *)(void *)listener;
}

/* ---- accepting ------------------------------------------------------------------------------- */

static void refuse(struct lk_resp_listener *listener, int socket) {
    static const char reason[] = "-FULL too many connections\r\n";

    lk_refusal_note(listener->server, &listener->base, &listener->listen_socket, socket,
                    LK_REFUSED_FULL);
    if (listener->handshakes.context == NULL) {
        (void)!write(socket, reason, sizeof reason - 1);
    }
    (void)close(socket);
}

static void accept_again(void *context) {
    struct lk_resp_listener *listener = context;

    (void)event_add(&listener->acceptable, NULL);
}

/* Behind a connection that was accepted, as long as the pace requires. */
static void rest(struct lk_resp_listener *listener) {
    int64_t rest_us = lk_pace_note(lk_server_pace(listener->server), lk_clock_now_us());

    if (rest_us > 0 && lk_moment_set(&listener->rested, rest_us)) {
        (void)event_del(&listener->acceptable);
    }
}

static void on_acceptable(evutil_socket_t socket, short what, void *context) {
    static const struct timeval later = {.tv_usec = RETRY_MS * 1000};
    struct lk_resp_listener *listener = context;
    bool is_exhausted = false;

    (void)socket;
    (void)what;
    for (int i = 0; i < LK_ACCEPTED_PER_TURN_MAX; i++) {
        int peer = lk_listen_socket_accept(&listener->listen_socket, &is_exhausted);
        if (peer < 0) {
            break;
        }
        if (!lk_resp_connection_open(listener, peer)) {
            refuse(listener, peer);
        }
        rest(listener);
    }
    if (is_exhausted) {
        lk_refusal_exhausted(listener->server);
        (void)event_del(&listener->acceptable);
        (void)event_add(&listener->retry, &later);
    }
}

static void on_retry(evutil_socket_t socket, short what, void *context) {
    (void)socket;
    (void)what;
    accept_again(context);
}

/* ---- turns ----------------------------------------------------------------------------------- */

static bool turn_end(struct lk_listener *of) {
    struct lk_resp_listener *listener = resp_listener(of);
    struct lk_resp_connections ready = TAILQ_HEAD_INITIALIZER(ready);
    bool has_called = false;

    TAILQ_CONCAT(&ready, &listener->ready, ready);
    while (!TAILQ_EMPTY(&ready)) {
        struct lk_resp_connection *connection = TAILQ_FIRST(&ready);
        TAILQ_REMOVE(&ready, connection, ready);
        connection->is_ready = false;
        has_called = lk_resp_connection_end_turn(connection) || has_called;
    }
    return has_called;
}

static void set_backpressure(struct lk_listener *of, bool has_backpressure) {
    struct lk_resp_listener *listener = resp_listener(of);
    struct lk_resp_connection *connection;

    listener->has_backpressure = has_backpressure;
    TAILQ_FOREACH(connection, &listener->all, all) {
        lk_resp_connection_update(connection);
        if (!has_backpressure && connection->input.size > 0) {
            lk_resp_connection_schedule(connection);
        }
    }
}

static size_t shed(struct lk_listener *of, bool ends) {
    struct lk_resp_listener *listener = resp_listener(of);
    struct lk_resp_connection *worst = NULL;
    struct lk_resp_connection *connection;
    size_t most = 0;

    TAILQ_FOREACH(connection, &listener->all, all) {
        if (connection->charged > most) {
            worst = connection;
            most = connection->charged;
        }
    }
    if (ends && worst != NULL) {
        lk_resp_connection_close(worst);
    }
    return most;
}

/* ---- closing --------------------------------------------------------------------------------- */

static void stop(struct lk_listener *of) {
    struct lk_resp_listener *listener = resp_listener(of);
    struct lk_resp_connection *connection;

    listener->is_stopping = true;
    (void)event_del(&listener->acceptable);
    (void)event_del(&listener->retry);
    lk_moment_close(&listener->rested);
    lk_listen_socket_close(&listener->listen_socket);
    TAILQ_FOREACH(connection, &listener->all, all) {
        connection->is_ending = true;
        lk_login_cancel(&connection->login);
        lk_resp_backup_stop(connection);
        lk_resp_connection_shorten_timeout(connection);
        lk_resp_connection_end_penalty(connection);
    }
}

static bool is_quiet(const struct lk_listener *of) {
    return TAILQ_EMPTY(&((const struct lk_resp_listener *)(const void *)of)->all);
}

static void close_listener(struct lk_listener *of) {
    struct lk_resp_listener *listener = resp_listener(of);
    struct lk_resp_connection *connection;

    if (!listener->is_stopping) {
        stop(of);
    }
    TAILQ_FOREACH(connection, &listener->all, all) {
        connection->is_dead = true;
        lk_resp_connection_schedule(connection);
    }
    (void)turn_end(of);
    lk_admission_end(&listener->admission);
    free(listener);
}

static uint64_t count_clients(const struct lk_listener *of) {
    const struct lk_resp_listener *listener = (const struct lk_resp_listener *)(const void *)of;

    return (uint64_t)listener->count + listener->admission.count;
}

static void list_clients(const struct lk_listener *of, const struct lk_user *user,
                         struct lk_buffer *out) {
    const struct lk_resp_listener *listener = (const struct lk_resp_listener *)(const void *)of;
    const struct lk_resp_connection *each;

    TAILQ_FOREACH(each, &listener->all, all) {
        if (user == NULL || each->grant.user == user) {
            lk_resp_describe(each, out);
        }
    }
}

static void check_grants(struct lk_listener *of) {
    struct lk_resp_connection *each;

    TAILQ_FOREACH(each, &resp_listener(of)->all, all) {
        lk_resp_check_grant(each);
    }
}

static void take_bounds(struct lk_listener *of) {
    struct lk_resp_listener *listener = resp_listener(of);
    const struct lk_server_options *options = lk_server_options_of(listener->server);

    listener->count_max = options->connections_max;
    lk_admission_bound(&listener->admission, options->strangers_max,
                       listener->listen_socket.path != NULL);
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

lk_outcome lk_listener_resp_open(struct lk_server *server, struct lk_listen_socket *listen_socket,
                                 struct lk_listener **ret_listener, lk_error *error) {
    const struct lk_server_options *options = lk_server_options_of(server);
    struct lk_resp_listener *listener = calloc(1, sizeof *listener);

    if (listener == NULL) {
        lk_listen_socket_close(listen_socket);
        return lk_error_set(error, LK_INTERNAL, "no memory for the RESP listener");
    }
    listener->base.ops = &ops;
    listener->server = server;
    listener->listen_socket = *listen_socket;
    lk_handshakes_begin(&listener->handshakes, server, &listener->base, &listener->listen_socket,
                        "-ERR " LK_HANDSHAKE_WANTED ": lks://HOST:PORT\r\n");
    listener->count_max = options->connections_max;
    listener->request_s = options->request_seconds_max;
    lk_admission_begin(&listener->admission, options->strangers_max, listen_socket->path != NULL,
                       lk_resp_connection_evict);
    TAILQ_INIT(&listener->all);
    TAILQ_INIT(&listener->ready);
    (void)event_assign(&listener->acceptable, lk_server_loop(server), listen_socket->socket,
                       EV_READ | EV_PERSIST, on_acceptable, listener);
    (void)evtimer_assign(&listener->retry, lk_server_loop(server), on_retry, listener);
    if (!lk_moment_open(&listener->rested, lk_server_loop(server), accept_again, listener)
        || event_add(&listener->acceptable, NULL) != 0) {
        close_listener(&listener->base);
        return lk_error_set(error, LK_INTERNAL, "the event loop cannot watch the listen socket");
    }
    *ret_listener = &listener->base;
    return LK_OK;
}
