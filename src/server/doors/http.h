/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP door from within, on evhttp. Connections and their bytes are evhttp's; what is here is
 * how many there may be and for how long, who may ask, which command a route is, and when a reply
 * may leave.
 *
 * All requests share one session of the core, told apart by their tags: nothing is bound to a
 * connection of HTTP. A request is either with the core (it blocks), or holds a reply back until
 * its batch is durable, or is gone. One whose client goes meanwhile is withdrawn.
 * Within src/server/doors.
 */
#ifndef LK_SERVER_DOORS_HTTP_H
#define LK_SERVER_DOORS_HTTP_H

#include <event2/event_struct.h>
#include <sys/queue.h>

#include "command/answer.h"
#include "server/doors/listen.h"

struct evhttp;
struct evhttp_bound_socket;
struct evhttp_request;

enum {
    LK_HTTP_BODY_BYTES_MAX = 256 * 1024,
    LK_HTTP_HEADER_BYTES_MAX = 16 * 1024,
    LK_HTTP_REPLY_SECONDS_MAX = 600, /* for a reply to be read */
    LK_HTTP_SURPLUS_MAX = 64,        /* connections beyond the bound, which are told so */
    LK_HTTP_REPLY_BYTES_MAX = 64 * 1024 * 1024,
    LK_HTTP_HOST_BYTES_MAX = 256,
};

/* A reply as it will be sent. */
struct lk_http_reply {
    int status;
    const char *type; /* of the body, static */
    bool is_in_doubt; /* R15 */
    struct lk_buffer body;
};

/* Whether a client has gone of whom nothing is read just now. */
struct lk_http_lookout {
    struct event event;
    int socket;
    void (*hear_gone)(void *context);
    void *context;
};

/* A request that is not answered yet. */
struct lk_http_exchange {
    struct lk_http_door *door;
    struct evhttp_request *request;
    struct lk_http_lookout lookout;
    TAILQ_ENTRY(lk_http_exchange) list;
    uint64_t tag;
    bool is_held; /* answered, and held back for: */
    uint64_t batch;
    struct lk_http_reply reply;
    struct lk_echo *echo; /* not held: of the command that blocks */
};

TAILQ_HEAD(lk_http_exchanges, lk_http_exchange);

TAILQ_HEAD(lk_http_streams, lk_http_stream);
TAILQ_HEAD(lk_http_line, lk_http_client);

/* A connection. */
struct lk_http_client {
    struct lk_http_door *door;
    struct bufferevent *buffers;          /* NULL once it is: */
    struct evhttp_connection *connection; /* met */
    int socket;
    bool is_surplus;               /* one too many: is told so, and no more */
    struct lk_http_line *line;     /* the one it stands in */
    int64_t due_us;                /* in asking and reading: the connection ends */
    struct lk_http_stream *stream; /* the events that it follows; NULL: it does not */
    TAILQ_ENTRY(lk_http_client) list;
};

/* All of them. */
struct lk_http_clients {
    struct lk_http_door *door;
    struct lk_http_line coming;  /* accepted in this turn */
    struct lk_http_line asking;  /* the next request is to come */
    struct lk_http_line reading; /* the reply is on its way */
    struct lk_http_line busy;    /* neither: with the core, held back, or following */
    uint32_t count;
    uint32_t count_max;
    uint32_t request_s;            /* for a request to arrive, and between two requests */
    struct event timer;            /* the first that is due */
    struct event exhausted;        /* nobody can be accepted just now */
    struct event retry;            /* accepting again */
    struct lk_http_client **slots; /* by socket */
    size_t slot_count;
};

struct lk_http_door {
    struct lk_door door;
    struct lk_server *server;
    struct lk_listener listener; /* its path; the socket is evhttp's */
    struct evhttp *http;
    struct evhttp_bound_socket *bound;
    struct lk_session *session;
    struct lk_http_exchanges blocked; /* with the core */
    struct lk_http_exchanges held;    /* answered; in the order of their batches */
    struct lk_http_clients clients;
    struct lk_http_streams streams;
    struct lk_http_streams stirred; /* ... with something to tell, perhaps */
    unsigned stream_count;
    uint64_t last_tag;
    uint64_t durable;
    bool is_checking_host;             /* only who is near can come, so a name may be a lure */
    char host[LK_HTTP_HOST_BYTES_MAX]; /* as --http said it */
    /* Of the call that is being made: */
    struct evhttp_request *calling; /* NULL: none, or it has been answered */
    struct lk_wish wish;
    struct lk_understood understood;
    struct lk_echo echo;
};

/* ---- http_clients.c ---- */

void lk_http_clients_begin(struct lk_http_door *door, uint32_t count_max, uint32_t request_s);

/* Around the time in which new ones are accepted. */
void lk_http_clients_invite(struct lk_http_clients *clients);
void lk_http_clients_uninvite(struct lk_http_clients *clients);
void lk_http_clients_end(struct lk_http_clients *clients); /* when none is left */

/* To be called at the end of turns, for those that came in it. */
void lk_http_clients_meet(struct lk_http_clients *clients);

/* Whose request it is; NULL: the connection is about to be ended. */
struct lk_http_client *lk_http_client_of(struct lk_http_door *door, struct evhttp_request *request);

/* The request is whole; its reply is about to be sent. */
void lk_http_client_asked(struct lk_http_client *client);
void lk_http_client_told(struct lk_http_client *client, struct evhttp_request *request);

/* Calls hear_gone(), once, when the request's client has gone: it closed, or was cut off. */
void lk_http_lookout_begin(struct lk_http_lookout *lookout, struct evhttp_request *request,
                           void (*hear_gone)(void *context), void *context);
void lk_http_lookout_end(struct lk_http_lookout *lookout);

/* ---- http_door.c ---- */

/* Makes the call in door->understood for the request, which is answered now or later. */
void lk_http_call(struct lk_http_door *door, struct evhttp_request *request);

/* ---- http_request.c ---- */

/* What evhttp calls with every request. */
void lk_http_handle(struct evhttp_request *request, void *door);

/* ---- http_events.c ---- */

/* GET /v1/events. LK_OK: the reply has begun; else an outcome with its sentence. */
lk_outcome lk_http_events_open(struct lk_http_door *door, struct evhttp_request *request,
                               const char *prefix, const char *after, lk_error *error);
void lk_http_stream_closed(struct lk_http_stream *stream); /* its connection goes */
void lk_http_events_end_turn(struct lk_http_door *door);
void lk_http_events_close(struct lk_http_door *door);

/* ---- http_reply.c ---- */

/* Fills a reply from what the core says. */
void lk_http_reply_fill(const struct lk_http_door *door, const struct lk_echo *echo,
                        const struct lk_reply *said, struct lk_http_reply *reply);

/* Sends it, and empties it. */
void lk_http_reply_send(struct lk_http_door *door, struct evhttp_request *request,
                        struct lk_http_reply *reply);

/* A failure of the request's own: a body with the outcome, and a status. */
void lk_http_refuse(struct lk_http_door *door, struct evhttp_request *request, int status,
                    lk_outcome outcome, const char *text);

/* Routes that are about the service, answered from LK_CALL_INFO. */
extern const struct lk_command lk_http_metrics;
extern const struct lk_command lk_http_ready;

#endif
