/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: handshakes, and bytes in and out. */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>

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

enum lk_tls_step lk_tls_session_send(struct lk_tls_session *session, const void *bytes, size_t size,
                                     size_t *ret_size) {
    size_t sent = 0;
    int result;

    assert(size > 0 && size <= INT_MAX);
    do {
        ERR_clear_error();
        errno = 0;
        result = SSL_write(session->ssl, (const char *)bytes + sent, (int)(size - sent));
        sent += result > 0 ? (size_t)result : 0;
    } while (result > 0 && sent < size);
    *ret_size = sent;
    return sent > 0 ? LK_TLS_DONE : step_of(session, result);
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
