/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS on a RESP connection: the handshake, and what takes the place of recv() and send().
 *
 * Until the handshake is done the connection has no session and is pending
 * (connections/admission.h), also where no password is required.
 */
#include <errno.h>
#include <event2/event.h>

#include "server/resp/resp.h"

bool lk_resp_tls_begin(struct lk_resp_connection *connection) {
    struct lk_tls_context *context = connection->listener->handshakes.context;

    if (context == NULL) {
        return true;
    }
    connection->handshake.session = lk_tls_session_accept(context, connection->socket);
    connection->handshake.is_underway = true;
    return connection->handshake.session != NULL;
}

/* ---- handshakes ------------------------------------------------------------------------------ */

/* Stops reading until the socket has taken what TLS must say first. */
static void stall(struct lk_resp_connection *connection) {
    const struct timeval patience = {.tv_sec = connection->listener->request_s};

    connection->is_stalled = true;
    if (!connection->is_writing) {
        connection->is_writing = true;
        (void)event_add(&connection->writable, &patience);
    }
}

void lk_resp_tls_end_stall(struct lk_resp_connection *connection) {
    if (connection->is_stalled) {
        connection->is_stalled = false;
        event_active(&connection->readable, EV_READ, 0);
    }
}

/* The client may speak now, or first logs in. */
static void greet(struct lk_resp_connection *connection) {
    bool is_known = !lk_server_wants_login(lk_server_options_of(connection->listener->server))
                    || lk_resp_log_in_by_certificate(connection);

    connection->is_whole = true; /* what follows has the time of a request */
    if (is_known && !lk_resp_connection_admit(connection)) {
        lk_resp_connection_refused(connection, LK_REFUSED_FULL);
        lk_resp_connection_refuse(connection, "FULL", "too many connections");
    } else {
        lk_resp_connection_begin_session(connection);
    }
}

static void on_stepped(void *context, enum lk_tls_step step) {
    struct lk_resp_connection *connection = context;

    lk_resp_connection_schedule(connection);
    switch (step) {
    case LK_TLS_DONE:
        greet(connection);
        break;
    case LK_TLS_WANTS_READ:
        break;
    case LK_TLS_WANTS_WRITE:
        stall(connection);
        break;
    case LK_TLS_CLOSED:
    case LK_TLS_FAILED:
        connection->is_dead = true;
        break;
    }
}

void lk_resp_tls_shake(struct lk_resp_connection *connection) {
    if (!connection->handshake.is_computed) {
        lk_handshakes_step(&connection->listener->handshakes, &connection->handshake,
                           connection->socket, on_stepped, connection);
    }
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static ssize_t result_of(struct lk_resp_connection *connection, enum lk_tls_step step,
                         size_t size) {
    switch (step) {
    case LK_TLS_DONE:
        return (ssize_t)size;
    case LK_TLS_CLOSED:
        return 0;
    case LK_TLS_WANTS_WRITE:
        stall(connection);
        errno = EAGAIN;
        return -1;
    case LK_TLS_WANTS_READ:
        errno = EAGAIN;
        return -1;
    case LK_TLS_FAILED:
        break;
    }
    errno = EPROTO;
    return -1;
}

ssize_t lk_resp_tls_receive(struct lk_resp_connection *connection, void *bytes, size_t size) {
    size_t received = 0;
    enum lk_tls_step step =
        lk_tls_session_receive(connection->handshake.session, bytes, size, &received);

    return result_of(connection, step, received);
}

/*
 * Without renegotiation nothing has to be read before bytes are sent. A part at a time: a client
 * that reads as fast as the bytes are encrypted would have the whole turn.
 */
ssize_t lk_resp_tls_send(struct lk_resp_connection *connection, struct lk_slice bytes) {
    enum { PART_BYTES_MAX = 256 * 1024 };
    size_t part = bytes.size < PART_BYTES_MAX ? bytes.size : PART_BYTES_MAX;
    size_t sent = 0;
    enum lk_tls_step step =
        lk_tls_session_send(connection->handshake.session, bytes.bytes, part, &sent);

    if (step == LK_TLS_WANTS_WRITE) {
        errno = EAGAIN;
        return -1;
    }
    return result_of(connection, step, sent);
}

void lk_resp_tls_read_on(struct lk_resp_connection *connection) {
    if (connection->handshake.session != NULL && connection->is_reading
        && lk_tls_session_has_more(connection->handshake.session)) {
        event_active(&connection->readable, EV_READ, 0);
    }
}
