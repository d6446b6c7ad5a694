/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong passwords over HTTP: their refusals are held back. */
#include <event2/event.h>
#include <event2/http.h>
#include <stdlib.h>

#include "server/http/http.h"

#define US_PER_S INT64_C(1000000)

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

void lk_http_penalty_client_closed(struct lk_http_client *client) {
    if (client->penalty != NULL) {
        if (evhttp_request_get_connection(client->penalty->request) == NULL) {
            evhttp_request_free(client->penalty->request);
        }
        end_penalty(client);
    }
}

bool lk_http_client_penalize(struct lk_http_client *client, struct evhttp_request *request) {
    struct lk_http_clients *clients = &client->listener->clients;
    int64_t delay_us = lk_admission_penalty_us(&clients->admission, client->socket,
                                               lk_server_times(client->listener->server).now_us);
    const struct timeval delay = {.tv_sec = delay_us / US_PER_S, .tv_usec = delay_us % US_PER_S};
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
