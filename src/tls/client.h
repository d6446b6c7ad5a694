/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's side of TLS, as the engines of servers have it in common: the files that a URL
 * names, the handshake within a time, bytes as by recv() and send(), and what has failed, in a
 * sentence that says what to do.
 */
#ifndef LK_TLS_CLIENT_H
#define LK_TLS_CLIENT_H

#include <sys/types.h>

#include "base/slice.h"
#include "base/text.h"
#include "base/waker.h"
#include "tls/tls.h"

/* ---- the options of a URL -------------------------------------------------------------------- */

enum { LK_TLS_PATH_BYTES = 4096 };

/* The options `ca`, `cert` and `key`, decoded; "": not given. */
struct lk_tls_paths {
    char authorities[LK_TLS_PATH_BYTES];
    char certificate[LK_TLS_PATH_BYTES];
    char key[LK_TLS_PATH_BYTES];
};

/* Takes an option with its value as in the URL. LK_OK; LK_INVALID; LK_NONE: it is none of these. */
lk_outcome lk_tls_paths_take(struct lk_tls_paths *paths, struct lk_slice name,
                             struct lk_slice value, lk_error *error);

/* As lk_tls_client_new() with these files. LK_INVALID, too: a certificate or a key alone. */
lk_outcome lk_tls_paths_open(const struct lk_tls_paths *paths, struct lk_tls_context **ret_context,
                             lk_error *error);

/* ---- connections ----------------------------------------------------------------------------- */

/* How sentences name a server, and what its users write. Borrowed. */
struct lk_tls_peer {
    const char *name;        /* HOST:PORT */
    const char *kind;        /* "the service" */
    const char *scheme;      /* of its URLs: "lks" */
    const char *plain;       /* the same without TLS: "lk" */
    const char *authorities; /* its setting with the authorities that sign for clients */
};

/*
 * The handshake, on the session's socket, which does not block. Waits until `until_us` at most, or
 * until the waker (which may be NULL) is thrown. LK_OK; LK_CANCELLED; LK_UNAVAILABLE: no answer in
 * time; or an outcome of lk_tls_client_explain().
 */
lk_outcome lk_tls_client_begin(struct lk_tls_session *session, int socket,
                               const struct lk_tls_peer *peer, int64_t until_us,
                               struct lk_waker *waker, lk_error *error);

/*
 * Bytes over a socket that does not block, by TLS or, where the session is NULL, as they are. As
 * recv(), and as send() without the signal SIGPIPE, which would end a program that expects none;
 * after EAGAIN, *events is what poll() is to wait for.
 */
ssize_t lk_tls_client_receive(struct lk_tls_session *session, int socket, void *bytes, size_t size,
                              short *events);
ssize_t lk_tls_client_send(struct lk_tls_session *session, int socket, struct lk_slice bytes,
                           short *events);

/*
 * Sends all of the bytes; waits as lk_socket_await() does. 0; ETIMEDOUT, ECANCELED; EPIPE: the peer
 * takes no more; another errno of send(). After a failure it is not known how many were sent.
 */
int lk_tls_client_send_all(struct lk_tls_session *session, int socket, struct lk_slice bytes,
                           int64_t until_us, struct lk_waker *waker);

/*
 * The session has failed, at the handshake or behind it: says why, and what to do, and returns that
 * outcome: LK_DENIED: a certificate; LK_UNSUPPORTED: no TLS that both know; LK_UNAVAILABLE. LK_OK:
 * it has not, or there is none (NULL).
 */
lk_outcome lk_tls_client_explain(const struct lk_tls_session *session,
                                 const struct lk_tls_peer *peer, lk_error *error);

/*
 * Lines for an operator, `name: value`, and warnings. `owner` is whose the certificate is, and each
 * name ends with `suffix`: "" or " of HOST:PORT". None without a session (NULL).
 */
void lk_tls_client_report(const struct lk_tls_session *session, const char *owner,
                          const char *suffix, struct lk_text *report, struct lk_text *warnings);

#endif
