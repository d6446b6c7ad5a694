/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS 1.2 and 1.3 over sockets that do not block, by OpenSSL. Nothing here waits, and nothing here
 * polls: a step says what it waits for. Renegotiation and compression are off.
 *
 * A context is used by one thread while it is reloaded, otherwise by any; a session by one thread
 * at a time.
 */
#ifndef LK_TLS_TLS_H
#define LK_TLS_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lockkeeper/terms.h"

struct ssl_st; /* OpenSSL's SSL */

enum { LK_TLS_REASON_BYTES = 160, LK_TLS_NAME_BYTES_MAX = 255 };

/* ---- contexts -------------------------------------------------------------------------------- */

/* Paths of PEM files. The context keeps copies. */
struct lk_tls_files {
    const char *certificate; /* with the intermediate ones behind it; NULL: none (a client) */
    const char *key;         /* of the certificate; NULL without one */
    const char *authorities; /* those that the peer's certificate may be signed by. NULL: a client
                              * takes the system's, a server asks for no certificate */
};

/* Certificate, key and authorities: what sessions begin with. */
struct lk_tls_context;

/*
 * LK_OK with *ret_context, for lk_tls_context_free(). LK_DENIED: a file may not be read, or other
 * users may read the key; LK_INVALID: it has no certificate or key, they do not match, or the
 * certificate is not valid today; LK_UNSUPPORTED: no OpenSSL; LK_INTERNAL. *error names the file
 * and says what to do. Blocks as long as reading the files takes.
 */
lk_outcome lk_tls_server_new(const struct lk_tls_files *files, struct lk_tls_context **ret_context,
                             lk_error *error);
lk_outcome lk_tls_client_new(const struct lk_tls_files *files, struct lk_tls_context **ret_context,
                             lk_error *error);
void lk_tls_context_free(struct lk_tls_context *context); /* accepts NULL; sessions live on */

/*
 * Reads the files, the same again or others, for the sessions made from now on. Any other outcome
 * than LK_OK, as above: the context stays as it was.
 */
lk_outcome lk_tls_context_reload(struct lk_tls_context *context, const struct lk_tls_files *files,
                                 lk_error *error);

bool lk_tls_context_has_certificate(const struct lk_tls_context *context);

/* When its own certificate ends, in seconds of Unix time. false: it has none. */
bool lk_tls_context_end(const struct lk_tls_context *context, int64_t *ret_end_s);

/* ---- sessions -------------------------------------------------------------------------------- */

struct lk_tls_session;

enum lk_tls_step {
    LK_TLS_DONE,
    LK_TLS_WANTS_READ,  /* again when the socket is readable */
    LK_TLS_WANTS_WRITE, /* again, with the same bytes, when the socket is writable */
    LK_TLS_CLOSED,      /* the peer has ended the session, or the connection */
    LK_TLS_FAILED,      /* see lk_tls_session_problem(); the session can only be freed */
};

/* What has failed, as far as a user can do something about it. */
enum lk_tls_problem {
    LK_TLS_OTHER,
    LK_TLS_EXPIRED,             /* the peer's certificate is no longer valid */
    LK_TLS_NOT_YET_VALID,       /* ... or not yet */
    LK_TLS_WRONG_NAME,          /* ... or for another name */
    LK_TLS_UNKNOWN_AUTHORITY,   /* ... or not signed by an authority that is known here */
    LK_TLS_NO_TLS,              /* the peer answers in plain text */
    LK_TLS_NEEDS_CERTIFICATE,   /* the peer wants a certificate, and there is none */
    LK_TLS_CERTIFICATE_REFUSED, /* the peer does not accept ours */
    LK_TLS_VERSION,             /* the peer has no version in common */
};

/*
 * The server's side, on a socket that stays the caller's. -1: the caller gives the socket to
 * lk_tls_session_handle(). NULL: no memory.
 */
struct lk_tls_session *lk_tls_session_accept(struct lk_tls_context *context, int socket);

/* The client's side. The certificate must be for `host`, a name or an address. NULL: no memory. */
struct lk_tls_session *lk_tls_session_connect(struct lk_tls_context *context, int socket,
                                              const char *host);

/* Before the handshake: offers protocols to be spoken within TLS (ALPN), each behind its size in a
 * byte. false: no memory. */
bool lk_tls_session_offer(struct lk_tls_session *session, const unsigned char *protocols,
                          unsigned size);

/* Says goodbye to the peer, if the handshake is done and the socket takes it. Accepts NULL. */
void lk_tls_session_free(struct lk_tls_session *session);

enum lk_tls_step lk_tls_session_handshake(struct lk_tls_session *session);

/* LK_TLS_DONE: *ret_size bytes, at least one, were received or sent. */
enum lk_tls_step lk_tls_session_receive(struct lk_tls_session *session, void *bytes, size_t size,
                                        size_t *ret_size);
enum lk_tls_step lk_tls_session_send(struct lk_tls_session *session, const void *bytes, size_t size,
                                     size_t *ret_size);

/*
 * Whether bytes have left the socket that lk_tls_session_receive() has not returned yet: the socket
 * need not become readable for them.
 */
bool lk_tls_session_has_more(const struct lk_tls_session *session);

/* Whether a byte can be received now, or the peer has closed; takes none. */
bool lk_tls_session_is_readable(struct lk_tls_session *session);

enum lk_tls_problem lk_tls_session_problem(const struct lk_tls_session *session);
const char *lk_tls_session_reason(const struct lk_tls_session *session); /* in OpenSSL's words */

/*
 * OpenSSL's session, for a caller that does the input and output after the handshake by other means
 * (libevent's); with a reference of its own, for SSL_free().
 */
struct ssl_st *lk_tls_session_handle(struct lk_tls_session *session);

/* ---- the peer's certificate ------------------------------------------------------------------ */

/*
 * The name in the verified certificate of the peer: the subject's common name, or without one the
 * first alternative name that is a DNS name, an address of e-mail or a URI. false: the peer has
 * sent none, or its certificate has no name, a name of more than LK_TLS_NAME_BYTES_MAX bytes, one
 * with a control byte in it, or several common names. The handshake must be done.
 */
bool lk_tls_session_peer_name(const struct lk_tls_session *session,
                              char ret_name[LK_TLS_NAME_BYTES_MAX + 1]);

const char *lk_tls_session_version(const struct lk_tls_session *session); /* "TLSv1.3"; static */

/* When the peer's certificate ends, in seconds of Unix time. false: it has sent none. */
bool lk_tls_session_peer_end(const struct lk_tls_session *session, int64_t *ret_end_s);

#endif
