/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS on connections of the HTTP listener.
 *
 * libevent reads and writes them once the handshake is done. It could do the handshakes as well,
 * but then a turn would not end before all that have arrived were computed, and what has failed
 * would not be known. So it is given a session that counts as open, and is not let near the socket
 * until it is.
 *
 * Within src/server.
 */
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/http.h>

#include "base/library.h"
#include "libevent_openssl_functions.h"
#include "server/http/http.h"

struct lk_libevent_openssl lk_libevent_openssl;

lk_outcome lk_http_tls_load(lk_error *error) {
    static const char *const names[] = {LK_LIBEVENT_OPENSSL_NAMES};
    static struct lk_library library = {
        .file = "libevent_openssl-2.1.so.7",
        .package = "libevent-openssl-2.1-7",
        .user = "TLS over HTTP",
        .names = names,
        .table = &lk_libevent_openssl,
        .count = sizeof names / sizeof names[0],
    };

    return lk_library_load(&library, error);
}

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
