/* SPDX-License-Identifier: Apache-2.0 */
/* One connection of the RESP listener: bytes in, requests parsed, bytes out. */
#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/connections/admission.h"
#include "server/connections/loop.h"
#include "server/log/log.h"
#include "server/resp/resp.h"

enum { US_PER_S = 1000000 };

/* ---- opening and closing --------------------------------------------------------------------- */

void lk_resp_connection_schedule(struct lk_resp_connection *connection) {
    if (!connection->is_ready) {
        connection->is_ready = true;
        TAILQ_INSERT_TAIL(&connection->listener->ready, connection, ready);
    }
}

/* Frees everything; the requests bound to the session end with it (R18). */
void lk_resp_connection_close(struct lk_resp_connection *connection) {
    struct lk_resp_listener *listener = connection->listener;
    struct lk_times times = lk_server_times(listener->server);

    lk_connection_trace(&listener->base, &listener->listen_socket, connection->socket, "closed");
    (void)event_del(&connection->readable);
    (void)event_del(&connection->writable);
    (void)event_del(&connection->penalty);
    lk_login_cancel(&connection->login);
    lk_copy_end(&connection->copy);
    lk_resp_unwatch_all(connection);
    if (connection->session != NULL) {
        lk_core_session_close(lk_server_core(listener->server), connection->session, &times);
    }
    lk_handshakes_end(&listener->handshakes, &connection->handshake);
    (void)close(connection->socket);
    TAILQ_REMOVE(&listener->all, connection, all);
    if (connection->is_ready) {
        TAILQ_REMOVE(&listener->ready, connection, ready);
    }
    lk_admission_remove(&listener->admission, &connection->pending);
    listener->count -= connection->is_admitted;
    lk_server_charge(listener->server, &connection->charged, 0);
    lk_buffer_done(&connection->input);
    lk_reply_buffer_done(&connection->replies);
    free(connection->blocked);
    free(connection);
}

/* ---- executing requests ---------------------------------------------------------------------- */

static size_t unsent_bytes(const struct lk_resp_connection *connection) {
    return connection->replies.bytes.size - connection->replies.sent;
}

void lk_resp_connection_charge(struct lk_resp_connection *connection) {
    lk_server_charge(connection->listener->server, &connection->charged,
                     connection->input.capacity + connection->replies.bytes.capacity);
}

static bool may_execute(const struct lk_resp_connection *connection) {
    return connection->blocked == NULL && !connection->is_ending && !connection->is_dead
           && !lk_server_is_full(connection->listener->server) && !connection->is_penalized
           && !lk_login_is_pending(&connection->login) && !connection->copy.is_pending
           && !connection->listener->has_backpressure && !connection->replies.bytes.failed
           && unsent_bytes(connection) < LK_RESP_OUTPUT_PAUSE_BYTES;
}

/* The first call of a client that may make it: its connection is none of a flood. */
static void note_call(struct lk_resp_connection *connection) {
    if (connection->is_admitted && !connection->has_called) {
        connection->has_called = true;
        lk_pace_forget(lk_server_pace(connection->listener->server));
    }
}

/* Executes the complete requests; returns how many bytes they took. */
static size_t execute_requests(struct lk_resp_connection *connection, struct lk_slice input) {
    struct lk_resp_request *request = &connection->listener->request;
    size_t taken = 0;

    connection->needed = 0;
    while (taken < input.size && may_execute(connection)) {
        const struct lk_resp_bounds bounds = {
            .arguments_max = connection->is_authenticated ? LK_RESP_ARGUMENTS_MAX : 8,
            .request_bytes_max = connection->is_authenticated ? LK_RESP_REQUEST_BYTES_MAX
                                                              : LK_RESP_STRANGER_BYTES_MAX,
        };
        struct lk_slice rest = {.bytes = input.bytes + taken, .size = input.size - taken};
        switch (lk_resp_request_parse(rest, &bounds, request)) {
        case LK_RESP_MORE:
            connection->needed = request->size;
            return taken;
        case LK_RESP_BAD:
            lk_resp_connection_refuse(connection, "ERR", request->error);
            if (!connection->is_authenticated) {
                lk_resp_connection_penalize(connection, LK_OFFENCE_MALFORMED);
            }
            return input.size;
        case LK_RESP_DONE:
            taken += request->size;
            connection->is_whole = true;
            if (request->argument_count > 0) {
                lk_resp_execute(connection);
                note_call(connection);
            }
            break;
        }
    }
    return taken;
}

/* Executes buffered requests; returns whether there were any. */
static bool execute_buffered(struct lk_resp_connection *connection) {
    struct lk_slice kept = {.bytes = connection->input.bytes, .size = connection->input.size};
    size_t taken;

    if (kept.size == 0 || kept.size < connection->needed || !may_execute(connection)) {
        return false;
    }
    taken = execute_requests(connection, kept);
    lk_buffer_consume(&connection->input, taken);
    if (connection->input.size == 0) {
        lk_buffer_done(&connection->input);
    }
    return taken > 0;
}

/* Executes requests directly from the read buffer if no earlier input is buffered. */
static void add_input(struct lk_resp_connection *connection, struct lk_slice input) {
    if (connection->input.size == 0) {
        size_t taken = execute_requests(connection, input);
        input.bytes += taken;
        input.size -= taken;
        lk_buffer_add_slice(&connection->input, input);
    } else {
        lk_buffer_add_slice(&connection->input, input);
        (void)execute_buffered(connection);
    }
    if (connection->input.failed) {
        connection->is_dead = true;
    }
    lk_resp_connection_charge(connection);
}

/* ---- messages -------------------------------------------------------------------------------- */

void lk_resp_connection_refused(const struct lk_resp_connection *connection, enum lk_refusal why) {
    struct lk_resp_listener *listener = connection->listener;

    lk_refusal_note(listener->server, &listener->base, &listener->listen_socket, connection->socket,
                    why);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* For a request to arrive, or a handshake to be done. */
static uint32_t patience_s(const struct lk_resp_connection *connection) {
    uint32_t request_s = connection->listener->request_s;

    return connection->handshake.is_underway && request_s > LK_HANDSHAKE_SECONDS_MAX
               ? LK_HANDSHAKE_SECONDS_MAX
               : request_s;
}

static void set_request_timer(struct lk_resp_connection *connection, int64_t after_us) {
    const struct timeval after = lk_loop_delay(after_us);

    (void)event_add(&connection->readable, &after);
}

static void end_overdue(struct lk_resp_connection *connection) {
    connection->is_dead = true;
    lk_resp_connection_schedule(connection);
    if (connection->handshake.is_underway) {
        lk_handshakes_time_out(&connection->listener->handshakes, connection->socket);
    } else {
        lk_resp_connection_refused(connection, LK_REFUSED_SLOW);
    }
}

/*
 * Bounds the time in which a request must become complete; there is no timer while none has begun.
 * In a stream of requests the last one may always be incomplete, but it is a different one each
 * time. Before authentication the timer always runs, or silent connections would keep out those
 * that know the password.
 */
static void bound_request_time(struct lk_resp_connection *connection) {
    int64_t patience_us = INT64_C(1) * US_PER_S * patience_s(connection);
    bool is_begun =
        (connection->input.size > 0 || !connection->is_authenticated) && may_execute(connection);
    bool was_begun = connection->begun_us != 0;
    int64_t now_us;

    if (!connection->is_reading || (!is_begun && !was_begun)) {
        return;
    }
    now_us = lk_server_times(connection->listener->server).now_us;
    if (!is_begun) {
        connection->begun_us = 0;
        (void)event_remove_timer(&connection->readable);
    } else if (!was_begun || connection->is_whole) {
        connection->begun_us = now_us;
        set_request_timer(connection, patience_us);
    } else if (now_us - connection->begun_us >= patience_us) {
        end_overdue(connection);
    } else { /* the loop's clock is coarse: its timer may have fired early */
        set_request_timer(connection, connection->begun_us + patience_us - now_us);
    }
    connection->is_whole = false;
}

/* The peer has closed its side: pending answers are still sent, a blocked call is cancelled. */
static void on_peer_closed(struct lk_resp_connection *connection, bool is_broken) {
    connection->is_ending = true;
    connection->is_dead = is_broken || connection->blocked != NULL;
}

static void on_readable(evutil_socket_t socket, short what, void *context) {
    struct lk_resp_connection *connection = context;
    struct lk_resp_listener *listener = connection->listener;
    ssize_t size;

    (void)what;
    lk_resp_connection_schedule(connection);
    if (connection->handshake.is_underway) {
        lk_resp_tls_shake(connection);
        return;
    }
    size = connection->handshake.session == NULL
               ? recv(socket, listener->input, sizeof listener->input, 0)
               : lk_resp_tls_receive(connection, listener->input, sizeof listener->input);
    if (size > 0) {
        add_input(connection, (struct lk_slice){.bytes = listener->input, .size = (size_t)size});
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
        on_peer_closed(connection, size < 0);
    }
}

void lk_resp_connection_update(struct lk_resp_connection *connection) {
    bool wants = !connection->is_ending && !connection->listener->has_backpressure
                 && !connection->is_penalized && !connection->is_stalled
                 && !connection->handshake.is_computed && !lk_login_is_pending(&connection->login)
                 && !connection->copy.is_pending
                 && unsent_bytes(connection) < LK_RESP_OUTPUT_PAUSE_BYTES
                 && connection->input.size < LK_RESP_REQUEST_BYTES_MAX + 2;

    if (wants == connection->is_reading) {
        return;
    }
    connection->is_reading = wants;
    if (!connection->handshake.is_underway) { /* which stops reading for each of its steps */
        connection->begun_us = 0;
    }
    if (wants) {
        (void)event_add(&connection->readable, NULL);
        bound_request_time(connection);
    } else {
        (void)event_del(&connection->readable);
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

/* How long a client may leave its answers unread: less during shutdown. */
static struct timeval write_timeout_of(const struct lk_resp_connection *connection) {
    return (struct timeval){
        .tv_sec = connection->listener->is_stopping ? 1 : (time_t)connection->listener->request_s};
}

static void on_writable(evutil_socket_t socket, short what, void *context) {
    struct lk_resp_connection *connection = context;

    (void)socket;
    connection->is_writing = false;
    lk_resp_tls_end_stall(connection);
    if ((what & EV_TIMEOUT) != 0) { /* the reason cannot be sent: the client does not read */
        lk_log(LK_LOG_WARNING, "a client that does not read",
               "number %" PRIu64 " has read none of its replies for %ld s and is disconnected",
               connection->session != NULL ? lk_session_number(connection->session) : 0,
               (long)write_timeout_of(connection).tv_sec);
        connection->is_dead = true;
    }
    lk_resp_connection_schedule(connection);
}

void lk_resp_connection_shorten_timeout(struct lk_resp_connection *connection) {
    const struct timeval patience = write_timeout_of(connection);

    if (connection->is_writing) {
        (void)event_add(&connection->writable, &patience);
    }
}

/* Writes once all bytes that may leave. */
static void write_out(struct lk_resp_connection *connection) {
    const struct timeval patience = write_timeout_of(connection);
    struct lk_slice leaving = lk_reply_buffer_sendable(&connection->replies);
    ssize_t size;

    if (connection->is_writing || connection->is_penalized || leaving.size == 0) {
        return;
    }
    size = connection->handshake.session == NULL
               ? send(connection->socket, leaving.bytes, leaving.size, MSG_NOSIGNAL)
               : lk_resp_tls_send(connection, leaving);
    if (size < 0 && errno != EAGAIN && errno != EINTR) {
        connection->is_dead = true;
        return;
    }
    if (size > 0) {
        lk_reply_buffer_consume(&connection->replies, (size_t)size);
    }
    if (size < 0 || (size_t)size < leaving.size) {
        connection->is_writing = true;
        (void)event_add(&connection->writable, &patience);
    }
}

/* An answer is missing, so the answers after it would make no sense. */
static void log_no_memory(const struct lk_resp_connection *connection) {
    lk_log(LK_LOG_ERROR, "no memory for an answer", "client number %" PRIu64 " is disconnected",
           connection->session != NULL ? lk_session_number(connection->session) : 0);
}

bool lk_resp_connection_end_turn(struct lk_resp_connection *connection) {
    bool has_called = execute_buffered(connection);
    bool is_drained;

    bound_request_time(connection);
    if (!connection->is_dead) {
        lk_resp_write_events(connection);
        write_out(connection);
    }
    if (connection->replies.bytes.failed) {
        log_no_memory(connection);
    }
    lk_resp_connection_charge(connection);
    is_drained = unsent_bytes(connection) == 0 && connection->blocked == NULL;
    if (connection->is_dead || connection->replies.bytes.failed
        || (connection->is_ending && is_drained)) {
        lk_resp_connection_close(connection);
        return true;
    }
    lk_resp_connection_update(connection);
    lk_resp_tls_read_on(connection);
    if (has_called || connection->is_dead
        || (connection->input.size > 0 && connection->input.size >= connection->needed
            && may_execute(connection))) {
        lk_resp_connection_schedule(connection);
        return true;
    }
    return false;
}

/* ---- authentication -------------------------------------------------------------------------- */

static bool admit(struct lk_resp_connection *connection) {
    struct lk_resp_listener *listener = connection->listener;

    if (!connection->is_admitted && listener->count < listener->count_max) {
        lk_admission_remove(&listener->admission, &connection->pending);
        connection->is_admitted = true;
        listener->count++;
    }
    return connection->is_admitted;
}

bool lk_resp_connection_admit(struct lk_resp_connection *connection) {
    connection->is_authenticated = admit(connection);
    return connection->is_authenticated;
}

void lk_resp_connection_evict(struct lk_pending *pending) {
    struct lk_resp_connection *connection =
        (struct lk_resp_connection *)((char *)pending
                                      - offsetof(struct lk_resp_connection, pending));

    lk_resp_connection_refused(connection, LK_REFUSED_EVICTED);
    lk_listen_socket_forget(connection->socket);
    connection->is_dead = true;
    lk_resp_connection_schedule(connection);
}

/*
 * The refusal waits in the reply buffer, and so do the commands after it. The listener does not
 * detect that the client closes meanwhile: the connection stays pending, protected, and counts
 * towards the bound of its address.
 */
void lk_resp_connection_penalize(struct lk_resp_connection *connection, enum lk_offence offence) {
    struct lk_admission *admission = &connection->listener->admission;
    int64_t now_us = lk_server_times(connection->listener->server).now_us;
    int64_t delay_us = lk_admission_penalty_us(admission, connection->socket, offence, now_us);
    const struct timeval delay = lk_loop_delay(delay_us);

    if (delay_us == 0) {
        return;
    }
    connection->is_penalized = true;
    lk_admission_protect(admission, &connection->pending, true);
    (void)event_add(&connection->penalty, &delay);
}

void lk_resp_connection_end_penalty(struct lk_resp_connection *connection) {
    (void)event_del(&connection->penalty);
    connection->is_penalized = false;
    lk_admission_protect(&connection->listener->admission, &connection->pending, false);
    lk_resp_connection_schedule(connection);
}

static void on_penalty_over(evutil_socket_t socket, short what, void *context) {
    (void)socket;
    (void)what;
    lk_resp_connection_end_penalty(context);
}

/* ---- opening --------------------------------------------------------------------------------- */

/*
 * If no login is required, every client counts as authenticated, over TLS after its handshake.
 */
static bool admit_or_hold(struct lk_resp_connection *connection) {
    struct lk_resp_listener *listener = connection->listener;

    return !lk_server_wants_login(lk_server_options_of(listener->server))
                   && connection->handshake.session == NULL
               ? lk_resp_connection_admit(connection)
               : lk_admission_add(&listener->admission, &connection->pending, connection->socket);
}

static void begin_events(struct lk_resp_connection *connection) {
    struct event_base *loop = lk_server_loop(connection->listener->server);

    (void)event_assign(&connection->readable, loop, connection->socket, EV_READ | EV_PERSIST,
                       on_readable, connection);
    (void)event_assign(&connection->writable, loop, connection->socket, EV_WRITE, on_writable,
                       connection);
    (void)evtimer_assign(&connection->penalty, loop, on_penalty_over, connection);
}

void lk_resp_connection_refuse(struct lk_resp_connection *connection, const char *word,
                               const char *why) {
    lk_reply_buffer_begin(&connection->replies);
    lk_resp_refuse(connection, word, "%s", why);
    lk_resp_end_answer(connection, 0);
    connection->is_ending = true;
}

void lk_resp_connection_begin_session(struct lk_resp_connection *connection) {
    struct lk_core *core = lk_server_core(connection->listener->server);
    lk_error error;

    if (lk_core_session_open(core, &lk_resp_session_ops, connection, &connection->session, &error)
        != LK_OK) {
        connection->session = NULL;
        lk_resp_connection_refuse(connection, error.outcome == LK_FULL ? "FULL" : "UNAVAILABLE",
                                  error.text);
    }
}

bool lk_resp_connection_open(struct lk_resp_listener *listener, int socket) {
    struct lk_resp_connection *connection = calloc(1, sizeof *connection);

    if (connection == NULL) {
        return false;
    }
    connection->listener = listener;
    connection->socket = socket;
    if (!lk_resp_tls_begin(connection) || !admit_or_hold(connection)) {
        lk_tls_session_free(connection->handshake.session);
        free(connection);
        return false;
    }
    connection->version = 2;
    connection->replies.bytes.max = LK_RESP_OUTPUT_BYTES_MAX;
    begin_events(connection);
    TAILQ_INSERT_TAIL(&listener->all, connection, all);
    lk_connection_trace(&listener->base, &listener->listen_socket, socket, "opened");
    if (!connection->handshake.is_underway) {
        lk_resp_connection_begin_session(connection);
    }
    lk_resp_connection_schedule(connection);
    return true;
}
