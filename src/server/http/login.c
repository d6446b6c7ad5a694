/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user that sends an HTTP request: `Basic` with a user and its password or token, `Bearer` with
 * a token, or neither and a certificate with the user's name. Without users there is one password,
 * with any user. A request whose password is being verified waits; the listener does not detect
 * meanwhile that its client closes.
 */
#include <event2/event.h>
#include <event2/http.h>
#include <string.h>
#include <strings.h>

#include "base/secret.h"
#include "form/text.h"
#include "server/http/http.h"

enum { CREDENTIAL_BYTES_MAX = 2048 };

/* The Authorization of a request. */
struct credentials {
    bool is_basic;
    struct lk_slice user; /* Basic only; in `text`: */
    struct lk_slice secret;
    char text[CREDENTIAL_BYTES_MAX];
};

static const char *header_of(struct evhttp_request *request) {
    return evhttp_find_header(evhttp_request_get_input_headers(request), "Authorization");
}

/* false: there is none, or it is of another kind. */
static bool read_credentials(struct evhttp_request *request, struct credentials *ret_credentials) {
    static const char bearer[] = "Bearer ";
    static const char basic[] = "Basic ";
    const char *header = header_of(request);
    char *text = ret_credentials->text;
    const char *colon;
    size_t size;

    if (header == NULL || strlen(header) >= sizeof ret_credentials->text) {
        return false;
    }
    ret_credentials->is_basic = strncasecmp(header, basic, strlen(basic)) == 0;
    ret_credentials->user = (struct lk_slice){NULL, 0};
    if (strncasecmp(header, bearer, strlen(bearer)) == 0) {
        ret_credentials->secret = lk_slice_of(header + strlen(bearer));
        return true;
    }
    if (!ret_credentials->is_basic) {
        return false;
    }
    size = strlen(header) - strlen(basic);
    memcpy(text, header + strlen(basic), size);
    if (!lk_form_read_base64(text, size, &size)) {
        return false;
    }
    colon = size > 0 ? memchr(text, ':', size) : NULL;
    if (colon == NULL) {
        return false;
    }
    ret_credentials->user = (struct lk_slice){text, (size_t)(colon - text)};
    ret_credentials->secret = (struct lk_slice){colon + 1, size - ret_credentials->user.size - 1};
    return true;
}

/* ---- deciding -------------------------------------------------------------------------------- */

/* A missing secret is refused at once, a wrong one after a delay. */
static void refuse(struct lk_http_listener *listener, struct evhttp_request *request,
                   struct lk_http_client *client) {
    if (header_of(request) == NULL || !lk_http_client_penalize(client, request)) {
        lk_http_refuse_without_password(listener, request);
    }
}

static void refuse_full(struct lk_http_listener *listener, struct evhttp_request *request,
                        struct lk_http_client *client) {
    lk_http_refused(listener, client->socket, LK_REFUSED_FULL);
    lk_http_refuse(listener, request, LK_HTTP_TOO_MANY, LK_FULL,
                   "too many logins are being verified; try again later");
}

static void on_decided(struct lk_login *login, enum lk_login_state state,
                       const struct lk_login_grant *grant) {
    struct lk_http_client *client =
        (struct lk_http_client *)((char *)login - offsetof(struct lk_http_client, login));
    struct lk_http_listener *listener = client->listener;
    struct evhttp_request *request = client->waiting;

    client->waiting = NULL;
    if (state == LK_LOGIN_FULL) {
        refuse_full(listener, request, client);
        return;
    }
    if (state != LK_LOGIN_GRANTED) {
        refuse(listener, request, client);
        return;
    }
    client->grant = *grant;
    listener->user = grant->user;
    lk_http_run(listener, request, client);
}

/* Whether the request goes on now. */
static bool log_in(struct lk_http_listener *listener, struct evhttp_request *request,
                   struct lk_http_client *client, const struct credentials *credentials) {
    enum lk_login_state state = LK_LOGIN_REFUSED;

    client->login.done = on_decided;
    client->login.origin = lk_admission_origin(&listener->clients.admission, client->socket);
    client->grant = (struct lk_login_grant){.user = NULL};
    if (!credentials->is_basic || credentials->user.size > 0) {
        state = lk_login_begin(lk_server_logins(listener->server), credentials->user,
                               credentials->secret, lk_server_times(listener->server).wall_us,
                               &client->login, &client->grant);
    }
    switch (state) {
    case LK_LOGIN_GRANTED:
        listener->user = client->grant.user;
        return true;
    case LK_LOGIN_PENDING:
        client->waiting = request;
        return false;
    case LK_LOGIN_FULL:
        refuse_full(listener, request, client);
        return false;
    case LK_LOGIN_REFUSED:
        break;
    }
    refuse(listener, request, client);
    return false;
}

/* A request without a secret of its own is of the user that the client's certificate names. */
static bool log_in_by_certificate(struct lk_http_client *client) {
    char name[LK_TLS_NAME_BYTES_MAX + 1];

    return client->handshake.session != NULL
           && lk_tls_session_peer_name(client->handshake.session, name)
           && lk_login_by_certificate(lk_server_logins(client->listener->server), name,
                                      &client->grant);
}

bool lk_http_authenticate(struct lk_http_listener *listener, struct evhttp_request *request,
                          struct lk_http_client *client) {
    const struct lk_server_options *options = lk_server_options_of(listener->server);
    const char *path = lk_http_path(request);
    struct credentials credentials;
    bool has_any;
    bool is_granted = false;

    if (!lk_server_wants_login(options) || strcmp(path, "/healthz") == 0
        || (options->users != NULL && lk_http_is_health_check(path))) {
        return true;
    }
    has_any = read_credentials(request, &credentials);
    if (header_of(request) == NULL && options->users != NULL && log_in_by_certificate(client)) {
        listener->user = client->grant.user;
        is_granted = true;
    } else if (has_any && options->users != NULL) {
        is_granted = log_in(listener, request, client, &credentials);
    } else if (has_any && lk_secret_equal(options->password, credentials.secret)) {
        is_granted = true;
    } else {
        refuse(listener, request, client);
    }
    explicit_bzero(&credentials, sizeof credentials);
    return is_granted;
}

void lk_http_end_login(struct lk_http_client *client) {
    lk_login_cancel(&client->login);
    if (client->waiting != NULL && evhttp_request_get_connection(client->waiting) == NULL) {
        evhttp_request_free(client->waiting);
    }
    client->waiting = NULL;
}
