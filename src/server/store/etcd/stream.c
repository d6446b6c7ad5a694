/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes over a socket, with TLS or without. */
#include "server/store/etcd/stream.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/socket.h"

static void say(char why[LK_ETCD_WHY_BYTES], const char *text) {
    (void)snprintf(why, LK_ETCD_WHY_BYTES, "%s", text);
}

static bool await(const struct lk_etcd_stream *stream, short events, int64_t until_us) {
    return lk_socket_await(stream->descriptor, events, until_us, NULL) == 0;
}

/* ---- TLS ------------------------------------------------------------------------------------- */

static const char wants_certificate[] =
    "it wants a certificate of an authority that it knows: name one by ?cert=FILE&key=FILE";

static void explain_tls(const struct lk_tls_session *tls, char why[LK_ETCD_WHY_BYTES]) {
    static const char *const texts[] = {
        [LK_TLS_EXPIRED] = "its certificate has expired",
        [LK_TLS_NOT_YET_VALID] = "its certificate is not valid yet; is this machine's clock right?",
        [LK_TLS_WRONG_NAME] = "its certificate is for another name",
        [LK_TLS_UNKNOWN_AUTHORITY] =
            "its certificate is of an authority that is not known here; name it by ?ca=FILE",
        [LK_TLS_NO_TLS] = "there is no TLS at this port: use etcd:// in place of etcds://",
        [LK_TLS_NEEDS_CERTIFICATE] = wants_certificate,
        [LK_TLS_CERTIFICATE_REFUSED] = wants_certificate,
        [LK_TLS_VERSION] = "it has neither TLS 1.2 nor TLS 1.3",
    };
    enum lk_tls_problem problem = lk_tls_session_problem(tls);

    if (problem != LK_TLS_OTHER) {
        say(why, texts[problem]);
    } else {
        (void)snprintf(why, LK_ETCD_WHY_BYTES, "TLS has failed: %s", lk_tls_session_reason(tls));
    }
}

static bool begin_tls(struct lk_etcd_stream *stream, const char *host, struct lk_tls_context *tls,
                      int64_t until_us, char why[LK_ETCD_WHY_BYTES]) {
    static const unsigned char protocols[] = "\x02h2";
    bool is_in_time = true;

    stream->tls = lk_tls_session_connect(tls, stream->descriptor, host);
    if (stream->tls == NULL
        || !lk_tls_session_offer(stream->tls, protocols, sizeof protocols - 1)) {
        say(why, "no memory for TLS");
        return false;
    }
    while (is_in_time) {
        switch (lk_tls_session_handshake(stream->tls)) {
        case LK_TLS_DONE:
            return true;
        case LK_TLS_WANTS_READ:
            is_in_time = await(stream, POLLIN, until_us);
            break;
        case LK_TLS_WANTS_WRITE:
            is_in_time = await(stream, POLLOUT, until_us);
            break;
        case LK_TLS_CLOSED:
        case LK_TLS_FAILED:
            explain_tls(stream->tls, why);
            return false;
        }
    }
    say(why, "connected, but there is no answer to TLS");
    return false;
}

bool lk_etcd_stream_open(struct lk_etcd_stream *stream, const struct lk_etcd_endpoint *endpoint,
                         struct lk_tls_context *tls, int64_t until_us,
                         char why[LK_ETCD_WHY_BYTES]) {
    const char *reason;

    *stream = (struct lk_etcd_stream){.descriptor = -1};
    if (lk_socket_dial(endpoint->host, endpoint->port, until_us, NULL, &stream->descriptor, &reason)
        != 0) {
        say(why, reason);
        return false;
    }
    if (tls == NULL || begin_tls(stream, endpoint->host, tls, until_us, why)) {
        return true;
    }
    lk_etcd_stream_close(stream);
    return false;
}

void lk_etcd_stream_close(struct lk_etcd_stream *stream) {
    lk_tls_session_free(stream->tls);
    stream->tls = NULL;
    if (stream->descriptor >= 0) {
        (void)close(stream->descriptor);
        stream->descriptor = -1;
    }
}

/* ---- bytes ----------------------------------------------------------------------------------- */

enum { OVER = -1, WAITS = 0 };

/* The result of a step of TLS: bytes, WAITS for *events, or OVER. */
static ssize_t take_step(const struct lk_etcd_stream *stream, enum lk_tls_step step, size_t size,
                         short *events, char why[LK_ETCD_WHY_BYTES]) {
    switch (step) {
    case LK_TLS_DONE:
        return (ssize_t)size;
    case LK_TLS_WANTS_READ:
        *events = POLLIN;
        return WAITS;
    case LK_TLS_WANTS_WRITE:
        *events = POLLOUT;
        return WAITS;
    case LK_TLS_CLOSED:
        say(why, "it has closed the connection");
        return OVER;
    case LK_TLS_FAILED:
        break;
    }
    explain_tls(stream->tls, why);
    return OVER;
}

/* The result of send() or recv(), likewise. */
static ssize_t take_count(ssize_t count, char why[LK_ETCD_WHY_BYTES]) {
    if (count > 0) {
        return count;
    }
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return WAITS;
    }
    say(why, count == 0 ? "it has closed the connection" : strerror(errno));
    return OVER;
}

static ssize_t send_some(struct lk_etcd_stream *stream, struct lk_slice bytes, short *events,
                         char why[LK_ETCD_WHY_BYTES]) {
    size_t sent = 0;
    enum lk_tls_step step;

    *events = POLLOUT;
    if (stream->tls == NULL) {
        return take_count(send(stream->descriptor, bytes.bytes, bytes.size, MSG_NOSIGNAL), why);
    }
    step = lk_tls_session_send(stream->tls, bytes.bytes, bytes.size, &sent);
    return take_step(stream, step, sent, events, why);
}

bool lk_etcd_stream_send(struct lk_etcd_stream *stream, struct lk_slice bytes, int64_t until_us,
                         char why[LK_ETCD_WHY_BYTES]) {
    while (bytes.size > 0) {
        short events;
        ssize_t count = send_some(stream, bytes, &events, why);

        if (count == OVER) {
            return false;
        }
        if (count == WAITS && !await(stream, events, until_us)) {
            say(why, "it takes no more bytes");
            return false;
        }
        bytes.bytes += count;
        bytes.size -= (size_t)count;
    }
    return true;
}

static ssize_t receive_some(struct lk_etcd_stream *stream, void *room, size_t size, short *events,
                            char why[LK_ETCD_WHY_BYTES]) {
    size_t received = 0;
    enum lk_tls_step step;

    *events = POLLIN;
    if (stream->tls == NULL) {
        return take_count(recv(stream->descriptor, room, size, 0), why);
    }
    step = lk_tls_session_receive(stream->tls, room, size, &received);
    return take_step(stream, step, received, events, why);
}

ssize_t lk_etcd_stream_receive(struct lk_etcd_stream *stream, void *room, size_t size,
                               int64_t until_us, char why[LK_ETCD_WHY_BYTES]) {
    for (;;) {
        short events;
        ssize_t count = receive_some(stream, room, size, &events, why);

        if (count != WAITS) {
            return count;
        }
        if (lk_clock_now_us() >= until_us || !await(stream, events, until_us)) {
            return 0;
        }
    }
}
