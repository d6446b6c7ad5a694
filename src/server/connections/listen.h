/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses to listen on: HOST:PORT, [HOST]:PORT, unix:PATH, or fd:N for a socket that listens
 * already, inherited from the process that started this one. An address that other machines can
 * reach is refused, unless a password is required, or the configuration explicitly allows it.
 */
#ifndef LK_SERVER_CONNECTIONS_LISTEN_H
#define LK_SERVER_CONNECTIONS_LISTEN_H

#include "server/options.h"

enum { LK_ADDRESS_BYTES_MAX = 256 };

struct lk_listen_socket {
    int socket;        /* non-blocking; -1: closed */
    char *path;        /* unix; owned. NULL: a TCP port */
    bool is_inherited; /* its path is not unlinked: it belongs to the other process */
};

/*
 * Accepted sockets inherit the listener's options: small packets are sent at once, and unreachable
 * peers are found within options->tcp_keepalive_s.
 *
 * LK_OK with *ret_listen_socket, for lk_listen_socket_close(), and its address; LK_INVALID (no such
 * address), LK_DENIED (other machines can reach it, or no permission), LK_UNAVAILABLE (taken),
 * LK_INTERNAL.
 */
lk_outcome lk_listen_socket_open(const struct lk_server_options *options, const char *address,
                                 struct lk_listen_socket *ret_listen_socket,
                                 char ret_address[LK_ADDRESS_BYTES_MAX], lk_error *error);
void lk_listen_socket_close(struct lk_listen_socket *listen_socket);

/*
 * Accepts the next connection: a non-blocking socket. -1: there is none now; *ret_is_exhausted:
 * there may be one, but no more files can be opened.
 */
int lk_listen_socket_accept(const struct lk_listen_socket *listen_socket, bool *ret_is_exhausted);

/* The peer's address; for a Unix socket, the path of the socket. */
void lk_listen_socket_name_peer(const struct lk_listen_socket *listen_socket, int socket,
                                char ret_address[LK_ADDRESS_BYTES_MAX]);

/*
 * Closing the socket will reset its connection: nothing is sent any more, and the system keeps
 * nothing of it, for a minute as it would otherwise (TIME_WAIT).
 */
void lk_listen_socket_forget(int socket);

/*
 * Writes the URL of a listener's address. A socket in the file system stays plain, also where the
 * ports have TLS.
 */
void lk_listen_url_write(const char *address, bool is_http, bool has_tls, char *ret_url,
                         size_t url_bytes);

#endif
