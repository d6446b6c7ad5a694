/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Client sockets that do not block: connecting, and waiting until they are ready. Each function
 * blocks until an instant of lk_clock_now_us() at most (LK_NEVER: for ever), or until the waker is
 * thrown (NULL: there is none). Thread-safe.
 */
#ifndef LK_BASE_SOCKET_H
#define LK_BASE_SOCKET_H

#include <stdint.h>
#include <sys/socket.h>

#include "base/waker.h"

/*
 * Waits for `events` of poll(). Returns 0 once the socket is ready or has failed, which the next
 * call on it tells; ETIMEDOUT at `until_us`, which may have passed already: then it looks once;
 * ECANCELED when the waker is thrown; the errno of poll() if that fails.
 */
int lk_socket_await(int descriptor, short events, int64_t until_us, struct lk_waker *waker);

/*
 * Connects to one address. Returns 0 with *ret_descriptor, which the caller closes and which does
 * not block; or an errno, with ETIMEDOUT and ECANCELED as above.
 */
int lk_socket_connect(const struct sockaddr *address, socklen_t size, int64_t until_us,
                      struct lk_waker *waker, int *ret_descriptor);

/*
 * The same with the first address of a host that takes the connection. After a failure *ret_why
 * (a constant, or the text of strerror()) says why: where the name is not found the result is
 * EHOSTUNREACH. Looking up the name may take longer than until `until_us`.
 */
int lk_socket_dial(const char *host, const char *port, int64_t until_us, struct lk_waker *waker,
                   int *ret_descriptor, const char **ret_why);

#endif
