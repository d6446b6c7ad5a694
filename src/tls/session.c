/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: handshakes, bytes in and out, the peer's certificate, and what has failed. */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "tls/internal.h"

/* ---- sockets --------------------------------------------------------------------------------- */

/*
 * OpenSSL's own writing to a socket raises SIGPIPE, which a library must not do to a program. So
 * the bytes go through these.
 */
static int read_socket(BIO *bio, char *bytes, int size) {
    ssize_t count = recv((int)(intptr_t)BIO_get_data(bio), bytes, (size_t)size, 0);

    BIO_clear_retry_flags(bio);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        BIO_set_retry_read(bio);
    } else if (count == 0) {
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    }
    return (int)count;
}

static int write_socket(BIO *bio, const char *bytes, int size) {
    ssize_t count = send((int)(intptr_t)BIO_get_data(bio), bytes, (size_t)size, MSG_NOSIGNAL);

    BIO_clear_retry_flags(bio);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        BIO_set_retry_write(bio);
    }
    return (int)count;
}

static long control_socket(BIO *bio, int command, long number, void *pointer) {
    (void)number;
    (void)pointer;
    if (command == BIO_CTRL_EOF) {
        return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    }
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

static BIO_METHOD *method; /* lives as long as the process */

static void make_method(void) {
    method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "lockkeeper socket");
    if (method != NULL) {
        (void)BIO_meth_set_read(method, read_socket);
        (void)BIO_meth_set_write(method, write_socket);
        (void)BIO_meth_set_ctrl(method, control_socket);
    }
}

static bool set_socket(SSL *ssl, int socket) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    BIO *bio;

    (void)pthread_once(&once, make_method);
    bio = method != NULL ? BIO_new(method) : NULL;
    if (bio == NULL) {
        return false;
    }
    BIO_set_data(bio, (void *)(intptr_t)socket);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    return true;
}

/* ---- beginning and ending -------------------------------------------------------------------- */

static struct lk_tls_session *new_session(const struct lk_tls_context *context, int socket) {
    struct lk_tls_session *session = calloc(1, sizeof *session);

    if (session == NULL) {
        return NULL;
    }
    session->has_certificate = lk_tls_context_has_certificate(context);
    session->ssl = SSL_new(context->ssl);
    if (session->ssl == NULL || (socket >= 0 && !set_socket(session->ssl, socket))) {
        SSL_free(session->ssl);
        ERR_clear_error();
        free(session);
        return NULL;
    }
    /* A caller that waits for its bytes by other means cannot see those that were read ahead. */
    SSL_set_read_ahead(session->ssl, socket >= 0);
    return session;
}

struct lk_tls_session *lk_tls_session_accept(struct lk_tls_context *context, int socket) {
    struct lk_tls_session *session = new_session(context, socket);

    if (session != NULL) {
        SSL_set_accept_state(session->ssl);
    }
    return session;
}

struct lk_tls_session *lk_tls_session_connect(struct lk_tls_context *context, int socket,
                                              const char *host) {
    struct lk_tls_session *session = new_session(context, socket);
    unsigned char address[sizeof(struct in6_addr)];
    bool is_address;
    bool is_set;

    if (session == NULL) {
        return NULL;
    }
    is_address = inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
    is_set = is_address
                 ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session->ssl), host) == 1
                 : SSL_set1_host(session->ssl, host) == 1
                       && SSL_set_tlsext_host_name(session->ssl, (void *)(uintptr_t)host) == 1;
    if (!is_set) {
        ERR_clear_error();
        lk_tls_session_free(session);
        return NULL;
    }
    SSL_set_connect_state(session->ssl);
    return session;
}

bool lk_tls_session_offer(struct lk_tls_session *session, const unsigned char *protocols,
                          unsigned size) {
    return SSL_set_alpn_protos(session->ssl, protocols, size) == 0; /* which means success here */
}

void lk_tls_session_free(struct lk_tls_session *session) {
    if (session == NULL) {
        return;
    }
    if (session->is_open && !session->is_failed) {
        (void)SSL_shutdown(session->ssl);
    }
    SSL_free(session->ssl);
    ERR_clear_error();
    free(session);
}

struct ssl_st *lk_tls_session_handle(struct lk_tls_session *session) {
    return SSL_up_ref(session->ssl) == 1 ? session->ssl : NULL;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static enum lk_tls_step step_of(struct lk_tls_session *session, int result) {
    switch (SSL_get_error(session->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        return LK_TLS_WANTS_READ;
    case SSL_ERROR_WANT_WRITE:
        return LK_TLS_WANTS_WRITE;
    case SSL_ERROR_ZERO_RETURN:
        ERR_clear_error();
        return LK_TLS_CLOSED;
    default:
        session->is_failed = true;
        lk_tls_session_note(session);
        return LK_TLS_FAILED;
    }
}

enum lk_tls_step lk_tls_session_handshake(struct lk_tls_session *session) {
    int result;
    enum lk_tls_step step;

    ERR_clear_error();
    errno = 0;
    result = SSL_do_handshake(session->ssl);
    if (result == 1) {
        session->is_open = true;
        return LK_TLS_DONE;
    }
    step = step_of(session, result);
    if (step == LK_TLS_CLOSED) {
        session->is_failed = true;
        errno = 0;
        lk_tls_session_note(session);
    }
    return step;
}

/* One record is returned by each SSL_read(). */
enum lk_tls_step lk_tls_session_receive(struct lk_tls_session *session, void *bytes, size_t size,
                                        size_t *ret_size) {
    size_t received = 0;
    int result;

    assert(size > 0 && size <= INT_MAX);
    do {
        ERR_clear_error();
        errno = 0;
        result = SSL_read(session->ssl, (char *)bytes + received, (int)(size - received));
        received += result > 0 ? (size_t)result : 0;
    } while (result > 0 && received < size && SSL_has_pending(session->ssl) == 1);
    session->is_drained = result <= 0;
    *ret_size = received;
    return received > 0 ? LK_TLS_DONE : step_of(session, result);
}

/*
 * A peer that refuses this side ends the connection behind an alert, and with TLS 1.3 only after
 * the handshake is done here: then what is sent meets an end, and the alert, unread, says why.
 */
static void note_alert(struct lk_tls_session *session) {
    char byte;
    int result;

    ERR_clear_error();
    result = SSL_peek(session->ssl, &byte, 1);
    if (result <= 0 && SSL_get_error(session->ssl, result) == SSL_ERROR_SSL) {
        lk_tls_session_note(session);
    }
    ERR_clear_error();
}

enum lk_tls_step lk_tls_session_send(struct lk_tls_session *session, const void *bytes, size_t size,
                                     size_t *ret_size) {
    size_t sent = 0;
    enum lk_tls_step step;
    int result;

    assert(size > 0 && size <= INT_MAX);
    do {
        ERR_clear_error();
        errno = 0;
        result = SSL_write(session->ssl, (const char *)bytes + sent, (int)(size - sent));
        sent += result > 0 ? (size_t)result : 0;
    } while (result > 0 && sent < size);
    *ret_size = sent;
    if (sent > 0) {
        return LK_TLS_DONE;
    }
    step = step_of(session, result);
    if (step == LK_TLS_FAILED && session->problem == LK_TLS_OTHER) {
        note_alert(session);
    }
    return step;
}

bool lk_tls_session_has_more(const struct lk_tls_session *session) {
    return !session->is_drained && SSL_has_pending(session->ssl) == 1;
}

bool lk_tls_session_is_readable(struct lk_tls_session *session) {
    char byte;
    int result;

    ERR_clear_error();
    result = SSL_peek(session->ssl, &byte, 1);
    return result > 0 || SSL_get_error(session->ssl, result) != SSL_ERROR_WANT_READ;
}

enum lk_tls_problem lk_tls_session_problem(const struct lk_tls_session *session) {
    return session->problem;
}

const char *lk_tls_session_reason(const struct lk_tls_session *session) {
    return session->reason;
}

/* ---- the peer's certificate ------------------------------------------------------------------ */

/* A name, and its end. */

/* A name is for messages, files and comparisons: no control bytes, and none that ends it early. */
static bool take_name(const ASN1_STRING *text, char ret_name[LK_TLS_NAME_BYTES_MAX + 1]) {
    const unsigned char *bytes = ASN1_STRING_get0_data(text);
    int size = ASN1_STRING_length(text);

    if (bytes == NULL || size <= 0 || size > LK_TLS_NAME_BYTES_MAX) {
        return false;
    }
    for (int i = 0; i < size; i++) {
        if (bytes[i] < ' ' || bytes[i] == 0x7f) {
            return false;
        }
    }
    memcpy(ret_name, bytes, (size_t)size);
    ret_name[size] = '\0';
    return true;
}

static bool read_alternative(const X509 *certificate, char ret_name[LK_TLS_NAME_BYTES_MAX + 1]) {
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    const OPENSSL_STACK *stack =
        (const OPENSSL_STACK *)names; /* no library has its typed functions */
    bool is_found = false;

    for (int i = 0; stack != NULL && !is_found && i < OPENSSL_sk_num(stack); i++) {
        int kind = -1;
        const ASN1_STRING *text = GENERAL_NAME_get0_value(OPENSSL_sk_value(stack, i), &kind);

        is_found =
            (kind == GEN_DNS || kind == GEN_EMAIL || kind == GEN_URI) && take_name(text, ret_name);
    }
    if (names != NULL) {
        GENERAL_NAMES_free(names);
    }
    return is_found;
}

static bool read_name(const X509 *certificate, char ret_name[LK_TLS_NAME_BYTES_MAX + 1]) {
    X509_NAME *subject = X509_get_subject_name(certificate);
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);

    if (at < 0) {
        return read_alternative(certificate, ret_name);
    }
    return X509_NAME_get_index_by_NID(subject, NID_commonName, at) < 0
           && take_name(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)), ret_name);
}

bool lk_tls_session_peer_name(const struct lk_tls_session *session,
                              char ret_name[LK_TLS_NAME_BYTES_MAX + 1]) {
    X509 *certificate = session->is_open && SSL_get_verify_result(session->ssl) == X509_V_OK
                            ? SSL_get1_peer_certificate(session->ssl)
                            : NULL;
    bool is_found = certificate != NULL && read_name(certificate, ret_name);

    if (certificate != NULL) {
        X509_free(certificate);
        ERR_clear_error();
    }
    return is_found;
}

const char *lk_tls_session_version(const struct lk_tls_session *session) {
    return SSL_get_version(session->ssl);
}

bool lk_tls_certificate_end(const X509 *certificate, int64_t *ret_end_s) {
    struct tm time;
    bool is_known = ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &time) == 1;

    if (is_known) {
        *ret_end_s = timegm(&time);
    }
    return is_known;
}

bool lk_tls_session_peer_end(const struct lk_tls_session *session, int64_t *ret_end_s) {
    X509 *certificate = SSL_get1_peer_certificate(session->ssl);
    bool is_known = certificate != NULL && lk_tls_certificate_end(certificate, ret_end_s);

    if (certificate != NULL) {
        X509_free(certificate);
    }
    return is_known;
}

/* ---- what has failed ------------------------------------------------------------------------- */

/* OpenSSL's errors, told apart by what a user can do. */

static enum lk_tls_problem problem_of_verify(long result) {
    switch (result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return LK_TLS_EXPIRED;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return LK_TLS_NOT_YET_VALID;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return LK_TLS_WRONG_NAME;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        return LK_TLS_UNKNOWN_AUTHORITY;
    default:
        return LK_TLS_OTHER;
    }
}

/*
 * Whether the other end has been found to be what was asked for. A server shows its certificate
 * before it checks a client's: what ends the handshake earlier comes from a program in its place,
 * and is about something else.
 */
static bool is_known_peer(const struct lk_tls_session *session) {
    X509 *certificate;

    if (SSL_is_server(session->ssl) == 1) {
        return true;
    }
    certificate = SSL_get1_peer_certificate(session->ssl);
    if (certificate == NULL) {
        return false;
    }
    X509_free(certificate);
    return true;
}

static bool is_about_own_certificate(enum lk_tls_problem problem) {
    return problem == LK_TLS_NEEDS_CERTIFICATE || problem == LK_TLS_CERTIFICATE_REFUSED;
}

/* A server of TLS 1.2 says only "handshake failure" to a client without a certificate. */
static enum lk_tls_problem problem_of_reason(const struct lk_tls_session *session, int reason) {
    switch (reason) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
        return LK_TLS_NO_TLS;
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        return LK_TLS_NEEDS_CERTIFICATE;
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
        return session->has_certificate ? LK_TLS_OTHER : LK_TLS_NEEDS_CERTIFICATE;
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
        return LK_TLS_CERTIFICATE_REFUSED;
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_UNSUPPORTED_PROTOCOL:
        return LK_TLS_VERSION;
    default:
        return LK_TLS_OTHER;
    }
}

void lk_tls_session_note(struct lk_tls_session *session) {
    int cause = errno;
    unsigned long code = ERR_peek_error();
    int reason = ERR_GET_REASON(code);
    const char *words = code != 0 ? ERR_reason_error_string(code) : NULL;
    long verified = SSL_get_verify_result(session->ssl);

    ERR_clear_error();
    if (words != NULL && reason == SSL_R_CERTIFICATE_VERIFY_FAILED && verified != X509_V_OK) {
        session->problem = problem_of_verify(verified);
        (void)snprintf(session->reason, sizeof session->reason, "%s: %s", words,
                       X509_verify_cert_error_string(verified));
        return;
    }
    session->problem = words != NULL ? problem_of_reason(session, reason) : LK_TLS_OTHER;
    if (is_about_own_certificate(session->problem) && !is_known_peer(session)) {
        session->problem = LK_TLS_OTHER;
    }
    (void)snprintf(session->reason, sizeof session->reason, "%s",
                   words != NULL ? words
                   : cause != 0  ? strerror(cause)
                                 : "the connection was closed");
}
