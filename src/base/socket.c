/* SPDX-License-Identifier: Apache-2.0 */
/* Waits are of at most a second each, as poll() does not count the time of a suspended machine. */
#include "base/socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/minmax.h"

#define NAP_US_MAX INT64_C(1000000)

int lk_socket_await(int descriptor, short events, int64_t until_us, struct lk_waker *waker) {
    struct pollfd polled[2] = {
        {.fd = descriptor, .events = events},
        {.fd = waker != NULL ? lk_waker_thrown_descriptor(waker) : -1, .events = POLLIN},
    };

    for (;;) {
        int64_t left_us = lk_max(0, until_us - lk_clock_now_us());
        int64_t nap_us = lk_min(left_us, NAP_US_MAX);
        const struct timespec nap = {.tv_sec = nap_us / 1000000,
                                     .tv_nsec = nap_us % 1000000 * 1000};
        int count;

        if (lk_waker_is_thrown(waker)) {
            return ECANCELED;
        }
        count = ppoll(polled, 2, &nap, NULL);
        if (count > 0 && polled[0].revents != 0) {
            return 0;
        }
        if (count < 0 && errno != EINTR) {
            return errno;
        }
        if (left_us == 0) {
            return ETIMEDOUT;
        }
    }
}

/* The end of a connection that has been begun. */
static int finish_connecting(int descriptor, int64_t until_us, struct lk_waker *waker) {
    int problem = lk_socket_await(descriptor, POLLOUT, until_us, waker);
    socklen_t size = sizeof problem;

    if (problem != 0) {
        return problem;
    }
    return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &problem, &size) == 0 ? problem : errno;
}

int lk_socket_connect(const struct sockaddr *address, socklen_t size, int64_t until_us,
                      struct lk_waker *waker, int *ret_descriptor) {
    int descriptor = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int problem = 0;
    int on = 1;

    if (descriptor < 0) {
        return errno;
    }
    if (connect(descriptor, address, size) != 0) {
        problem = errno == EINPROGRESS ? finish_connecting(descriptor, until_us, waker) : errno;
    }
    if (problem != 0) {
        (void)close(descriptor);
        return problem;
    }
    if (address->sa_family != AF_UNIX) {
        (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        (void)setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    }
    *ret_descriptor = descriptor;
    return 0;
}

int lk_socket_dial(const char *host, const char *port, int64_t until_us, struct lk_waker *waker,
                   int *ret_descriptor, const char **ret_why) {
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int problem = getaddrinfo(host, port, &wanted, &found);

    if (problem != 0) {
        *ret_why = gai_strerror(problem);
        return EHOSTUNREACH;
    }
    problem = ENOENT;
    for (const struct addrinfo *each = found; each != NULL && problem != 0 && problem != ECANCELED;
         each = each->ai_next) {
        problem =
            lk_socket_connect(each->ai_addr, each->ai_addrlen, until_us, waker, ret_descriptor);
    }
    freeaddrinfo(found);
    if (problem != 0) {
        *ret_why = strerror(problem);
    }
    return problem;
}
