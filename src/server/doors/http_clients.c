/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is connected to the HTTP door: how many there may be, and how long each may take.
 *
 * evhttp accepts, but it does not count, and of time it knows only the silence between two bytes:
 * one now and then keeps a connection for ever, and none at all ends that of a patient follower. So
 * each of its connections has a client here, from the moment it asks for the buffers of one to the
 * moment it gives it up. Whoever is one too many is told so with its first request; with
 * LK_HTTP_SURPLUS_MAX of these, or no file left to open, others wait to be accepted.
 *
 * A client is in one line at a time: those that came in this turn; those whose request is to come
 * and those whose reply is to be read, each in the order in which their time is over; the others.
 */
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <poll.h>
#include <stdlib.h>

#include "server/doors/http.h"

enum { SLOTS_MIN = 64, RETRY_MS = 100 };

#define US_PER_S INT64_C(1000000)

static int64_t now_us(const struct lk_http_door *door) {
    return lk_server_times(door->server).now_us;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void move(struct lk_http_client *client, struct lk_http_line *line, int64_t patience_s) {
    TAILQ_REMOVE(client->line, client, list);
    TAILQ_INSERT_TAIL(line, client, list);
    client->line = line;
    client->due_us = now_us(client->door) + patience_s * US_PER_S;
}

/* For the first who is overdue. When it comes too early, for one that has gone, it is set anew. */
static void arm(struct lk_http_clients *clients) {
    const struct lk_http_client *asking = TAILQ_FIRST(&clients->asking);
    const struct lk_http_client *reading = TAILQ_FIRST(&clients->reading);
    int64_t due_us = LK_NEVER;
    int64_t left_us;

    if (evtimer_pending(&clients->timer, NULL)) {
        return;
    }
    due_us = asking != NULL ? asking->due_us : due_us;
    due_us = reading != NULL && reading->due_us < due_us ? reading->due_us : due_us;
    if (due_us != LK_NEVER) {
        struct timeval delay;
        left_us = due_us - now_us(clients->door);
        left_us = left_us > 0 ? left_us : 0;
        delay = (struct timeval){.tv_sec = left_us / US_PER_S, .tv_usec = left_us % US_PER_S};
        (void)event_add(&clients->timer, &delay);
    }
}

static void end_overdue(struct lk_http_line *line, int64_t now) {
    while (!TAILQ_EMPTY(line) && TAILQ_FIRST(line)->due_us <= now) {
        evhttp_connection_free(TAILQ_FIRST(line)->connection);
    }
}

static void hear_time(evutil_socket_t socket, short what, void *context) {
    struct lk_http_clients *clients = context;
    int64_t now = now_us(clients->door);

    (void)socket;
    (void)what;
    end_overdue(&clients->asking, now);
    end_overdue(&clients->reading, now);
    arm(clients);
}

/* ---- looking out ----------------------------------------------------------------------------- */

/*
 * Something has come, or an end. A client that says more before it is answered is read later; until
 * then its socket stays readable, so whether it goes is looked up now and then. To wait for the end
 * alone will not do: that of a connection that was cut off (RST) is no EV_CLOSED to libevent, which
 * would wake up for it without an end.
 */
static void look(evutil_socket_t socket, short what, void *context) {
    static const struct timeval later = {.tv_sec = 1};
    struct lk_http_lookout *lookout = context;
    struct pollfd place = {.fd = lookout->socket, .events = POLLRDHUP};

    (void)socket;
    (void)what;
    if (poll(&place, 1, 0) > 0) {
        lookout->hear_gone(lookout->context);
    } else {
        (void)evtimer_assign(&lookout->event, event_get_base(&lookout->event), look, lookout);
        (void)event_add(&lookout->event, &later);
    }
}

void lk_http_lookout_begin(struct lk_http_lookout *lookout, struct evhttp_request *request,
                           void (*hear_gone)(void *context), void *context) {
    struct evhttp_connection *connection = evhttp_request_get_connection(request);

    lookout->socket = bufferevent_getfd(evhttp_connection_get_bufferevent(connection));
    lookout->hear_gone = hear_gone;
    lookout->context = context;
    (void)event_assign(&lookout->event, evhttp_connection_get_base(connection), lookout->socket,
                       EV_READ | EV_CLOSED, look, lookout);
    (void)event_add(&lookout->event, NULL);
}

void lk_http_lookout_end(struct lk_http_lookout *lookout) {
    (void)event_del(&lookout->event);
}

/* ---- accepting, or not ----------------------------------------------------------------------- */

static struct evconnlistener *listener_of(const struct lk_http_door *door) {
    return door->bound != NULL ? evhttp_bound_socket_get_listener(door->bound) : NULL;
}

static void accept_again(evutil_socket_t socket, short what, void *context) {
    struct lk_http_clients *clients = context;
    struct evconnlistener *listener = listener_of(clients->door);

    (void)socket;
    (void)what;
    if (listener != NULL && clients->count < clients->count_max + LK_HTTP_SURPLUS_MAX) {
        (void)evconnlistener_enable(listener);
    }
}

/* There are no files left, or no memory. Who waits is still there a little later. */
static void rest(evutil_socket_t socket, short what, void *context) {
    static const struct timeval later = {.tv_usec = RETRY_MS * 1000};
    struct lk_http_clients *clients = context;

    (void)socket;
    (void)what;
    (void)event_add(&clients->retry, &later);
}

/* The context is evhttp's; ours hears of it by an event on the same socket, which waits for
 * nothing else. */
static void hear_accept_failed(struct evconnlistener *listener, void *context) {
    (void)context;
    (void)evconnlistener_disable(listener);
    event_base_active_by_fd(evconnlistener_get_base(listener), evconnlistener_get_fd(listener),
                            EV_CLOSED);
}

/* ---- coming and going ------------------------------------------------------------------------ */

static void forget(struct lk_http_client *client) {
    struct lk_http_clients *clients = &client->door->clients;

    TAILQ_REMOVE(client->line, client, list);
    free(client);
    if (clients->count-- == clients->count_max + LK_HTTP_SURPLUS_MAX) {
        accept_again(-1, 0, clients);
    }
}

/* The connection goes, whoever ended it. */
static void hear_closed(struct evhttp_connection *connection, void *context) {
    struct lk_http_client *client = context;

    (void)connection;
    client->door->clients.slots[client->socket] = NULL;
    if (client->stream != NULL) {
        lk_http_stream_closed(client->stream);
    }
    forget(client);
}

/* evhttp asks for the buffers of a connection that it has accepted. */
static struct bufferevent *hear_coming(struct event_base *loop, void *context) {
    struct lk_http_door *door = context;
    struct lk_http_clients *clients = &door->clients;
    struct bufferevent *buffers = bufferevent_socket_new(loop, -1, 0);
    struct lk_http_client *client = buffers != NULL ? calloc(1, sizeof *client) : NULL;

    if (client == NULL) {
        if (buffers != NULL) {
            bufferevent_free(buffers);
        }
        return NULL; /* evhttp makes its own, and a client that nobody counts is let go */
    }
    bufferevent_incref(buffers); /* so that they can be looked at when evhttp has thought better */
    client->door = door;
    client->buffers = buffers;
    client->is_surplus = clients->count >= clients->count_max;
    client->line = &clients->coming;
    TAILQ_INSERT_TAIL(&clients->coming, client, list);
    if (++clients->count == clients->count_max + LK_HTTP_SURPLUS_MAX && listener_of(door) != NULL) {
        (void)evconnlistener_disable(listener_of(door));
    }
    return buffers;
}

static bool make_slot(struct lk_http_clients *clients, int socket) {
    size_t count = clients->slot_count != 0 ? clients->slot_count : SLOTS_MIN;
    struct lk_http_client **slots;

    while (count <= (size_t)socket) {
        count *= 2;
    }
    if (count > clients->slot_count) {
        slots = reallocarray(clients->slots, count, sizeof(*slots));
        if (slots == NULL) {
            return false;
        }
        memset(slots + clients->slot_count, 0, (count - clients->slot_count) * sizeof(*slots));
        clients->slots = slots;
        clients->slot_count = count;
    }
    return true;
}

/*
 * By now evhttp has made a connection around the buffers, which it is called back with. If it has
 * given up instead, they have no callbacks any more.
 */
static void meet(struct lk_http_client *client) {
    struct lk_http_clients *clients = &client->door->clients;
    const struct timeval silence = {.tv_sec = clients->request_s};
    void *connection = NULL;

    bufferevent_getcb(client->buffers, NULL, NULL, NULL, &connection);
    client->connection = connection;
    bufferevent_set_timeouts(client->buffers, NULL, &silence); /* of who does not read */
    client->socket = bufferevent_getfd(client->buffers);
    (void)bufferevent_decref(client->buffers);
    client->buffers = NULL;
    if (connection == NULL) {
        forget(client);
    } else if (client->socket < 0 || !make_slot(clients, client->socket)) {
        evhttp_connection_free(connection);
        forget(client);
    } else {
        clients->slots[client->socket] = client;
        evhttp_connection_set_closecb(connection, hear_closed, client);
        move(client, &clients->asking, clients->request_s);
    }
}

void lk_http_clients_meet(struct lk_http_clients *clients) {
    while (!TAILQ_EMPTY(&clients->coming)) {
        meet(TAILQ_FIRST(&clients->coming));
    }
    arm(clients);
}

/* ---- for the door ---------------------------------------------------------------------------- */

struct lk_http_client *lk_http_client_of(struct lk_http_door *door,
                                         struct evhttp_request *request) {
    struct evhttp_connection *connection = evhttp_request_get_connection(request);
    int socket = bufferevent_getfd(evhttp_connection_get_bufferevent(connection));

    lk_http_clients_meet(&door->clients);
    return socket >= 0 && (size_t)socket < door->clients.slot_count ? door->clients.slots[socket]
                                                                    : NULL;
}

void lk_http_client_asked(struct lk_http_client *client) {
    move(client, &client->door->clients.busy, 0);
}

/* The reply has been written; the connection may end with it, or bring the next request. */
static void hear_written(struct evhttp_request *request, void *context) {
    struct lk_http_client *client = context;

    (void)request;
    move(client, &client->door->clients.asking, client->door->clients.request_s);
    arm(&client->door->clients);
}

/* What time the turn has taken until now is not the reader's. */
void lk_http_client_told(struct lk_http_client *client, struct evhttp_request *request) {
    (void)event_base_update_cache_time(lk_server_loop(client->door->server));
    move(client, &client->door->clients.reading, LK_HTTP_REPLY_SECONDS_MAX);
    evhttp_request_set_on_complete_cb(request, hear_written, client);
    arm(&client->door->clients);
}

void lk_http_clients_begin(struct lk_http_door *door, uint32_t count_max, uint32_t request_s) {
    struct lk_http_clients *clients = &door->clients;

    clients->door = door;
    clients->count_max = count_max;
    clients->request_s = request_s;
    TAILQ_INIT(&clients->coming);
    TAILQ_INIT(&clients->asking);
    TAILQ_INIT(&clients->reading);
    TAILQ_INIT(&clients->busy);
    (void)evtimer_assign(&clients->timer, lk_server_loop(door->server), hear_time, clients);
    (void)evtimer_assign(&clients->retry, lk_server_loop(door->server), accept_again, clients);
}

void lk_http_clients_invite(struct lk_http_clients *clients) {
    struct lk_http_door *door = clients->door;
    struct evconnlistener *listener = listener_of(door);

    evhttp_set_bevcb(door->http, hear_coming, door);
    evconnlistener_set_error_cb(listener, hear_accept_failed);
    (void)event_assign(&clients->exhausted, lk_server_loop(door->server),
                       evconnlistener_get_fd(listener), EV_CLOSED | EV_PERSIST, rest, clients);
    (void)event_add(&clients->exhausted, NULL);
}

void lk_http_clients_uninvite(struct lk_http_clients *clients) {
    (void)event_del(&clients->exhausted);
    (void)event_del(&clients->retry);
}

void lk_http_clients_end(struct lk_http_clients *clients) {
    (void)event_del(&clients->timer);
    free(clients->slots);
}
