/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for a socket and for the waker in one poll(). */
#include "engine/procedures/socket.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>

#include "base/clock.h"
#include "base/error.h"

enum { POLL_MS = 50 /* polling interval where the system has no descriptor left for a waker */ };

static int left_ms(const struct lk_patience *patience) {
    int64_t left = INT_MAX;

    if (patience->until_us != LK_NEVER) {
        left = (patience->until_us - lk_clock_now_us() + 999) / 1000;
    }
    return left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

lk_outcome lk_socket_wait(int descriptor, short events, const struct lk_patience *patience,
                          lk_error *error) {
    int thrown = patience->waker != NULL ? lk_waker_thrown_descriptor(patience->waker) : -1;
    struct pollfd polled[2] = {{.fd = descriptor, .events = events},
                               {.fd = thrown, .events = POLLIN}};

    for (;;) {
        int timeout_ms = left_ms(patience);
        int count;

        if (lk_waker_is_thrown(patience->waker)) {
            return lk_error_clear(error, LK_CANCELLED);
        }
        if (timeout_ms == 0) {
            return lk_error_set(error, LK_UNAVAILABLE,
                                "the database did not answer within the time given");
        }
        if (patience->waker != NULL && thrown < 0 && timeout_ms > POLL_MS) {
            timeout_ms = POLL_MS;
        }
        count = poll(polled, 2, timeout_ms);
        if ((count > 0 && polled[0].revents != 0) || (count < 0 && errno != EINTR)) {
            return LK_OK;
        }
    }
}
