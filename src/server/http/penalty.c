/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong passwords and malformed requests over HTTP: their refusals are held back. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdlib.h>

#include "server/connections/loop.h"
#include "server/http/http.h"

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
