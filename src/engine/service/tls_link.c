/* SPDX-License-Identifier: Apache-2.0 */
/* TLS on a connection to a service: its handshake, its bytes, and what went wrong. */
#include "engine/service/tls_link.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"

/* ---- problems -------------------------------------------------------------------------------- */

/* What to say of a problem, after the address; the outcome says whether to try again. */
static const struct {
    lk_outcome outcome;
    const char *text;
} explanations[] = {
    [LK_TLS_EXPIRED] = {LK_DENIED,
                        "the certificate of the service has expired: it needs a new one"},
    [LK_TLS_NOT_YET_VALID] = {LK_DENIED,
                              "the certificate of the service is not valid yet: is the clock of "
                              "this machine right?"},
    [LK_TLS_WRONG_NAME] = {LK_DENIED,
                           "the certificate of the service is for another name: use a name that is "
                           "in it, or give it this one"},
    [LK_TLS_UNKNOWN_AUTHORITY] = {LK_DENIED,
                                  "the certificate of the service is signed by an authority that "
                                  "is not known here: lks://HOST:PORT?ca=FILE names it"},
    [LK_TLS_NO_TLS] = {LK_UNSUPPORTED,
                       "there is no TLS at this port: use lk:// in place of lks://, or the port "
                       "that has TLS"},
    [LK_TLS_NEEDS_CERTIFICATE] = {LK_DENIED, "the service wants a certificate of its clients: "
                                             "lks://HOST:PORT?cert=FILE&key=FILE"},
    [LK_TLS_CERTIFICATE_REFUSED] =
        {LK_DENIED, "the service does not accept the certificate of the URL (cert=): "
                    "it must be valid, and signed by an authority of its --tls-ca"},
    [LK_TLS_VERSION] = {LK_UNSUPPORTED, "the server has neither TLS 1.2 nor TLS 1.3"},
};

lk_outcome lk_service_tls_explain(const struct lk_service_link *link,
                                  const struct lk_service_address *address, lk_error *error) {
    char name[LK_SERVICE_ADDRESS_TEXT_BYTES];
    enum lk_tls_problem problem;

    if (link->tls == NULL || lk_tls_session_reason(link->tls)[0] == '\0') {
        return LK_OK;
    }
    lk_service_address_write(address, name);
    problem = lk_tls_session_problem(link->tls);
    if (problem == LK_TLS_OTHER) {
        return lk_error_set(error, LK_UNAVAILABLE, "%s: TLS has failed: %s", name,
                            lk_tls_session_reason(link->tls));
    }
    return lk_error_set(error, explanations[problem].outcome, "%s: %s", name,
                        explanations[problem].text);
}

/* ---- the handshake --------------------------------------------------------------------------- */

/* Never LK_OK, also where the session gives no reason. */
static lk_outcome explain_hang_up(const struct lk_service_link *link,
                                  const struct lk_service_address *address, lk_error *error) {
    char name[LK_SERVICE_ADDRESS_TEXT_BYTES];
    lk_outcome outcome = lk_service_tls_explain(link, address, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_service_address_write(address, name);
    return lk_error_set(error, LK_UNAVAILABLE, "%s: the connection ended before TLS began", name);
}

lk_outcome lk_service_tls_begin(struct lk_service_link *link,
                                const struct lk_service_address *address,
                                struct lk_tls_context *context, const struct lk_patience *patience,
                                lk_error *error) {
    char name[LK_SERVICE_ADDRESS_TEXT_BYTES];
    lk_outcome outcome = LK_OK;

    link->tls = lk_tls_session_connect(context, link->descriptor, address->host);
    if (link->tls == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for a connection");
    }
    while (outcome == LK_OK) {
        switch (lk_tls_session_handshake(link->tls)) {
        case LK_TLS_DONE:
            return LK_OK;
        case LK_TLS_WANTS_READ:
            outcome = lk_service_link_await(link->descriptor, POLLIN, patience);
            break;
        case LK_TLS_WANTS_WRITE:
            outcome = lk_service_link_await(link->descriptor, POLLOUT, patience);
            break;
        case LK_TLS_CLOSED:
        case LK_TLS_FAILED:
            return explain_hang_up(link, address, error);
        }
    }
    lk_service_address_write(address, name);
    return outcome == LK_CANCELLED
               ? lk_error_clear(error, outcome)
               : lk_error_set(error, outcome, "%s: connected, but there is no answer to TLS", name);
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

ssize_t lk_service_tls_receive(struct lk_service_link *link, void *bytes, size_t size,
                               short *events) {
    size_t received = 0;
    enum lk_tls_step step = lk_tls_session_receive(link->tls, bytes, size, &received);

    return result_of(step, received, events);
}

ssize_t lk_service_tls_send(struct lk_service_link *link, struct lk_slice bytes, short *events) {
    size_t sent = 0;
    enum lk_tls_step step = lk_tls_session_send(link->tls, bytes.bytes, bytes.size, &sent);

    return result_of(step, sent, events);
}

/* ---- reports --------------------------------------------------------------------------------- */

void lk_service_tls_report(const struct lk_service_link *link, struct lk_text *report,
                           struct lk_text *warnings) {
    enum { DATE_BYTES = 32, SOON_S = 14 * 24 * 60 * 60 };
    char date[DATE_BYTES] = "";
    struct tm time;
    int64_t end_s = 0;
    time_t end;

    if (link->tls == NULL) {
        return;
    }
    lk_text_format(report, "tls: %s\n", lk_tls_session_version(link->tls));
    if (!lk_tls_session_peer_end(link->tls, &end_s)) {
        return;
    }
    end = (time_t)end_s;
    (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&end, &time));
    lk_text_format(report, "certificate_ends: %s\n", date);
    if (end_s - lk_clock_wall_us() / 1000000 < SOON_S) {
        lk_text_format(warnings, "the certificate of the service ends soon, at %s\n", date);
    }
}
