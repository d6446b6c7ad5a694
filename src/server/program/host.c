/* SPDX-License-Identifier: Apache-2.0 */
/* What the program's state tells listeners, and the connections of all listeners together. */
#include "base/clock.h"
#include "server/program/state.h"

/* The clocks are read when they are first asked for in a turn. */
struct lk_times lk_server_times(struct lk_server *server) {
    if (!server->is_turning) {
        server->is_turning = true;
        server->times =
            (struct lk_times){.now_us = lk_clock_now_us(), .wall_us = lk_clock_wall_us()};
    }
    return server->times;
}

struct event_base *lk_server_loop(const struct lk_server *server) {
    return server->loop;
}

struct lk_core *lk_server_core(const struct lk_server *server) {
    return server->core;
}

struct lk_logins *lk_server_logins(const struct lk_server *server) {
    return server->login_events.logins;
}

struct lk_handshake_thread *lk_server_handshake_thread(const struct lk_server *server) {
    return server->handshake_events.thread;
}

struct lk_copies *lk_server_copies(struct lk_server *server) {
    return &server->copies;
}

struct lk_pace *lk_server_pace(struct lk_server *server) {
    return &server->pace;
}

const struct lk_server_options *lk_server_options_of(const struct lk_server *server) {
    return &server->options;
}

void lk_server_charge(struct lk_server *server, size_t *charged, size_t bytes) {
    server->buffered += bytes;
    server->buffered -= *charged;
    *charged = bytes;
    server->was_full = server->was_full || lk_server_is_full(server);
}

bool lk_server_is_full(const struct lk_server *server) {
    return server->buffered > server->options.buffer_bytes_max;
}

uint64_t lk_server_buffered(const struct lk_server *server) {
    return server->buffered;
}

struct lk_monitor *lk_server_monitor(struct lk_server *server) {
    return &server->monitor;
}

struct lk_listener *lk_server_listener(const struct lk_server *server, size_t index) {
    return index < server->listener_count ? server->listeners[index] : NULL;
}

const struct lk_leadership *lk_server_leadership(const struct lk_server *server) {
    return lk_server_is_shared(&server->options) ? &server->leadership : NULL;
}

uint64_t lk_server_count_clients(const struct lk_server *server) {
    const struct lk_listener *listener;
    uint64_t count = 0;

    for (size_t i = 0; (listener = lk_server_listener(server, i)) != NULL; i++) {
        count += listener->ops->count_clients(listener);
    }
    return count;
}

void lk_server_list_clients(const struct lk_server *server, const struct lk_user *user,
                            struct lk_buffer *out) {
    const struct lk_listener *listener;

    for (size_t i = 0; (listener = lk_server_listener(server, i)) != NULL; i++) {
        listener->ops->list_clients(listener, user, out);
    }
}
