/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accepting over HTTP, and TLS on what is accepted: evhttp does it, and asks for the buffers of
 * each connection. It pauses behind the last one of a turn, as the pace requires, while there are
 * as many clients as there may be, and while no more files can be opened.
 */
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <stdlib.h>

#include "base/clock.h"
#include "libevent_openssl_functions.h"
#include "server/connections/admission.h"
#include "server/http/http.h"

enum { RETRY_MS = 100 };

struct evconnlistener *lk_http_evlistener(const struct lk_http_listener *listener) {
    return listener->bound != NULL ? evhttp_bound_socket_get_listener(listener->bound) : NULL;
}

/* The maximum number of connections, pending connections included. */
uint32_t lk_http_clients_max(const struct lk_http_clients *clients) {
    return clients->admitted_max + clients->admission.count_max;
}

void lk_http_accept_again(struct lk_http_clients *clients) {
    struct evconnlistener *evlistener = lk_http_evlistener(clients->listener);

    if (evlistener != NULL && !clients->is_resting
        && clients->count < lk_http_clients_max(clients)) {
        (void)evconnlistener_enable(evlistener);
    }
}

static void on_retry(evutil_socket_t socket, short what, void *context) {
    (void)socket;
    (void)what;
    lk_http_accept_again(context);
}

static void end_rest(void *context) {
    struct lk_http_clients *clients = context;

    clients->is_resting = false;
    lk_http_accept_again(clients);
}

/* Behind a connection that was accepted, as long as the pace requires. */
static void rest(struct lk_http_clients *clients) {
    int64_t rest_us = lk_pace_note(lk_server_pace(clients->listener->server), lk_clock_now_us());

    clients->is_resting = rest_us > 0 && lk_moment_set(&clients->rested, rest_us);
}

/* No files are left, or no memory: stops accepting for a while. Connections wait in the backlog. */
static void wait_for_files(evutil_socket_t socket, short what, void *context) {
    static const struct timeval later = {.tv_usec = RETRY_MS * 1000};
    struct lk_http_clients *clients = context;

    (void)socket;
    (void)what;
    lk_refusal_exhausted(clients->listener->server);
    (void)event_add(&clients->retry, &later);
}

/*
 * evhttp owns the context of this callback. So the callback activates an event on the same socket,
 * which waits for nothing else and has the listener's clients as its context.
 */
static void on_accept_failed(struct evconnlistener *evlistener, void *context) {
    (void)context;
    (void)evconnlistener_disable(evlistener);
    event_base_active_by_fd(evconnlistener_get_base(evlistener), evconnlistener_get_fd(evlistener),
                            EV_CLOSED);
}

/* The callback of evhttp for the buffers of a connection that it has accepted. */
static struct bufferevent *on_accepted(struct event_base *loop, void *context) {
    struct lk_http_listener *listener = context;
    struct lk_http_clients *clients = &listener->clients;
    struct lk_http_client *client = calloc(1, sizeof *client);
    struct bufferevent *buffers = NULL;

    if (client != NULL) {
        client->listener = listener;
        buffers = listener->handshakes.context != NULL ? lk_http_tls_begin(client)
                                                       : bufferevent_socket_new(loop, -1, 0);
    }
    if (buffers == NULL) {
        free(client);
        return NULL; /* evhttp then makes its own buffers, and a connection without a client is
                      * closed */
    }
    bufferevent_incref(buffers); /* keeps them valid even if evhttp closes the connection */
    client->buffers = buffers;
    client->in_list = &clients->accepted;
    TAILQ_INSERT_TAIL(&clients->accepted, client, list);
    clients->count++;
    clients->arrived++;
    rest(clients);
    if ((clients->arrived >= LK_ACCEPTED_PER_TURN_MAX
         || clients->count >= lk_http_clients_max(clients))
        && lk_http_evlistener(listener) != NULL) {
        (void)evconnlistener_disable(lk_http_evlistener(listener));
    }
    return buffers;
}

/* ---- for the listener ------------------------------------------------------------------------ */

void lk_http_clients_start_accepting(struct lk_http_clients *clients) {
    struct lk_http_listener *listener = clients->listener;
    struct evconnlistener *evlistener = lk_http_evlistener(listener);

    /* Without it, no rest is taken. */
    (void)lk_moment_open(&clients->rested, lk_server_loop(listener->server), end_rest, clients);
    (void)evtimer_assign(&clients->retry, lk_server_loop(listener->server), on_retry, clients);
    evhttp_set_bevcb(listener->http, on_accepted, listener);
    evconnlistener_set_error_cb(evlistener, on_accept_failed);
    (void)event_assign(&clients->exhausted, lk_server_loop(listener->server),
                       evconnlistener_get_fd(evlistener), EV_CLOSED | EV_PERSIST, wait_for_files,
                       clients);
    (void)event_add(&clients->exhausted, NULL);
}

void lk_http_clients_stop_accepting(struct lk_http_clients *clients) {
    (void)event_del(&clients->exhausted);
    (void)event_del(&clients->retry);
    lk_moment_close(&clients->rested);
}

/* ---- TLS ------------------------------------------------------------------------------------- */

/*
 * libevent reads and writes them once the handshake is done. It could do the handshakes as well,
 * but then a turn would not end before all that have arrived were computed, and what has failed
 * would not be known. So it is given a session that counts as open, and is not let near the socket
 * until it is.
 *
 * Within src/server.
 */

/*
 * Callbacks are deferred: without that, bytes that cannot be written would end the connection
 * within the call that adds them.
 */
struct bufferevent *lk_http_tls_begin(struct lk_http_client *client) {
    struct lk_http_listener *listener = client->listener;
    struct lk_tls_session *session = lk_tls_session_accept(listener->handshakes.context, -1);
    struct ssl_st *handle = session != NULL ? lk_tls_session_handle(session) : NULL;
    struct bufferevent *buffers = NULL;

    if (handle != NULL) {
        buffers = bufferevent_openssl_socket_new(lk_server_loop(listener->server), -1, handle,
                                                 BUFFEREVENT_SSL_OPEN,
                                                 BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
    }
    if (buffers == NULL) {
        lk_tls_session_free(session);
        return NULL;
    }
    client->handshake = (struct lk_handshake){.session = session, .is_underway = true};
    return buffers;
}

static void end_handshake(struct lk_http_client *client, enum lk_tls_step step) {
    (void)event_del(&client->ready);
    if (step == LK_TLS_DONE) {
        (void)bufferevent_enable(evhttp_connection_get_bufferevent(client->connection), EV_READ);
        lk_http_client_greet(client);
    } else {
        lk_http_client_end(client);
    }
}

static void await(struct lk_http_client *client, short awaited);

static void on_stepped(void *context, enum lk_tls_step step) {
    struct lk_http_client *client = context;

    if (step == LK_TLS_WANTS_READ || step == LK_TLS_WANTS_WRITE) {
        await(client, step == LK_TLS_WANTS_WRITE ? EV_WRITE : EV_READ);
    } else {
        end_handshake(client, step);
    }
}

static void on_ready(evutil_socket_t socket, short what, void *context) {
    struct lk_http_client *client = context;

    (void)what;
    lk_handshakes_step(&client->listener->handshakes, &client->handshake, (int)socket, on_stepped,
                       client);
}

static void await(struct lk_http_client *client, short awaited) {
    (void)event_assign(&client->ready, lk_server_loop(client->listener->server), client->socket,
                       awaited, on_ready, client);
    (void)event_add(&client->ready, NULL);
}

void lk_http_tls_await(struct lk_http_client *client) {
    (void)bufferevent_disable(evhttp_connection_get_bufferevent(client->connection), EV_READ);
    await(client, EV_READ);
}

void lk_http_tls_end(struct lk_http_client *client) {
    if (client->handshake.session != NULL) {
        if (event_initialized(&client->ready)) {
            (void)event_del(&client->ready);
        }
        lk_handshakes_end(&client->listener->handshakes, &client->handshake);
    }
}
