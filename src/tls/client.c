/* SPDX-License-Identifier: Apache-2.0 */
/* Clients over TLS: the files of a URL, the handshake, bytes, and what went wrong. */
#include "tls/client.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/socket.h"

/* ---- the options of a URL -------------------------------------------------------------------- */

lk_outcome lk_tls_paths_take(struct lk_tls_paths *paths, struct lk_slice name,
                             struct lk_slice value, lk_error *error) {
    const struct {
        const char *name;
        char *path;
    } options[] = {{"ca", paths->authorities}, {"cert", paths->certificate}, {"key", paths->key}};

    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (lk_slice_equal(name, lk_slice_of(options[i].name))) {
            return value.size > 0 && lk_percent_decode(value, options[i].path, LK_TLS_PATH_BYTES)
                       ? LK_OK
                       : lk_error_set(error, LK_INVALID, "%s: invalid path", options[i].name);
        }
    }
    return LK_NONE;
}

static const char *path_or_none(const char *path) {
    return path[0] != '\0' ? path : NULL;
}

lk_outcome lk_tls_paths_open(const struct lk_tls_paths *paths, struct lk_tls_context **ret_context,
                             lk_error *error) {
    const struct lk_tls_files files = {
        .certificate = path_or_none(paths->certificate),
        .key = path_or_none(paths->key),
        .authorities = path_or_none(paths->authorities),
    };

    if ((files.certificate == NULL) != (files.key == NULL)) {
        return lk_error_set(error, LK_INVALID, "cert=FILE and key=FILE belong together");
    }
    return lk_tls_client_new(&files, ret_context, error);
}

/* ---- problems -------------------------------------------------------------------------------- */

/* What to do about a problem, after the address; never LK_OK. */
static lk_outcome explain(enum lk_tls_problem problem, const char *reason,
                          const struct lk_tls_peer *peer, lk_error *error) {
    switch (problem) {
    case LK_TLS_OTHER:
        break;
    case LK_TLS_EXPIRED:
        return lk_error_set(error, LK_DENIED,
                            "%s: the certificate of %s has expired: it needs a new one", peer->name,
                            peer->kind);
    case LK_TLS_NOT_YET_VALID:
        return lk_error_set(error, LK_DENIED,
                            "%s: the certificate of %s is not valid yet: is the clock of this "
                            "machine right?",
                            peer->name, peer->kind);
    case LK_TLS_WRONG_NAME:
        return lk_error_set(error, LK_DENIED,
                            "%s: the certificate of %s is for another name: use a name that is in "
                            "it, or give it this one",
                            peer->name, peer->kind);
    case LK_TLS_UNKNOWN_AUTHORITY:
        return lk_error_set(error, LK_DENIED,
                            "%s: the certificate of %s is signed by an authority that is not known "
                            "here: %s://HOST:PORT?ca=FILE names it",
                            peer->name, peer->kind, peer->scheme);
    case LK_TLS_NO_TLS:
        return lk_error_set(error, LK_UNSUPPORTED,
                            "%s: there is no TLS at this port: use %s:// in place of %s://, or the "
                            "port that has TLS",
                            peer->name, peer->plain, peer->scheme);
    case LK_TLS_NEEDS_CERTIFICATE:
        return lk_error_set(error, LK_DENIED,
                            "%s: %s wants a certificate of its clients: "
                            "%s://HOST:PORT?cert=FILE&key=FILE",
                            peer->name, peer->kind, peer->scheme);
    case LK_TLS_CERTIFICATE_REFUSED:
        return lk_error_set(error, LK_DENIED,
                            "%s: %s does not accept the certificate of the URL (cert=): it must be "
                            "valid, and signed by an authority of its %s",
                            peer->name, peer->kind, peer->authorities);
    case LK_TLS_VERSION:
        return lk_error_set(error, LK_UNSUPPORTED, "%s: the server has neither TLS 1.2 nor TLS 1.3",
                            peer->name);
    }
    return lk_error_set(error, LK_UNAVAILABLE, "%s: TLS has failed: %s", peer->name, reason);
}

lk_outcome lk_tls_client_explain(const struct lk_tls_session *session,
                                 const struct lk_tls_peer *peer, lk_error *error) {
    if (session == NULL || lk_tls_session_reason(session)[0] == '\0') {
        return LK_OK;
    }
    return explain(lk_tls_session_problem(session), lk_tls_session_reason(session), peer, error);
}

/* ---- the handshake --------------------------------------------------------------------------- */

/* Never LK_OK, also where the session gives no reason. */
static lk_outcome explain_hang_up(const struct lk_tls_session *session,
                                  const struct lk_tls_peer *peer, lk_error *error) {
    lk_outcome outcome = lk_tls_client_explain(session, peer, error);

    return outcome != LK_OK ? outcome
                            : lk_error_set(error, LK_UNAVAILABLE,
                                           "%s: the connection ended before TLS began", peer->name);
}

lk_outcome lk_tls_client_begin(struct lk_tls_session *session, int socket,
                               const struct lk_tls_peer *peer, int64_t until_us,
                               struct lk_waker *waker, lk_error *error) {
    int problem = 0;

    while (problem == 0) {
        switch (lk_tls_session_handshake(session)) {
        case LK_TLS_DONE:
            return LK_OK;
        case LK_TLS_WANTS_READ:
            problem = lk_socket_await(socket, POLLIN, until_us, waker);
            break;
        case LK_TLS_WANTS_WRITE:
            problem = lk_socket_await(socket, POLLOUT, until_us, waker);
            break;
        case LK_TLS_CLOSED:
        case LK_TLS_FAILED:
            return explain_hang_up(session, peer, error);
        }
    }
    return problem == ECANCELED
               ? lk_error_clear(error, LK_CANCELLED)
               : lk_error_set(error, LK_UNAVAILABLE,
                              "%s: connected, but there is no answer to TLS: if this port has "
                              "none, use %s:// in place of %s://",
                              peer->name, peer->plain, peer->scheme);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static ssize_t result_of(enum lk_tls_step step, size_t size, short *events) {
    switch (step) {
    case LK_TLS_DONE:
        return (ssize_t)size;
    case LK_TLS_WANTS_READ:
    case LK_TLS_WANTS_WRITE:
        *events = step == LK_TLS_WANTS_READ ? POLLIN : POLLOUT;
        errno = EAGAIN;
        return -1;
    case LK_TLS_CLOSED:
        return 0;
    case LK_TLS_FAILED:
        break;
    }
    errno = EPROTO;
    return -1;
}

/* Of a plain socket: an interrupted call is made again, as one that would have blocked. */
static ssize_t plain_result_of(ssize_t count) {
    if (count < 0 && errno == EINTR) {
        errno = EAGAIN;
    }
    return count;
}

ssize_t lk_tls_client_receive(struct lk_tls_session *session, int socket, void *bytes, size_t size,
                              short *events) {
    size_t received = 0;
    enum lk_tls_step step;

    *events = POLLIN;
    if (session == NULL) {
        return plain_result_of(recv(socket, bytes, size, 0));
    }
    step = lk_tls_session_receive(session, bytes, size, &received);
    return result_of(step, received, events);
}

ssize_t lk_tls_client_send(struct lk_tls_session *session, int socket, struct lk_slice bytes,
                           short *events) {
    size_t sent = 0;
    enum lk_tls_step step;

    *events = POLLOUT;
    if (session == NULL) {
        return plain_result_of(send(socket, bytes.bytes, bytes.size, MSG_NOSIGNAL));
    }
    step = lk_tls_session_send(session, bytes.bytes, bytes.size, &sent);
    return result_of(step, sent, events);
}

int lk_tls_client_send_all(struct lk_tls_session *session, int socket, struct lk_slice bytes,
                           int64_t until_us, struct lk_waker *waker) {
    while (bytes.size > 0) {
        short events;
        ssize_t count = lk_tls_client_send(session, socket, bytes, &events);
        int problem = count > 0         ? 0
                      : count == 0      ? EPIPE
                      : errno == EAGAIN ? lk_socket_await(socket, events, until_us, waker)
                                        : errno;

        if (problem != 0) {
            return problem;
        }
        if (count > 0) {
            bytes.bytes += count;
            bytes.size -= (size_t)count;
        }
    }
    return 0;
}

/* ---- reports --------------------------------------------------------------------------------- */

void lk_tls_client_report(const struct lk_tls_session *session, const char *owner,
                          const char *suffix, struct lk_text *report, struct lk_text *warnings) {
    enum { DATE_BYTES = 32, SOON_S = 14 * 24 * 60 * 60 };
    char date[DATE_BYTES] = "";
    struct tm time;
    int64_t end_s = 0;
    time_t end;

    if (session == NULL) {
        return;
    }
    lk_text_format(report, "tls%s: %s\n", suffix, lk_tls_session_version(session));
    if (!lk_tls_session_peer_end(session, &end_s)) {
        return;
    }
    end = (time_t)end_s;
    (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&end, &time));
    lk_text_format(report, "certificate_ends%s: %s\n", suffix, date);
    if (end_s - lk_clock_wall_us() / 1000000 < SOON_S) {
        lk_text_format(warnings, "the certificate of %s ends soon, at %s\n", owner, date);
    }
}
