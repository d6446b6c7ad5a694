/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a listener implements: it turns bytes into calls and replies into bytes. The loop calls the
 * operations; what a listener may ask of the program is in host.h. Policy is in the core.
 */
#ifndef LK_SERVER_CONNECTIONS_LISTENER_H
#define LK_SERVER_CONNECTIONS_LISTENER_H

#include <stddef.h>
#include <stdint.h>

#include "lockkeeper/terms.h"

struct lk_buffer;
struct lk_listen_socket; /* server/connections/listen.h */
struct lk_server;
struct lk_user;

/* A listener; embedded in the struct of its protocol. */
struct lk_listener {
    const struct lk_listener_ops *ops;
    const char *name; /* for monitoring: resp, unix or http; static */
};

struct lk_listener_ops {
    /* The end of each turn: write what may leave, and take up input that an answer has made
     * possible. When that leads to calls, it is called again in the same turn, until it returns
     * false. */
    bool (*turn_end)(struct lk_listener *listener);

    /* Backpressure: lk_core_has_backpressure() has changed; stop reading or go on. */
    void (*set_backpressure)(struct lk_listener *listener, bool has_backpressure);

    /* How much the connection that buffers most has buffered; `ends`: closes it. Between turns. */
    size_t (*shed)(struct lk_listener *listener, bool ends);

    /* Accepts no more connections. The others end when all their answers have been sent. */
    void (*stop)(struct lk_listener *listener);
    bool (*is_quiet)(
        const struct lk_listener *listener); /* after stop(): nothing is left to send */
    void (*close)(struct lk_listener *listener);

    uint64_t (*count_clients)(const struct lk_listener *listener);
    /* One line per connection of this user; NULL: of every connection. */
    void (*list_clients)(const struct lk_listener *listener, const struct lk_user *user,
                         struct lk_buffer *out);

    /* The options have other bounds of connections. Open connections stay. */
    void (*take_bounds)(struct lk_listener *listener);

    /* The users may have changed: ends what is not allowed any more. */
    void (*check_grants)(struct lk_listener *listener);
};

/*
 * resp/listener.c, http/listener.c: serve the connections of a listen socket, which they own from
 * then on, whatever they return. LK_OK with *ret_listener, or LK_INTERNAL.
 */
lk_outcome lk_listener_resp_open(struct lk_server *server, struct lk_listen_socket *listen_socket,
                                 struct lk_listener **ret_listener, lk_error *error);
lk_outcome lk_listener_http_open(struct lk_server *server, struct lk_listen_socket *listen_socket,
                                 struct lk_listener **ret_listener, lk_error *error);

#endif
