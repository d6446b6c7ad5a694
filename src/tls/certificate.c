/* SPDX-License-Identifier: Apache-2.0 */
/* What the peer's certificate says: a name, and its end. */
#include <string.h>
#include <time.h>

#include "tls/internal.h"

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
    bool is_found = false;

    for (int i = 0; names != NULL && !is_found && i < sk_GENERAL_NAME_num(names); i++) {
        int kind = -1;
        const ASN1_STRING *text = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, i), &kind);

        is_found =
            (kind == GEN_DNS || kind == GEN_EMAIL || kind == GEN_URI) && take_name(text, ret_name);
    }
    if (names != NULL) {
        GENERAL_NAMES_free(names);
    }
    return is_found;
}

static bool read_name(const X509 *certificate, char ret_name[LK_TLS_NAME_BYTES_MAX + 1]) {
    const X509_NAME *subject = X509_get_subject_name(certificate);
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
