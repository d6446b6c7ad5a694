/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: certificate, key and authorities out of files, checked before they are used. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/library.h"
#include "base/text.h"
#include "tls/internal.h"

/* ---- the library ----------------------------------------------------------------------------- */

struct lk_openssl lk_openssl;

/*
 * Before any other function of the library. LK_OK, or LK_UNSUPPORTED. libssl brings libcrypto,
 * whose functions are looked up through it.
 */
static lk_outcome load_openssl(lk_error *error) {
    static const char *const names[] = {LK_OPENSSL_NAMES};
    static struct lk_library library = {
        .file = "libssl.so.3",
        .package = "libssl3",
        .user = "TLS",
        .names = names,
        .table = &lk_openssl,
        .count = sizeof names / sizeof names[0],
    };
    lk_outcome outcome = lk_library_load(&library, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    /* Threads of a program may still use it while the program exits. */
    return OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL) == 1
               ? LK_OK
               : lk_error_set(error, LK_UNSUPPORTED, "OpenSSL cannot start");
}

/* ---- files ----------------------------------------------------------------------------------- */

/* OpenSSL says of a file only that it has failed: the system knows why. */
static lk_outcome check_file(const char *what, const char *path, bool is_secret, lk_error *error) {
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int cause = errno;
    bool is_known = descriptor >= 0 && fstat(descriptor, &status) == 0;

    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    if (!is_known) {
        return lk_error_set(error, cause == EACCES || cause == EPERM ? LK_DENIED : LK_INVALID,
                            "the %s %.200s: %s", what, path, strerror(cause));
    }
    if (!S_ISREG(status.st_mode)) {
        return lk_error_set(error, LK_INVALID, "the %s %.200s: not a file", what, path);
    }
    if (is_secret && (status.st_mode & S_IRWXO) != 0) {
        return lk_error_set(
            error, LK_DENIED,
            "the %s %.200s: every user of this machine can read or change it: chmod "
            "600, and make a new key if others may have read it",
            what, path);
    }
    return LK_OK;
}

/* Without this, OpenSSL asks for a passphrase at the terminal. */
static int refuse_passphrase(char *bytes, int size, int is_writing, void *context) {
    (void)bytes;
    (void)size;
    (void)is_writing;
    *(bool *)context = true;
    return -1;
}

static const char *reason_of_queue(void) {
    const char *words = ERR_reason_error_string(ERR_peek_error());

    return words != NULL ? words : "unknown error";
}

static lk_outcome check_dates(const X509 *certificate, const char *path, lk_error *error) {
    if (certificate != NULL && X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0) {
        return lk_error_set(error, LK_INVALID,
                            "the certificate %.200s has expired: get a new one (its dates: openssl "
                            "x509 -noout -dates -in FILE)",
                            path);
    }
    if (certificate != NULL && X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0) {
        return lk_error_set(error, LK_INVALID,
                            "the certificate %.200s is not valid yet: is the clock of this machine "
                            "right? (its dates: openssl x509 -noout -dates -in FILE)",
                            path);
    }
    return LK_OK;
}

static lk_outcome use_key(const struct lk_tls_context *context, SSL_CTX *ssl, lk_error *error) {
    bool is_encrypted = false;
    bool is_used;

    SSL_CTX_set_default_passwd_cb(ssl, refuse_passphrase);
    SSL_CTX_set_default_passwd_cb_userdata(ssl, &is_encrypted);
    is_used = SSL_CTX_use_PrivateKey_file(ssl, context->key, SSL_FILETYPE_PEM) == 1;
    SSL_CTX_set_default_passwd_cb_userdata(ssl, NULL);
    if (is_used && SSL_CTX_check_private_key(ssl) == 1) {
        return LK_OK;
    }
    if (is_encrypted) {
        return lk_error_set(error, LK_INVALID,
                            "the key %.200s has a passphrase, which cannot be typed here: write it "
                            "without one (openssl pkey -in FILE -out NEW), for this user only",
                            context->key);
    }
    if (ERR_GET_REASON(ERR_peek_error()) == X509_R_KEY_VALUES_MISMATCH
        || ERR_GET_REASON(ERR_peek_error()) == X509_R_KEY_TYPE_MISMATCH) {
        return lk_error_set(error, LK_INVALID,
                            "the key %.200s does not belong to the certificate %.200s",
                            context->key, context->certificate);
    }
    return lk_error_set(error, LK_INVALID, "the key %.200s: no private key in PEM (%s)",
                        context->key, reason_of_queue());
}

static lk_outcome use_certificate(const struct lk_tls_context *context, SSL_CTX *ssl,
                                  lk_error *error) {
    lk_outcome outcome = check_file("certificate", context->certificate, false, error);

    if (outcome == LK_OK) {
        outcome = check_file("key", context->key, true, error);
    }
    if (outcome == LK_OK && SSL_CTX_use_certificate_chain_file(ssl, context->certificate) != 1) {
        outcome = lk_error_set(error, LK_INVALID, "the certificate %.200s: none in PEM (%s)",
                               context->certificate, reason_of_queue());
    }
    if (outcome == LK_OK) {
        outcome = use_key(context, ssl, error);
    }
    return outcome == LK_OK
               ? check_dates(SSL_CTX_get0_certificate(ssl), context->certificate, error)
               : outcome;
}

/* A server names to its clients the authorities that it accepts. */
static lk_outcome use_authorities(const struct lk_tls_context *context, SSL_CTX *ssl,
                                  lk_error *error) {
    lk_outcome outcome = check_file("file of authorities", context->authorities, false, error);
    STACK_OF(X509_NAME) *names = NULL;

    if (outcome != LK_OK) {
        return outcome;
    }
    if (SSL_CTX_load_verify_file(ssl, context->authorities) != 1
        || (context->is_server
            && (names = SSL_load_client_CA_file(context->authorities)) == NULL)) {
        return lk_error_set(error, LK_INVALID,
                            "the file of authorities %.200s: no certificate in PEM (%s)",
                            context->authorities, reason_of_queue());
    }
    if (names != NULL) {
        SSL_CTX_set_client_CA_list(ssl, names);
    }
    return LK_OK;
}

/* ---- contexts -------------------------------------------------------------------------------- */

static SSL_CTX *new_ssl(const struct lk_tls_context *context) {
    static const unsigned char id[] = "lockkeeper"; /* sessions are resumed with this service */
    SSL_CTX *ssl = SSL_CTX_new(context->is_server ? TLS_server_method() : TLS_client_method());
    bool is_peer_checked = !context->is_server || context->authorities != NULL;

    if (ssl == NULL) {
        return NULL;
    }
    /* A message of RESP or HTTP says itself where it ends: a peer need not say goodbye. */
    (void)SSL_CTX_set_options(ssl, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION
                                       | SSL_OP_IGNORE_UNEXPECTED_EOF);
    (void)SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
                                    | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_verify(
        ssl, is_peer_checked ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT : SSL_VERIFY_NONE,
        NULL);
    if (SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION) != 1
        || SSL_CTX_set_session_id_context(ssl, id, sizeof id - 1) != 1) {
        SSL_CTX_free(ssl);
        return NULL;
    }
    return ssl;
}

static lk_outcome load(const struct lk_tls_context *context, SSL_CTX **ret_ssl, lk_error *error) {
    SSL_CTX *ssl = new_ssl(context);
    lk_outcome outcome = LK_OK;

    if (ssl == NULL) {
        ERR_clear_error();
        return lk_error_set(error, LK_INTERNAL, "OpenSSL cannot make a context for TLS");
    }
    if (context->certificate != NULL) {
        outcome = use_certificate(context, ssl, error);
    }
    if (outcome == LK_OK && context->authorities != NULL) {
        outcome = use_authorities(context, ssl, error);
    } else if (outcome == LK_OK && !context->is_server
               && SSL_CTX_set_default_verify_paths(ssl) != 1) {
        outcome = lk_error_set(error, LK_INTERNAL, "the system's authorities cannot be read");
    }
    ERR_clear_error();
    if (outcome != LK_OK) {
        SSL_CTX_free(ssl);
        return outcome;
    }
    *ret_ssl = ssl;
    return LK_OK;
}

/* false: no memory. */
static bool copy_path(const char *path, char **ret_copy) {
    *ret_copy = path != NULL ? lk_text_copy(lk_slice_of(path)) : NULL;
    return path == NULL || *ret_copy != NULL;
}

static lk_outcome make(const struct lk_tls_files *files, bool is_server,
                       struct lk_tls_context **ret_context, lk_error *error) {
    struct lk_tls_context *context;
    lk_outcome outcome = load_openssl(error);

    if (outcome != LK_OK) {
        return outcome;
    }
    context = calloc(1, sizeof *context);
    if (context == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    context->is_server = is_server;
    outcome = copy_path(files->certificate, &context->certificate)
                      && copy_path(files->key, &context->key)
                      && copy_path(files->authorities, &context->authorities)
                  ? load(context, &context->ssl, error)
                  : lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    if (outcome != LK_OK) {
        lk_tls_context_free(context);
        return outcome;
    }
    *ret_context = context;
    return LK_OK;
}

lk_outcome lk_tls_server_new(const struct lk_tls_files *files, struct lk_tls_context **ret_context,
                             lk_error *error) {
    return make(files, true, ret_context, error);
}

lk_outcome lk_tls_client_new(const struct lk_tls_files *files, struct lk_tls_context **ret_context,
                             lk_error *error) {
    return make(files, false, ret_context, error);
}

lk_outcome lk_tls_context_reload(struct lk_tls_context *context, const struct lk_tls_files *files,
                                 lk_error *error) {
    struct lk_tls_context *fresh;
    struct lk_tls_context former = *context; /* sessions have references of their own */
    lk_outcome outcome = make(files, context->is_server, &fresh, error);

    if (outcome == LK_OK) {
        *context = *fresh;
        *fresh = former;
        lk_tls_context_free(fresh);
    }
    return outcome;
}

void lk_tls_context_free(struct lk_tls_context *context) {
    if (context == NULL) {
        return;
    }
    if (context->ssl != NULL) {
        SSL_CTX_free(context->ssl);
    }
    free(context->certificate);
    free(context->key);
    free(context->authorities);
    free(context);
}

bool lk_tls_context_has_certificate(const struct lk_tls_context *context) {
    return context->certificate != NULL;
}

bool lk_tls_context_end(const struct lk_tls_context *context, int64_t *ret_end_s) {
    const X509 *certificate = SSL_CTX_get0_certificate(context->ssl);

    return certificate != NULL && lk_tls_certificate_end(certificate, ret_end_s);
}
