/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP listener's internals, on evhttp. evhttp handles connections and their bytes. The code
 * here decides how many connections there may be and for how long, which requests are allowed,
 * which command a route stands for, and when a reply may leave.
 *
 * All requests share one session of the core, and are told apart by their tags: no request is bound
 * to an HTTP connection. A request is with the core (it blocks), or its reply is held back until
 * its batch is durable, or it is answered. A request whose client closes meanwhile is withdrawn.
 *
 * Within src/server.
 */
#ifndef LK_SERVER_HTTP_HTTP_H
#define LK_SERVER_HTTP_HTTP_H

#include <event2/event_struct.h>
#include <sys/queue.h>

#include "command/answer.h"
#include "server/admission.h"
#include "server/listen.h"

struct evhttp;
struct evhttp_bound_socket;
struct evhttp_request;

enum {
    LK_HTTP_BODY_BYTES_MAX = 256 * 1024,
    LK_HTTP_HEADER_BYTES_MAX = 16 * 1024,
    LK_HTTP_REPLY_SECONDS_MAX = 600, /* for the client to read a reply */
    LK_HTTP_SURPLUS_MAX = 64,        /* connections beyond the bound: each gets an error, or the
                                      * answer of a health check */
    LK_HTTP_REPLY_BYTES_MAX = 64 * 1024 * 1024,
    LK_HTTP_HOST_BYTES_MAX = 256,
};

/* A reply as it will be sent. */
struct lk_http_reply {
    int status;
    const char *type; /* of the body; static */
    bool is_in_doubt; /* R15 */
    struct lk_buffer body;
};

/* Detects that a client has closed while its socket is not read. */
struct lk_http_live_check {
    struct event event;
    int socket;
    void (*on_gone)(void *context);
    void *context;
};

/* A request that is not answered yet. */
struct lk_http_exchange {
    struct lk_http_listener *listener;
    struct evhttp_request *request;
    struct lk_http_live_check live_check;
    TAILQ_ENTRY(lk_http_exchange) list;
    uint64_t tag;
    bool is_held; /* answered, and held back until this batch is durable: */
    uint64_t batch;
    struct lk_http_reply reply;
    struct lk_reply_context *context; /* not held: of the command that blocks */
};

TAILQ_HEAD(lk_http_exchanges, lk_http_exchange);

TAILQ_HEAD(lk_http_streams, lk_http_stream);
TAILQ_HEAD(lk_http_client_list, lk_http_client);

/* A connection. */
struct lk_http_client {
    struct lk_http_listener *listener;
    struct bufferevent *buffers;          /* NULL once `connection` is set: */
    struct evhttp_connection *connection; /* set once evhttp has made it */
    int socket;
    size_t request_bytes; /* bytes received of its request, and after it */
    size_t reply_bytes;   /* ... bytes of its reply that have not been read */
    size_t charged;       /* both, as accounted by the server */
    bool is_admitted; /* counts towards the bound of connections; else it is a pending connection */
    struct lk_pending pending;
    struct lk_http_penalty *penalty;     /* after a wrong password; NULL: none */
    struct lk_http_client_list *in_list; /* the list that it is in */
    int64_t due_us;                /* when `reading` or `writing`: the connection is closed then */
    struct lk_http_stream *stream; /* the events that it follows; NULL: none */
    TAILQ_ENTRY(lk_http_client) list;
};

/* All of them. */
struct lk_http_clients {
    struct lk_http_listener *listener;
    struct lk_http_client_list accepted; /* accepted in this turn */
    struct lk_http_client_list reading;  /* their next request is awaited */
    struct lk_http_client_list writing;  /* their reply is being sent */
    struct lk_http_client_list busy;     /* neither: with the core, held back, or following */
    struct lk_http_client_list closing;  /* evicted: closed at the end of the turn */
    uint32_t count;                      /* of all clients */
    uint32_t admitted;                   /* ... of those that are admitted */
    uint32_t admitted_max;
    struct lk_admission admission; /* the others: not authenticated, or beyond the bound */
    bool has_password;
    uint32_t request_s;            /* for a request to arrive, and between two requests */
    struct event timer;            /* for the first client that is overdue */
    struct event exhausted;        /* no connection can be accepted now */
    struct event retry;            /* accepts again */
    struct lk_http_client **slots; /* by socket number */
    size_t slot_count;
};

struct lk_http_listener {
    struct lk_listener base;
    struct lk_server *server;
    struct lk_listen_socket listen_socket; /* its path; evhttp owns the socket */
    struct evhttp *http;
    struct evhttp_bound_socket *bound;
    struct lk_session *session;
    struct lk_http_exchanges blocked; /* the core has them */
    struct lk_http_exchanges held;    /* answered; in the order of their batches */
    struct lk_http_clients clients;
    struct lk_http_streams streams;
    struct lk_http_streams ready; /* ... those that may have events to send */
    unsigned stream_count;
    struct event heartbeat; /* of streams */
    uint64_t last_tag;
    uint64_t durable;
    bool is_checking_host;             /* only local clients can connect, so a Host name may be
                                        * part of a DNS rebinding attack */
    char host[LK_HTTP_HOST_BYTES_MAX]; /* as given by --http */
    /* Of the current call: */
    struct evhttp_request *calling; /* NULL: there is no current call, or it has been answered */
    struct lk_draft draft;
    struct lk_call call;
    struct lk_reply_context context;
};

/* ---- http_clients.c -------------------------------------------------------------------------- */

void lk_http_clients_begin(struct lk_http_listener *listener,
                           const struct lk_server_options *options, bool is_local);

/* Begin and end accepting connections. */
void lk_http_clients_start_accepting(struct lk_http_clients *clients);
void lk_http_clients_stop_accepting(struct lk_http_clients *clients);
void lk_http_clients_list(const struct lk_http_clients *clients, struct lk_buffer *out);
void lk_http_clients_shorten_timeouts(
    struct lk_http_clients *clients);                      /* shutdown: replies must be read
                                                              * soon */
void lk_http_clients_end(struct lk_http_clients *clients); /* after the last client has closed */

/* At the end of each turn: handles the clients accepted in it and those that were evicted. */
void lk_http_clients_end_turn(struct lk_http_clients *clients);

/* The client of a request; NULL: its connection is about to be closed. */
struct lk_http_client *lk_http_client_of(struct lk_http_listener *listener,
                                         struct evhttp_request *request);

/* Admits the client, as every request but a health check needs; false: the bound is reached. */
bool lk_http_client_admit(struct lk_http_client *client);

/* A wrong password was sent: the refusal is delayed. false: no memory. */
bool lk_http_client_penalize(struct lk_http_client *client, struct evhttp_request *request);

/* The whole request has arrived; its reply is about to be sent. */
void lk_http_client_request_received(struct lk_http_client *client);
void lk_http_client_reply_begun(struct lk_http_client *client, struct evhttp_request *request,
                                size_t body_size);

/* The request was parsed, and its answer may take long: frees its body. */
void lk_http_client_free_request(struct lk_http_client *client, struct evhttp_request *request);

/* The size of the largest request or reply that is buffered; `ends`: closes its connection. */
size_t lk_http_clients_shed(struct lk_http_clients *clients, bool ends);

/* Calls on_gone() once when the request's client has closed or was cut off. */
void lk_http_live_check_begin(struct lk_http_live_check *live_check, struct evhttp_request *request,
                              void (*on_gone)(void *context), void *context);
void lk_http_live_check_end(struct lk_http_live_check *live_check);

/* ---- http_listener.c ------------------------------------------------------------------------- */

/* Makes listener->call for the request, which is answered now or later. */
void lk_http_call(struct lk_http_listener *listener, struct evhttp_request *request);

/* ---- http_request.c -------------------------------------------------------------------------- */

/* The callback of evhttp for every request. */
void lk_http_handle(struct evhttp_request *request, void *listener);

/* ---- http_events.c --------------------------------------------------------------------------- */

/* GET /v1/events. LK_OK: the reply has begun; else an outcome with its message. */
lk_outcome lk_http_events_open(struct lk_http_listener *listener, struct evhttp_request *request,
                               const char *prefix, const char *after, lk_error *error);
void lk_http_stream_closed(struct lk_http_stream *stream); /* its connection closes */
void lk_http_events_begin(struct lk_http_listener *listener, uint32_t request_s);
void lk_http_events_end_turn(struct lk_http_listener *listener);
void lk_http_events_close(struct lk_http_listener *listener);

/* ---- http_reply.c ---------------------------------------------------------------------------- */

/* Fills a reply from the core's reply. */
void lk_http_reply_fill(const struct lk_http_listener *listener,
                        const struct lk_reply_context *context, const struct lk_reply *core_reply,
                        struct lk_http_reply *reply);

/* Sends the reply, and empties it. */
void lk_http_reply_send(struct lk_http_listener *listener, struct evhttp_request *request,
                        struct lk_http_reply *reply);

/* Sends an error about the request itself: a body with the outcome, and a status. */
void lk_http_refuse(struct lk_http_listener *listener, struct evhttp_request *request, int status,
                    lk_outcome outcome, const char *text);

/* 401: the password is wrong or missing. */
void lk_http_refuse_without_password(struct lk_http_listener *listener,
                                     struct evhttp_request *request);

/* Routes about the service itself, answered from LK_CALL_INFO. */
extern const struct lk_command_spec lk_http_metrics;
extern const struct lk_command_spec lk_http_ready;

#endif
