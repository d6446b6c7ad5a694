/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clients of the HTTP listener: how many there may be, and how long each may take.
 *
 * evhttp accepts connections without counting them, and its only timeout is the time between two
 * bytes. With that alone, a client that sends a byte now and then keeps its connection for ever,
 * and a follower that sends nothing loses it. So each connection has a client struct here, from the
 * moment evhttp asks for its buffers until it frees the connection. If there is a password, a
 * client is pending until it authenticates; else only while the bound is reached. A pending client
 * may send a health check (/healthz), and gets an error for anything else: 401, or that there are
 * too many connections. The oldest pending client is evicted for a new one. When no more files can
 * be opened, connections wait to be accepted.
 *
 * A client is in one list at a time: those accepted in this turn; those whose TLS handshake or
 * whose request is awaited, and those whose reply is being read, each ordered by deadline; the
 * others.
 */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/minmax.h"
#include "server/connections/admission.h"
#include "server/connections/loop.h"
#include "server/http/http.h"

enum { SLOTS_MIN = 64 };

#define US_PER_S INT64_C(1000000)

static int64_t now_us(const struct lk_http_listener *listener) {
    return lk_server_times(listener->server).now_us;
}

static void charge(struct lk_http_client *client) {
    lk_server_charge(client->listener->server, &client->charged,
                     client->request_bytes + client->reply_bytes);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void move(struct lk_http_client *client, struct lk_http_client_list *in_list,
                 int64_t patience_s) {
    TAILQ_REMOVE(client->in_list, client, list);
    TAILQ_INSERT_TAIL(in_list, client, list);
    client->in_list = in_list;
    client->due_us = now_us(client->listener) + patience_s * US_PER_S;
}

/*
 * Sets the timer for the first client that is overdue. If that client has closed meanwhile, the
 * timer fires early and is set again.
 */
static void arm(struct lk_http_clients *clients) {
    const struct lk_http_client *shaking = TAILQ_FIRST(&clients->shaking);
    const struct lk_http_client *reading = TAILQ_FIRST(&clients->reading);
    const struct lk_http_client *writing = TAILQ_FIRST(&clients->writing);
    int64_t due_us = lk_min(reading != NULL ? reading->due_us : LK_NEVER,
                            writing != NULL ? writing->due_us : LK_NEVER);

    due_us = shaking != NULL ? lk_min(due_us, shaking->due_us) : due_us;
    if (evtimer_pending(&clients->timer, NULL) && clients->armed_us <= due_us) {
        return;
    }
    clients->armed_us = due_us;
    if (due_us != LK_NEVER) {
        int64_t left_us = lk_max(due_us - now_us(clients->listener), 0);
        const struct timeval delay = lk_loop_delay(left_us);

        (void)event_add(&clients->timer, &delay);
    }
}

/* It is due before all others in its new list. */
void lk_http_client_bid_farewell(struct lk_http_client *client) {
    struct lk_http_clients *clients = &client->listener->clients;

    client->request_bytes = 0;
    charge(client);
    move(client, &clients->writing, LK_HTTP_FAREWELL_SECONDS);
    TAILQ_REMOVE(&clients->writing, client, list);
    TAILQ_INSERT_HEAD(&clients->writing, client, list);
    arm(clients);
}

/* Tells the client that its request is overdue. false: it could not be told. */
static bool tell_overdue(struct lk_http_client *client) {
    if (client->in_list != &client->listener->clients.reading || !lk_http_errors_time_out(client)) {
        return false;
    }
    lk_http_client_bid_farewell(client);
    return true;
}

static void end_overdue(struct lk_http_client_list *in_list, int64_t now) {
    while (!TAILQ_EMPTY(in_list) && TAILQ_FIRST(in_list)->due_us <= now) {
        struct lk_http_client *client = TAILQ_FIRST(in_list);
        if (client->handshake.is_underway) {
            lk_handshakes_time_out(&client->listener->handshakes, client->socket);
        } else if (client->request_bytes > 0) {
            lk_http_refused(client->listener, client->socket, LK_REFUSED_SLOW);
        }
        if (client->request_bytes == 0 || !tell_overdue(client)) {
            evhttp_connection_free(client->connection);
        }
    }
}

static void on_timer(evutil_socket_t socket, short what, void *context) {
    struct lk_http_clients *clients = context;
    int64_t now = now_us(clients->listener);

    (void)socket;
    (void)what;
    end_overdue(&clients->shaking, now);
    end_overdue(&clients->reading, now);
    end_overdue(&clients->writing, now);
    arm(clients);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void free_client(struct lk_http_client *client) {
    struct lk_http_clients *clients = &client->listener->clients;

    TAILQ_REMOVE(client->in_list, client, list);
    lk_server_charge(client->listener->server, &client->charged, 0);
    lk_admission_remove(&clients->admission, &client->pending);
    clients->admitted -= client->is_admitted;
    lk_http_tls_end(client);
    free(client);
    if (clients->count-- >= lk_http_clients_max(clients)) {
        lk_http_accept_again(clients);
    }
}

/* The connection closes, whichever side closed it. */
static void on_closed(struct evhttp_connection *connection, void *context) {
    struct lk_http_client *client = context;

    (void)connection;
    lk_http_trace(client->listener, client->socket, "closed");
    client->listener->clients.slots[client->socket] = NULL;
    lk_http_penalty_client_closed(client);
    lk_http_end_login(client);
    if (client->stream != NULL) {
        lk_http_stream_closed(client->stream);
    }
    free_client(client);
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

static bool admit(struct lk_http_client *client) {
    struct lk_http_clients *clients = &client->listener->clients;

    if (!client->is_admitted && clients->admitted < clients->admitted_max) {
        lk_admission_remove(&clients->admission, &client->pending);
        client->is_admitted = true;
        clients->admitted++;
    }
    return client->is_admitted;
}

/*
 * Admits the client, or makes it pending; its request is then awaited. A client for which there is
 * no room is closed at the end of the turn.
 */
static void admit_or_hold(struct lk_http_client *client) {
    struct lk_http_clients *clients = &client->listener->clients;
    bool is_shaking = client->handshake.is_underway;
    bool is_let_in = (!clients->has_password && !is_shaking && admit(client))
                     || lk_admission_add(&clients->admission, &client->pending, client->socket);

    if (!is_let_in) {
        lk_http_refused(client->listener, client->socket, LK_REFUSED_FULL);
    }
    if (is_let_in && is_shaking) {
        move(client, &clients->shaking, lk_min(clients->request_s, LK_HANDSHAKE_SECONDS_MAX));
        lk_http_tls_await(client);
    } else {
        move(client, is_let_in ? &clients->reading : &clients->closing, clients->request_s);
    }
}

void lk_http_client_greet(struct lk_http_client *client) {
    struct lk_http_clients *clients = &client->listener->clients;

    if (!clients->has_password) {
        (void)admit(client); /* beyond the bound it stays pending */
    }
    move(client, &clients->reading, clients->request_s);
    arm(clients);
}

void lk_http_client_end(struct lk_http_client *client) {
    lk_admission_remove(&client->listener->clients.admission, &client->pending);
    move(client, &client->listener->clients.closing, 0);
}

static void evict(struct lk_pending *pending) {
    struct lk_http_client *client =
        (struct lk_http_client *)((char *)pending - offsetof(struct lk_http_client, pending));

    lk_http_refused(client->listener, client->socket, LK_REFUSED_EVICTED);
    lk_listen_socket_forget(client->socket);
    move(client, &client->listener->clients.closing, 0);
}

/*
 * TLS on a plain port: evhttp would wait for the end of the first line until the time for a
 * request is over. The client gets an error in plain text, and is closed at the end of the turn.
 */
static void on_first_byte(struct evbuffer *input, const struct evbuffer_cb_info *info,
                          void *context) {
    static const char refusal[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n"
                                  "Content-Length: 0\r\n\r\n";
    enum { TLS_HANDSHAKE = 0x16 };
    struct lk_http_client *client = context;
    struct lk_buffer reply = {.max = 0};
    unsigned char first = 0;

    if (info->n_added == 0) {
        return;
    }
    (void)evbuffer_remove_cb(input, on_first_byte, client);
    if (evbuffer_copyout(input, &first, 1) == 1 && first == TLS_HANDSHAKE) {
        lk_http_refused(client->listener, client->socket, LK_REFUSED_PROTOCOL);
        lk_buffer_add_text(&reply, refusal);
        if (!lk_http_client_hold(client, &reply)) {
            (void)send(client->socket, refusal, sizeof refusal - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
            lk_http_client_end(client);
        }
        lk_buffer_done(&reply);
    }
}

/* Reads the bytes that were added, before evhttp does. */
static void read_framing(struct lk_http_client *client, struct evbuffer *input, size_t added) {
    struct lk_http_framing *framing = &client->framing;
    struct evbuffer_ptr at;
    struct evbuffer_iovec piece;

    if (evbuffer_ptr_set(input, &at, evbuffer_get_length(input) - added, EVBUFFER_PTR_SET) != 0) {
        framing->is_bad = true;
        return;
    }
    while (added > 0 && evbuffer_peek(input, -1, &at, &piece, 1) >= 1) {
        size_t size = piece.iov_len < added ? piece.iov_len : added;

        lk_http_framing_read(framing, piece.iov_base, size);
        added -= size;
        if (added > 0 && evbuffer_ptr_set(input, &at, size, EVBUFFER_PTR_ADD) != 0) {
            framing->is_bad = true;
            return;
        }
    }
    if (framing->state == LK_HTTP_AT_BODY && framing->length > LK_HTTP_BODY_BYTES_MAX
        && framing->index == client->handled && !client->is_told && client->late_reply == NULL
        && client->in_list == &client->listener->clients.reading) {
        lk_http_errors_tell_too_large(client);
    }
}

/*
 * evhttp keeps the head of an incomplete request, and its body in one of two places; so the bytes
 * received are counted, up to the most that evhttp keeps.
 */
static void on_input(struct evbuffer *input, const struct evbuffer_cb_info *info, void *context) {
    enum { KEPT_BYTES_MAX = LK_HTTP_BODY_BYTES_MAX + LK_HTTP_HEADER_BYTES_MAX };
    struct lk_http_client *client = context;

    if (info->n_added > 0) {
        read_framing(client, input, info->n_added);
        client->request_bytes += info->n_added;
        client->request_bytes =
            client->request_bytes < KEPT_BYTES_MAX ? client->request_bytes : KEPT_BYTES_MAX;
        charge(client);
    }
}

/* Only bytes after the request are still buffered. */
static void count_buffered_request(struct lk_http_client *client) {
    struct bufferevent *buffers = evhttp_connection_get_bufferevent(client->connection);

    client->request_bytes = evbuffer_get_length(bufferevent_get_input(buffers));
    charge(client);
}

/*
 * Attaches the client to the connection that evhttp has made around the buffers, with callbacks of
 * its own. If evhttp has failed instead, the buffers have no callbacks any more.
 */
static void attach(struct lk_http_client *client) {
    struct lk_http_clients *clients = &client->listener->clients;
    const struct timeval silence = {.tv_sec = clients->request_s};
    void *connection = NULL;

    bufferevent_getcb(client->buffers, NULL, NULL, NULL, &connection);
    client->connection = connection;
    bufferevent_set_timeouts(client->buffers, NULL, &silence); /* for a client that does not read */
    client->socket = bufferevent_getfd(client->buffers);
    if (client->handshake.session == NULL) {
        (void)evbuffer_add_cb(bufferevent_get_input(client->buffers), on_first_byte, client);
    }
    (void)evbuffer_add_cb(bufferevent_get_input(client->buffers), on_input, client);
    (void)evbuffer_add_cb(bufferevent_get_output(client->buffers), lk_http_errors_on_output,
                          client);
    (void)bufferevent_decref(client->buffers);
    client->buffers = NULL;
    if (connection == NULL) {
        free_client(client);
    } else if (client->socket < 0 || !make_slot(clients, client->socket)) {
        evhttp_connection_free(connection);
        free_client(client);
    } else {
        clients->slots[client->socket] = client;
        lk_http_trace(client->listener, client->socket, "opened");
        evhttp_connection_set_closecb(connection, on_closed, client);
        admit_or_hold(client);
    }
}

static void attach_all(struct lk_http_clients *clients) {
    while (!TAILQ_EMPTY(&clients->accepted)) {
        attach(TAILQ_FIRST(&clients->accepted));
    }
    arm(clients);
}

static void close_evicted(struct lk_http_clients *clients) {
    while (!TAILQ_EMPTY(&clients->closing)) {
        evhttp_connection_free(TAILQ_FIRST(&clients->closing)->connection);
    }
}

/*
 * While no more connections can be accepted, closes some that only wait, because a health check
 * must get through.
 */
static void evict_surplus(struct lk_http_clients *clients) {
    uint32_t count = 1 + clients->admission.count / 4;

    while (clients->count >= lk_http_clients_max(clients) && count-- > 0
           && lk_admission_evict_one(&clients->admission)) {
        continue;
    }
}

void lk_http_clients_end_turn(struct lk_http_clients *clients) {
    attach_all(clients);
    close_evicted(
        clients); /* pending connections evicted for their address have made room already */
    evict_surplus(clients);
    close_evicted(clients);
    if (clients->arrived > 0) {
        clients->arrived = 0;
        lk_http_accept_again(clients);
    }
}

/* ---- for the listener ------------------------------------------------------------------------ */

struct lk_http_client *lk_http_client_of(struct lk_http_listener *listener,
                                         struct evhttp_request *request) {
    struct evhttp_connection *connection = evhttp_request_get_connection(request);
    int socket = bufferevent_getfd(evhttp_connection_get_bufferevent(connection));

    attach_all(&listener->clients);
    return socket >= 0 && (size_t)socket < listener->clients.slot_count
               ? listener->clients.slots[socket]
               : NULL;
}

void lk_http_client_request_received(struct lk_http_client *client) {
    move(client, &client->listener->clients.busy, 0);
    lk_admission_protect(&client->listener->clients.admission, &client->pending, true);
}

bool lk_http_client_admit(struct lk_http_client *client) {
    bool is_admitted = admit(client);

    if (is_admitted && !client->has_called) {
        client->has_called = true;
        lk_pace_forget(lk_server_pace(client->listener->server));
    }
    return is_admitted;
}

/* The reply has been written; the connection closes, or its next request is awaited. */
static void on_reply_written(struct evhttp_request *request, void *context) {
    struct lk_http_client *client = context;

    (void)request;
    client->reply_bytes = 0;
    count_buffered_request(client);
    move(client, &client->listener->clients.reading, client->listener->clients.request_s);
    lk_admission_protect(&client->listener->clients.admission, &client->pending, false);
    arm(&client->listener->clients);
}

/* The time that the turn has taken so far does not count for the reader. */
void lk_http_client_reply_begun(struct lk_http_client *client, struct evhttp_request *request,
                                size_t body_size) {
    client->reply_bytes = body_size;
    charge(client);
    (void)event_base_update_cache_time(lk_server_loop(client->listener->server));
    move(client, &client->listener->clients.writing, LK_HTTP_REPLY_SECONDS_MAX);
    evhttp_request_set_on_complete_cb(request, on_reply_written, client);
    arm(&client->listener->clients);
}

void lk_http_client_free_request(struct lk_http_client *client, struct evhttp_request *request) {
    struct evbuffer *body = evhttp_request_get_input_buffer(request);

    (void)evbuffer_drain(body, evbuffer_get_length(body));
    count_buffered_request(client);
}

static struct lk_http_client *worse(struct lk_http_client *worst,
                                    struct lk_http_client_list *in_list) {
    struct lk_http_client *client;

    TAILQ_FOREACH(client, in_list, list) {
        worst = worst == NULL || client->charged > worst->charged ? client : worst;
    }
    return worst;
}

size_t lk_http_clients_shed(struct lk_http_clients *clients, bool ends) {
    struct lk_http_client *worst = worse(worse(NULL, &clients->reading), &clients->writing);
    size_t most = worst != NULL ? worst->charged : 0;

    if (ends && most > 0) {
        evhttp_connection_free(worst->connection);
    }
    return most;
}

static uint32_t pending_max(const struct lk_http_clients *clients,
                            const struct lk_server_options *options) {
    return clients->has_strangers ? options->strangers_max : LK_HTTP_SURPLUS_MAX;
}

/*
 * Beyond the bound, all pending connections share one bound; those without the password, or with an
 * unfinished handshake, are counted per address.
 */
void lk_http_clients_begin(struct lk_http_listener *listener,
                           const struct lk_server_options *options, bool is_local) {
    struct lk_http_clients *clients = &listener->clients;

    clients->listener = listener;
    clients->has_password = lk_server_wants_login(options);
    clients->has_strangers = clients->has_password || listener->handshakes.context != NULL;
    clients->admitted_max = options->connections_max;
    clients->request_s = options->request_seconds_max;
    clients->is_local = is_local;
    lk_admission_begin(&clients->admission, pending_max(clients, options),
                       is_local || !clients->has_strangers, evict);
    TAILQ_INIT(&clients->shaking);
    TAILQ_INIT(&clients->accepted);
    TAILQ_INIT(&clients->reading);
    TAILQ_INIT(&clients->writing);
    TAILQ_INIT(&clients->busy);
    TAILQ_INIT(&clients->closing);
    (void)evtimer_assign(&clients->timer, lk_server_loop(listener->server), on_timer, clients);
}

void lk_http_clients_take_bounds(struct lk_http_clients *clients,
                                 const struct lk_server_options *options) {
    struct evconnlistener *evlistener = lk_http_evlistener(clients->listener);

    clients->admitted_max = options->connections_max;
    lk_admission_bound(&clients->admission, pending_max(clients, options),
                       clients->is_local || !clients->has_strangers);
    if (evlistener != NULL && clients->count >= lk_http_clients_max(clients)) {
        (void)evconnlistener_disable(evlistener);
    } else {
        lk_http_accept_again(clients);
    }
}

static void add_list(const struct lk_http_clients *clients,
                     const struct lk_http_client_list *in_list, const struct lk_user *user,
                     struct lk_buffer *out) {
    const struct lk_http_client *client;

    TAILQ_FOREACH(client, in_list, list) {
        char address[LK_ADDRESS_BYTES_MAX];

        if (user != NULL && client->grant.user != user) {
            continue;
        }
        lk_listen_socket_name_peer(&clients->listener->listen_socket, client->socket, address);
        lk_buffer_add_text(out, "id=0 addr=");
        lk_buffer_add_text(out, address);
        lk_buffer_add_text(out, " name=http owner= resp=0 flags=N");
        if (client->grant.user != NULL) {
            lk_buffer_add_text(out, " user=");
            lk_buffer_add_text(out, client->grant.user->name);
        }
        lk_buffer_add_text(out, "\n");
    }
}

/* In the format of CLIENT LIST. */
void lk_http_clients_list(const struct lk_http_clients *clients, const struct lk_user *user,
                          struct lk_buffer *out) {
    add_list(clients, &clients->shaking, user, out);
    add_list(clients, &clients->reading, user, out);
    add_list(clients, &clients->writing, user, out);
    add_list(clients, &clients->busy, user, out);
}

void lk_http_clients_shorten_timeouts(struct lk_http_clients *clients) {
    static const struct timeval soon = {.tv_sec = 1};
    struct lk_http_client *client;

    TAILQ_FOREACH(client, &clients->writing, list) {
        bufferevent_set_timeouts(evhttp_connection_get_bufferevent(client->connection), NULL,
                                 &soon);
    }
}

void lk_http_clients_end(struct lk_http_clients *clients) {
    (void)event_del(&clients->timer);
    lk_admission_end(&clients->admission);
    free(clients->slots);
}
