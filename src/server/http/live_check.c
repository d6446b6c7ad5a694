/* SPDX-License-Identifier: Apache-2.0 */
/* Detecting that the client of a request has closed its connection. */
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <poll.h>

#include "server/http/http.h"

/*
 * Input or an end of file has arrived. Input that a client sends before it is answered is read
 * later, and its socket stays readable until then, so the end of file is looked for at intervals.
 * Waiting for EV_CLOSED alone is not enough: libevent does not report it for a connection that was
 * reset (RST), and would wake up for the socket again and again.
 */
static void on_socket_event(evutil_socket_t socket, short what, void *context) {
    static const struct timeval later = {.tv_sec = 1};
    struct lk_http_live_check *live_check = context;
    struct pollfd place = {.fd = live_check->socket, .events = POLLRDHUP};

    (void)socket;
    (void)what;
    if (poll(&place, 1, 0) > 0) {
        live_check->on_gone(live_check->context);
    } else {
        (void)evtimer_assign(&live_check->event, event_get_base(&live_check->event),
                             on_socket_event, live_check);
        (void)event_add(&live_check->event, &later);
    }
}

void lk_http_live_check_begin(struct lk_http_live_check *live_check, struct evhttp_request *request,
                              void (*on_gone)(void *context), void *context) {
    struct evhttp_connection *connection = evhttp_request_get_connection(request);

    live_check->socket = bufferevent_getfd(evhttp_connection_get_bufferevent(connection));
    live_check->on_gone = on_gone;
    live_check->context = context;
    (void)event_assign(&live_check->event, evhttp_connection_get_base(connection),
                       live_check->socket, EV_READ | EV_CLOSED, on_socket_event, live_check);
    (void)event_add(&live_check->event, NULL);
}

void lk_http_live_check_end(struct lk_http_live_check *live_check) {
    (void)event_del(&live_check->event);
}
