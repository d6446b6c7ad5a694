/* SPDX-License-Identifier: Apache-2.0 */
/* One connection of the RESP door: bytes in, requests out of them, bytes out. */
#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/doors/resp.h"

/* ---- beginning and end ----------------------------------------------------------------------- */

void lk_resp_connection_stir(struct lk_resp_connection *connection) {
    if (!connection->is_stirred) {
        connection->is_stirred = true;
        TAILQ_INSERT_TAIL(&connection->door->stirred, connection, stirred);
    }
}

/* Gives everything back; the session's bound requests end with it (R18). */
static void close_connection(struct lk_resp_connection *connection) {
    struct lk_resp_door *door = connection->door;
    struct lk_times times = lk_server_times(door->server);

    (void)event_del(&connection->readable);
    (void)event_del(&connection->writable);
    lk_resp_unwatch(connection);
    if (connection->session != NULL) {
        lk_core_session_close(lk_server_core(door->server), connection->session, &times);
    }
    (void)close(connection->socket);
    TAILQ_REMOVE(&door->all, connection, all);
    if (connection->is_stirred) {
        TAILQ_REMOVE(&door->stirred, connection, stirred);
    }
    door->count--;
    lk_buffer_done(&connection->input);
    lk_outbox_done(&connection->outbox);
    free(connection->blocked);
    free(connection);
}

/* ---- taking up requests ---------------------------------------------------------------------- */

static size_t untold(const struct lk_resp_connection *connection) {
    return connection->outbox.bytes.size - connection->outbox.gone;
}

static bool may_take(const struct lk_resp_connection *connection) {
    return connection->blocked == NULL && !connection->is_ending && !connection->is_dead
           && !connection->door->is_choked && untold(connection) < LK_RESP_OUTPUT_PAUSE_BYTES;
}

static void refuse_bytes(struct lk_resp_connection *connection, const char *why) {
    lk_outbox_begin(&connection->outbox);
    lk_resp_put_error(&connection->outbox.bytes, "ERR", lk_slice_of(why));
    lk_outbox_end(&connection->outbox, 0, true);
    connection->is_ending = true;
}

/* Executes what is whole; how many bytes that were. */
static size_t take_requests(struct lk_resp_connection *connection, struct lk_slice input) {
    struct lk_resp_request *request = &connection->door->request;
    size_t taken = 0;

    connection->needed = 0;
    while (taken < input.size && may_take(connection)) {
        const struct lk_resp_bounds bounds = {
            .arguments_max = connection->is_known ? LK_RESP_ARGUMENTS_MAX : 8,
            .request_bytes_max =
                connection->is_known ? LK_RESP_REQUEST_BYTES_MAX : LK_RESP_STRANGER_BYTES_MAX,
        };
        struct lk_slice rest = {.bytes = input.bytes + taken, .size = input.size - taken};
        switch (lk_resp_request_parse(rest, &bounds, request)) {
        case LK_RESP_MORE:
            connection->needed = request->size;
            return taken;
        case LK_RESP_BAD:
            refuse_bytes(connection, request->error);
            return input.size;
        case LK_RESP_DONE:
            taken += request->size;
            connection->is_whole = true;
            if (request->argument_count > 0) {
                lk_resp_execute(connection);
            }
            break;
        }
    }
    return taken;
}

/* Takes up what has been kept; whether there was anything to take. */
static bool take_kept(struct lk_resp_connection *connection) {
    struct lk_slice kept = {.bytes = connection->input.bytes, .size = connection->input.size};
    size_t taken;

    if (kept.size == 0 || kept.size < connection->needed || !may_take(connection)) {
        return false;
    }
    taken = take_requests(connection, kept);
    lk_buffer_consume(&connection->input, taken);
    if (connection->input.size == 0) {
        lk_buffer_done(&connection->input);
    }
    return taken > 0;
}

/* Takes up what has just been read, straight from where it was read to if nothing was kept. */
static void take_input(struct lk_resp_connection *connection, struct lk_slice input) {
    if (connection->input.size == 0) {
        size_t taken = take_requests(connection, input);
        input.bytes += taken;
        input.size -= taken;
        lk_buffer_add_slice(&connection->input, input);
    } else {
        lk_buffer_add_slice(&connection->input, input);
        (void)take_kept(connection);
    }
    if (connection->input.failed) {
        connection->is_dead = true;
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_overdue(const struct lk_resp_connection *connection, int64_t now_us) {
    return connection->begun_us != 0
           && now_us - connection->begun_us >= connection->door->request_s * INT64_C(1000000);
}

/*
 * Watches how long a request takes to become whole, and looks away when none is begun. In a stream
 * of them the last may always be a part of one, but it is another one each time. From a stranger
 * one is awaited at all times, or those who say nothing would keep out those who know the password.
 */
static void watch_request(struct lk_resp_connection *connection) {
    const struct timeval patience = {.tv_sec = connection->door->request_s};
    bool is_begun = (connection->input.size > 0 || !connection->is_known) && may_take(connection);
    bool was_begun = connection->begun_us != 0;

    if (!connection->is_reading || (!is_begun && !was_begun)) {
        return;
    }
    if (!is_begun) {
        connection->begun_us = 0;
        (void)event_remove_timer(&connection->readable);
    } else if (!was_begun || connection->is_whole) {
        connection->begun_us = lk_server_times(connection->door->server).now_us;
        (void)event_add(&connection->readable, &patience);
    } else if (is_overdue(connection, lk_server_times(connection->door->server).now_us)) {
        connection->is_dead = true;
    }
    connection->is_whole = false;
}

/* The other side says nothing more: what it was promised is told, what blocks is given up. */
static void hear_end(struct lk_resp_connection *connection, bool is_broken) {
    connection->is_ending = true;
    connection->is_dead = is_broken || connection->blocked != NULL;
}

static void read_some(evutil_socket_t socket, short what, void *context) {
    struct lk_resp_connection *connection = context;
    struct lk_resp_door *door = connection->door;
    ssize_t size;

    (void)what;
    lk_resp_connection_stir(connection);
    size = recv(socket, door->input, sizeof door->input, 0);
    if (size > 0) {
        take_input(connection, (struct lk_slice){.bytes = door->input, .size = (size_t)size});
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
        hear_end(connection, size < 0);
    }
}

void lk_resp_connection_update(struct lk_resp_connection *connection) {
    bool wants = !connection->is_ending && !connection->door->is_choked
                 && untold(connection) < LK_RESP_OUTPUT_PAUSE_BYTES
                 && connection->input.size < LK_RESP_REQUEST_BYTES_MAX + 2;

    if (wants == connection->is_reading) {
        return;
    }
    connection->is_reading = wants;
    connection->begun_us = 0;
    if (wants) {
        (void)event_add(&connection->readable, NULL);
        watch_request(connection);
    } else {
        (void)event_del(&connection->readable);
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

static void go_on_writing(evutil_socket_t socket, short what, void *context) {
    struct lk_resp_connection *connection = context;

    (void)socket;
    connection->is_writing = false;
    if ((what & EV_TIMEOUT) != 0) { /* it cannot be told why: it does not read */
        (void)fprintf(stderr,
                      "lk serve: client %" PRIu64 ": it has read nothing for %" PRIu32
                      " s of what it is told, and is cut off\n",
                      connection->session != NULL ? lk_session_number(connection->session) : 0,
                      connection->door->request_s);
        connection->is_dead = true;
    }
    lk_resp_connection_stir(connection);
}

/* One write of all that may leave. */
static void write_out(struct lk_resp_connection *connection) {
    const struct timeval patience = {.tv_sec = connection->door->request_s};
    struct lk_slice leaving = lk_outbox_leaving(&connection->outbox);
    ssize_t size;

    if (connection->is_writing || leaving.size == 0) {
        return;
    }
    size = send(connection->socket, leaving.bytes, leaving.size, MSG_NOSIGNAL);
    if (size < 0 && errno != EAGAIN && errno != EINTR) {
        connection->is_dead = true;
        return;
    }
    if (size > 0) {
        lk_outbox_consume(&connection->outbox, (size_t)size);
    }
    if (size < 0 || (size_t)size < leaving.size) {
        connection->is_writing = true;
        (void)event_add(&connection->writable, &patience);
    }
}

/* Something of what it was to be told is missing, so nothing that follows would make sense. */
static void complain_of_room(const struct lk_resp_connection *connection) {
    (void)fprintf(stderr,
                  "lk serve: client %" PRIu64 ": there is no room for what it is told (%d bytes at "
                  "most), and it is cut off\n",
                  connection->session != NULL ? lk_session_number(connection->session) : 0,
                  LK_RESP_OUTPUT_BYTES_MAX);
}

bool lk_resp_connection_end_turn(struct lk_resp_connection *connection) {
    bool has_called = take_kept(connection);
    bool is_told;

    watch_request(connection);
    if (!connection->is_dead) {
        lk_resp_tell_events(connection);
        write_out(connection);
    }
    if (connection->outbox.bytes.failed) {
        complain_of_room(connection);
    }
    is_told = untold(connection) == 0 && connection->blocked == NULL;
    if (connection->is_dead || connection->outbox.bytes.failed
        || (connection->is_ending && is_told)) {
        close_connection(connection);
        return true;
    }
    lk_resp_connection_update(connection);
    if (has_called
        || (connection->input.size > 0 && connection->input.size >= connection->needed
            && may_take(connection))) {
        lk_resp_connection_stir(connection);
        return true;
    }
    return false;
}

/* ---- opening --------------------------------------------------------------------------------- */

void lk_resp_connection_open(struct lk_resp_door *door, int socket) {
    struct lk_resp_connection *connection = calloc(1, sizeof *connection);
    lk_error error;

    if (connection == NULL) {
        (void)close(socket);
        return;
    }
    connection->door = door;
    connection->socket = socket;
    connection->version = 2;
    connection->is_known = lk_server_options_of(door->server)->password == NULL;
    connection->outbox.bytes.max = LK_RESP_OUTPUT_BYTES_MAX;
    (void)event_assign(&connection->readable, lk_server_loop(door->server), socket,
                       EV_READ | EV_PERSIST, read_some, connection);
    (void)event_assign(&connection->writable, lk_server_loop(door->server), socket, EV_WRITE,
                       go_on_writing, connection);
    TAILQ_INSERT_TAIL(&door->all, connection, all);
    door->count++;
    if (lk_core_session_open(lk_server_core(door->server), &lk_resp_session_ops, connection,
                             &connection->session, &error)
        != LK_OK) {
        connection->session = NULL;
        lk_outbox_begin(&connection->outbox);
        lk_resp_refuse(connection, error.outcome == LK_FULL ? "FULL" : "UNAVAILABLE", error.text);
        lk_outbox_end(&connection->outbox, 0, true);
        connection->is_ending = true;
    }
    lk_resp_connection_stir(connection);
}
