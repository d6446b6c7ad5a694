/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses to listen on: HOST:PORT, [HOST]:PORT or unix:PATH. An address that other machines can
 * reach is refused, unless whoever comes there must say a password, or somebody said to go ahead.
 */
#ifndef LK_SERVER_DOORS_LISTEN_H
#define LK_SERVER_DOORS_LISTEN_H

#include "server/server.h"

struct lk_listener {
    int socket; /* does not block; -1: closed */
    char *path; /* unix: to be unlinked; owned. NULL: a port */
};

/*
 * LK_OK with *ret_listener, for lk_listener_close(), and where it is; LK_INVALID (no such address),
 * LK_DENIED (others can reach it, or no right to it), LK_UNAVAILABLE (taken), LK_INTERNAL.
 */
lk_outcome lk_listener_open(const struct lk_server_options *options, const char *address,
                            struct lk_listener *ret_listener,
                            char ret_address[LK_ADDRESS_BYTES_MAX], lk_error *error);
void lk_listener_close(struct lk_listener *listener);

/*
 * The next connection: a socket that does not block, with small packets sent at once. -1: there is
 * none just now; *ret_is_exhausted: there may be, but no more files can be opened.
 */
int lk_listener_accept(const struct lk_listener *listener, bool *ret_is_exhausted);

/* Where a connection comes from; one by a Unix socket comes from there. */
void lk_listener_name_peer(const struct lk_listener *listener, int socket,
                           char ret_address[LK_ADDRESS_BYTES_MAX]);

#endif
