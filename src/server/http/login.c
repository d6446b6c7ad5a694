/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user that sends an HTTP request: `Basic` with a user and its password or token, `Bearer` with
 * a token, or neither and a certificate with the user's name. Without users there is one password,
 * with any user. A request whose password is being verified waits; the listener does not detect
 * meanwhile that its client closes.
 */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/secret.h"
#include "form/text.h"
#include "server/connections/loop.h"
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

/* ---- penalties ------------------------------------------------------------------------------- */

/* The refusals of wrong passwords and malformed requests are held back. */

static int64_t penalty_us(struct lk_http_client *client, enum lk_offence offence) {
    return lk_admission_penalty_us(&client->listener->clients.admission, client->socket, offence,
                                   lk_server_times(client->listener->server).now_us);
}

/* ---- wrong passwords ------------------------------------------------------------------------- */

/*
 * A refusal that is held back. The listener does not detect that its client closes meanwhile: the
 * connection stays pending, protected, and counts towards the bound of its address.
 */
struct lk_http_penalty {
    struct event timer;
    struct lk_http_client *client;
    struct evhttp_request *request;
};

static void end_penalty(struct lk_http_client *client) {
    (void)event_del(&client->penalty->timer);
    free(client->penalty);
    client->penalty = NULL;
}

static void on_penalty_over(evutil_socket_t socket, short what, void *context) {
    struct lk_http_penalty *penalty = context;
    struct lk_http_client *client = penalty->client;
    struct evhttp_request *request = penalty->request;

    (void)socket;
    (void)what;
    end_penalty(client);
    lk_http_refuse_without_password(client->listener, request);
}

bool lk_http_client_penalize(struct lk_http_client *client, struct evhttp_request *request) {
    const struct timeval delay = lk_loop_delay(penalty_us(client, LK_OFFENCE_PASSWORD));
    struct lk_http_penalty *penalty = calloc(1, sizeof *penalty);

    lk_http_refused(client->listener, client->socket, LK_REFUSED_PASSWORD);
    if (penalty == NULL) {
        return false;
    }
    *penalty = (struct lk_http_penalty){.client = client, .request = request};
    lk_http_client_free_request(client, request);
    client->penalty = penalty;
    (void)evtimer_assign(&penalty->timer, lk_server_loop(client->listener->server), on_penalty_over,
                         penalty);
    (void)event_add(&penalty->timer, &delay);
    return true;
}

/* ---- malformed requests ---------------------------------------------------------------------- */

/*
 * The reply to a malformed request, which is held back. Its connection is pending and protected
 * meanwhile, and nothing of it is read.
 */
struct lk_http_late_reply {
    struct event timer;
    struct lk_http_client *client;
    struct lk_buffer text;
    bool is_silenced; /* evhttp has nothing to do with the connection any more */
    struct timeval delay;
};

static void end_late_reply(struct lk_http_client *client) {
    (void)event_del(&client->late_reply->timer);
    lk_buffer_done(&client->late_reply->text);
    free(client->late_reply);
    client->late_reply = NULL;
}

static void on_late_reply_written(struct bufferevent *buffers, void *context) {
    (void)buffers;
    lk_http_client_end(context);
}

static void on_late_reply_due(evutil_socket_t socket, short what, void *context) {
    struct lk_http_late_reply *late = context;
    struct lk_http_client *client = late->client;
    struct bufferevent *buffers = evhttp_connection_get_bufferevent(client->connection);

    (void)socket;
    (void)what;
    if (!late->is_silenced) {
        late->is_silenced = true;
        (void)bufferevent_disable(buffers, EV_READ | EV_WRITE);
        bufferevent_setcb(buffers, NULL, NULL, NULL, NULL);
        (void)event_add(&late->timer, &late->delay);
        return;
    }
    lk_admission_protect(&client->listener->clients.admission, &client->pending, false);
    client->is_replacing = true;
    (void)evbuffer_add(bufferevent_get_output(buffers), late->text.bytes, late->text.size);
    client->is_replacing = false;
    end_late_reply(client);
    bufferevent_setcb(buffers, NULL, on_late_reply_written, NULL, client);
    (void)bufferevent_enable(buffers, EV_WRITE);
    lk_http_client_bid_farewell(client);
}

/*
 * The timer is made active first: evhttp, which is in the middle of its own reply, is done with it
 * when the callback runs, and the socket is written after that.
 */
bool lk_http_client_hold(struct lk_http_client *client, struct lk_buffer *reply) {
    struct lk_http_late_reply *late;
    int64_t delay_us;

    if (client->pending.address == NULL) {
        return false;
    }
    delay_us = penalty_us(client, LK_OFFENCE_MALFORMED);
    late = delay_us > 0 ? calloc(1, sizeof *late) : NULL;
    if (late == NULL) {
        return false;
    }
    late->client = client;
    late->text = *reply;
    late->delay = lk_loop_delay(delay_us);
    *reply = (struct lk_buffer){.max = 0};
    client->late_reply = late;
    lk_http_client_request_received(client);
    (void)evtimer_assign(&late->timer, lk_server_loop(client->listener->server), on_late_reply_due,
                         late);
    event_active(&late->timer, EV_TIMEOUT, 0);
    return true;
}

/* ---- closing --------------------------------------------------------------------------------- */

void lk_http_penalty_client_closed(struct lk_http_client *client) {
    if (client->late_reply != NULL) {
        end_late_reply(client);
    }
    if (client->penalty != NULL) {
        if (evhttp_request_get_connection(client->penalty->request) == NULL) {
            evhttp_request_free(client->penalty->request);
        }
        end_penalty(client);
    }
}
