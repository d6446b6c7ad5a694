/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of src/tls share. OpenSSL is loaded when it is first used (base/library.h). */
#ifndef LK_TLS_INTERNAL_H
#define LK_TLS_INTERNAL_H

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/* Its headers may be those of OpenSSL 1.1. What is loaded is OpenSSL 3, or nothing. */
#if OPENSSL_VERSION_NUMBER < 0x30000000L
#define SSL_OP_IGNORE_UNEXPECTED_EOF (1U << 7)
X509 *SSL_get1_peer_certificate(const SSL *ssl);
int SSL_CTX_load_verify_file(SSL_CTX *context, const char *file);
#endif

#include "lockkeeper/terms.h"
#include "openssl_functions.h"
#include "tls/tls.h"

struct lk_tls_context {
    SSL_CTX *ssl;
    bool is_server;
    char *certificate; /* paths; NULL: none */
    char *key;
    char *authorities;
};

struct lk_tls_session {
    SSL *ssl;
    bool has_certificate; /* to show to the peer */
    bool is_open;         /* the handshake is done */
    bool is_failed;
    bool is_drained; /* the last read found the socket empty */
    enum lk_tls_problem problem;
    char reason[LK_TLS_REASON_BYTES];
};

/* When a certificate ends, in seconds of Unix time; false: it does not say so. */
bool lk_tls_certificate_end(const X509 *certificate, int64_t *ret_end_s);

/* Notes what OpenSSL's queue of errors says, and empties it. */
void lk_tls_session_note(struct lk_tls_session *session);

#endif
