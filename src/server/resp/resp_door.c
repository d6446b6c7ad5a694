/* SPDX-License-Identifier: Apache-2.0 */
/* The RESP listener: accepting, the end of a turn, and closing. */
#include <event2/event.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "server/files.h"
#include "server/resp/resp.h"

enum { ACCEPTED_PER_TURN_MAX = 64, RETRY_MS = 100 };

static struct lk_resp_door *resp_door(struct lk_listener *door) {
    return (struct lk_resp_door *)(void *)door;
}

/* ---- accepting ------------------------------------------------------------------------------- */

static void refuse(int socket) {
    static const char reason[] = "-FULL too many connections\r\n";

    (void)!write(socket, reason, sizeof reason - 1);
    (void)close(socket);
}

static void accept_some(evutil_socket_t socket, short what, void *context) {
    static const struct timeval later = {.tv_usec = RETRY_MS * 1000};
    struct lk_resp_door *door = context;
    bool is_exhausted = false;

    (void)socket;
    (void)what;
    for (int i = 0; i < ACCEPTED_PER_TURN_MAX; i++) {
        int peer = lk_listen_socket_accept(&door->listen_socket, &is_exhausted);
        if (peer < 0) {
            break;
        }
        if (!lk_resp_connection_open(door, peer)) {
            refuse(peer);
        }
    }
    if (is_exhausted) {
        lk_files_complain();
        (void)event_del(&door->acceptable);
        (void)event_add(&door->retry, &later);
    }
}

static void accept_again(evutil_socket_t socket, short what, void *context) {
    struct lk_resp_door *door = context;

    (void)socket;
    (void)what;
    (void)event_add(&door->acceptable, NULL);
}

/* ---- turns ----------------------------------------------------------------------------------- */

static bool turn_end(struct lk_listener *of) {
    struct lk_resp_door *door = resp_door(of);
    struct lk_resp_connections ready = TAILQ_HEAD_INITIALIZER(ready);
    bool has_called = false;

    TAILQ_CONCAT(&ready, &door->ready, ready);
    while (!TAILQ_EMPTY(&ready)) {
        struct lk_resp_connection *connection = TAILQ_FIRST(&ready);
        TAILQ_REMOVE(&ready, connection, ready);
        connection->is_ready = false;
        has_called = lk_resp_connection_end_turn(connection) || has_called;
    }
    return has_called;
}

static void choke(struct lk_listener *of, bool is_choked) {
    struct lk_resp_door *door = resp_door(of);
    struct lk_resp_connection *connection;

    door->is_choked = is_choked;
    TAILQ_FOREACH(connection, &door->all, all) {
        lk_resp_connection_update(connection);
        if (!is_choked && connection->input.size > 0) {
            lk_resp_connection_stir(connection);
        }
    }
}

static size_t shed(struct lk_listener *of, bool ends) {
    struct lk_resp_door *door = resp_door(of);
    struct lk_resp_connection *worst = NULL;
    struct lk_resp_connection *connection;
    size_t most = 0;

    TAILQ_FOREACH(connection, &door->all, all) {
        if (connection->charged > most) {
            worst = connection;
            most = connection->charged;
        }
    }
    if (ends && worst != NULL) {
        lk_resp_connection_cut(worst);
    }
    return most;
}

/* ---- closing --------------------------------------------------------------------------------- */

static void stop(struct lk_listener *of) {
    struct lk_resp_door *door = resp_door(of);
    struct lk_resp_connection *connection;

    door->is_stopping = true;
    (void)event_del(&door->acceptable);
    (void)event_del(&door->retry);
    lk_listen_socket_close(&door->listen_socket);
    TAILQ_FOREACH(connection, &door->all, all) {
        connection->is_ending = true;
        lk_resp_connection_hurry(connection);
        lk_resp_connection_pardon(connection);
    }
}

static bool is_quiet(const struct lk_listener *of) {
    return TAILQ_EMPTY(&((const struct lk_resp_door *)(const void *)of)->all);
}

static void close_door(struct lk_listener *of) {
    struct lk_resp_door *door = resp_door(of);
    struct lk_resp_connection *connection;

    if (!door->is_stopping) {
        stop(of);
    }
    TAILQ_FOREACH(connection, &door->all, all) {
        connection->is_dead = true;
        lk_resp_connection_stir(connection);
    }
    (void)turn_end(of);
    lk_guests_end(&door->guests);
    free(door);
}

static uint64_t count_clients(const struct lk_listener *of) {
    const struct lk_resp_door *door = (const struct lk_resp_door *)(const void *)of;

    return (uint64_t)door->count + door->guests.count;
}

static void list_clients(const struct lk_listener *of, struct lk_buffer *out) {
    const struct lk_resp_door *door = (const struct lk_resp_door *)(const void *)of;
    const struct lk_resp_connection *each;

    TAILQ_FOREACH(each, &door->all, all) {
        lk_resp_describe(each, out);
    }
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

lk_outcome lk_listener_resp_open(struct lk_server *server, const char *listen,
                                 struct lk_listener **ret_door,
                                 char ret_address[LK_ADDRESS_BYTES_MAX], lk_error *error) {
    const struct lk_server_options *options = lk_server_options_of(server);
    struct lk_resp_door *door = calloc(1, sizeof *door);
    lk_outcome outcome;

    if (door == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the RESP door");
    }
    outcome = lk_listen_socket_open(options, listen, &door->listen_socket, ret_address, error);
    if (outcome != LK_OK) {
        free(door);
        return outcome;
    }
    door->door.ops = &ops;
    door->server = server;
    door->count_max = options->connections_max;
    door->request_s = options->request_seconds_max;
    lk_guests_begin(&door->guests, options->strangers_max, door->listen_socket.path != NULL,
                    lk_resp_connection_drop);
    TAILQ_INIT(&door->all);
    TAILQ_INIT(&door->ready);
    (void)event_assign(&door->acceptable, lk_server_loop(server), door->listen_socket.socket,
                       EV_READ | EV_PERSIST, accept_some, door);
    (void)evtimer_assign(&door->retry, lk_server_loop(server), accept_again, door);
    if (event_add(&door->acceptable, NULL) != 0) {
        lk_listen_socket_close(&door->listen_socket);
        free(door);
        return lk_error_set(error, LK_INTERNAL, "the loop takes no listener");
    }
    *ret_door = &door->door;
    return LK_OK;
}
