/* SPDX-License-Identifier: Apache-2.0 */
/* What has failed in a session: OpenSSL's errors, told apart by what a user can do. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tls/internal.h"

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
