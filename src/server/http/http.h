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
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/hash.h"
#include "command/answer.h"
#include "server/connections/admission.h"
#include "server/connections/handshakes.h"
#include "server/connections/host.h"
#include "server/connections/listen.h"
#include "server/connections/listener.h"
#include "server/connections/logins.h"
#include "server/connections/loop.h"
#include "server/connections/monitor.h"

/* ---- evhttp.c: framing ----------------------------------------------------------------------- */

/*
 * Where the requests of a connection begin and end, read to the letter of RFC 9112, beside evhttp,
 * which is lenient: it takes lines that end in a bare LF, numbers such as `0x21` and ` 21` as sizes
 * of chunks, and a NUL in a header. A proxy in front of the service may read these differently, and
 * then a second request can be smuggled behind the first. Pure; keeps a few bytes of a line.
 */

enum lk_http_framing_state {
    LK_HTTP_AT_START, /* a request line is next, before it empty lines */
    LK_HTTP_AT_HEADERS,
    LK_HTTP_AT_BODY,
    LK_HTTP_AT_CHUNK_SIZE,
    LK_HTTP_AT_CHUNK,
    LK_HTTP_AT_CHUNK_END,
    LK_HTTP_AT_TRAILERS,
};

struct lk_http_framing {
    enum lk_http_framing_state state;
    uint64_t index;  /* of the request that is being read */
    bool is_bad;     /* this request may be read differently; nothing behind is read */
    uint64_t length; /* of its body; UINT64_MAX also stands for any greater one */
    uint64_t left;   /* bytes of the body, or of the chunk */
    bool has_length;
    bool is_chunked;
    bool is_after_cr;
    size_t line_size;
    char line[64]; /* its beginning */
};

/* Zeroed, it is at the start of a connection. `bytes` are the next ones of the connection. */
void lk_http_framing_read(struct lk_http_framing *framing, const char *bytes, size_t size);

/* Whether the request of this index may be read differently, as far as it is known. */
static inline bool lk_http_framing_is_bad(const struct lk_http_framing *framing, uint64_t index) {
    return framing->is_bad && index >= framing->index;
}

struct evbuffer;
struct evbuffer_cb_info;
struct evhttp;
struct evhttp_bound_socket;
struct evhttp_request;
struct evkeyvalq;

enum {
    /* A value for each part of a request (R15), in base64, and all the rest. */
    LK_HTTP_BODY_BYTES_MAX = LK_PARTS_MAX * LK_VALUE_BYTES_MAX * 4 / 3 + 256 * 1024,
    LK_HTTP_HEADER_BYTES_MAX = 16 * 1024,
    LK_HTTP_REPLY_SECONDS_MAX = 600, /* for the client to read a reply */
    LK_HTTP_FAREWELL_SECONDS = 1,    /* ... that says that its request did not arrive in time */
    LK_HTTP_SURPLUS_MAX = 64,        /* connections beyond the bound: each gets an error, or the
                                      * answer of a health check */
    LK_HTTP_REPLY_BYTES_MAX = 64 * 1024 * 1024,
};

/* Statuses that libevent has no names for. */
enum {
    LK_HTTP_TEMPORARY_REDIRECT = 307,
    LK_HTTP_UNAUTHORIZED = 401,
    LK_HTTP_FORBIDDEN = 403,
    LK_HTTP_REQUEST_TIMEOUT = 408,
    LK_HTTP_TOO_LARGE = 413,
    LK_HTTP_UNSUPPORTED_TYPE = 415,
    LK_HTTP_EXPECTATION_FAILED = 417,
    LK_HTTP_TOO_MANY = 429,
};

/* A reply as it will be sent. */
struct lk_http_reply {
    int status;
    const char *type;  /* of the body; static */
    bool is_in_doubt;  /* R15 */
    bool is_elsewhere; /* the client is sent on to the service that leads */
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
    struct lk_hash_entry by_tag; /* not held */
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
    struct lk_handshake handshake; /* its `session` is the connection's TLS; NULL: it is plain */
    struct event ready;            /* ... the socket, while the handshake is under way */
    int socket;
    size_t request_bytes;           /* bytes received of its request, and after it */
    size_t reply_bytes;             /* ... bytes of its reply that have not been read */
    size_t charged;                 /* both, as accounted by the server */
    struct lk_http_framing framing; /* of all bytes received */
    uint64_t handled;               /* requests that evhttp has parsed */
    bool is_told;      /* the reply to the last request was sent before evhttp gives one */
    bool is_replacing; /* a page of evhttp by an error of the listener's form */
    bool is_admitted;  /* counts towards the bound of connections; else it is pending */
    bool has_called;   /* ... and not towards the pace of accepting any more */
    struct lk_pending pending;
    struct lk_login_grant grant;     /* with users: that of the sender */
    struct lk_login login;           /* is pending: */
    struct evhttp_request *waiting;  /* ... this request goes on when it is decided; NULL: none */
    struct lk_http_penalty *penalty; /* after a wrong password; NULL: none */
    struct lk_http_late_reply *late_reply; /* to a malformed request; NULL: none */
    struct lk_http_client_list *in_list;   /* the list that it is in */
    int64_t due_us;                /* when `reading` or `writing`: the connection is closed then */
    struct lk_http_stream *stream; /* the events that it follows; NULL: none */
    TAILQ_ENTRY(lk_http_client) list;
};

/* All of them. */
struct lk_http_clients {
    struct lk_http_listener *listener;
    struct lk_http_client_list accepted; /* accepted in this turn */
    struct lk_http_client_list shaking;  /* TLS: their handshake is awaited */
    struct lk_http_client_list reading;  /* their next request is awaited */
    struct lk_http_client_list writing;  /* their reply is being sent */
    struct lk_http_client_list busy;     /* neither: with the core, held back, or following */
    struct lk_http_client_list closing;  /* evicted: closed at the end of the turn */
    uint32_t count;                      /* of all clients */
    uint32_t arrived;                    /* accepted in this turn */
    uint32_t admitted;                   /* ... of those that are admitted */
    uint32_t admitted_max;
    struct lk_admission admission; /* the others: not authenticated, or beyond the bound */
    bool has_password;
    bool has_strangers;      /* clients are pending until they have authenticated, or over TLS until
                              * their handshake is done; else only those beyond the bound are */
    uint32_t request_s;      /* for a request to arrive, and between two requests */
    bool is_local;           /* on a Unix socket */
    struct event timer;      /* for the first client that is overdue, */
    int64_t armed_us;        /* ... at this time */
    struct event exhausted;  /* no connection can be accepted now */
    struct event retry;      /* accepts again */
    bool is_resting;         /* as the service's pace requires, */
    struct lk_moment rested; /* ... until then */
    struct lk_http_client **slots; /* by socket number */
    size_t slot_count;
};

struct lk_http_listener {
    struct lk_listener base;
    struct lk_server *server;
    struct lk_listen_socket listen_socket; /* its path; evhttp owns the socket */
    struct evhttp *http;
    struct evhttp_bound_socket *bound;
    struct lk_handshakes handshakes;
    struct lk_session *session;
    struct lk_http_exchanges blocked; /* the core has them */
    struct lk_hash_table blocked_by_tag;
    struct lk_http_exchanges held; /* answered; in the order of their batches */
    struct lk_http_clients clients;
    struct lk_http_streams streams;
    struct lk_http_streams ready; /* ... those that may have events to send */
    unsigned stream_count;
    struct event heartbeat; /* of streams */
    uint64_t last_tag;
    uint64_t durable;
    const struct lk_user *user; /* of the request that is handled now; NULL: none, or no users */
    bool is_checking_host;      /* against DNS rebinding, where there is no password */
    struct lk_http_grab *grab;  /* http/grab/grab.h; NULL: /grab/ is not served */
    /* Of the current call: */
    struct evhttp_request *calling; /* NULL: there is no current call, or it has been answered */
    struct lk_draft draft;
    struct lk_call call;
    struct lk_reply_context context;
};

/* ---- clients.c ------------------------------------------------------------------------------- */

void lk_http_clients_begin(struct lk_http_listener *listener,
                           const struct lk_server_options *options, bool is_local);

/* Begin and end accepting connections. */
void lk_http_clients_take_bounds(struct lk_http_clients *clients,
                                 const struct lk_server_options *options);
void lk_http_clients_list(const struct lk_http_clients *clients, const struct lk_user *user,
                          struct lk_buffer *out);

/* Shutdown: replies must be read soon. */
void lk_http_clients_shorten_timeouts(struct lk_http_clients *clients);
void lk_http_clients_end(struct lk_http_clients *clients); /* after the last client has closed */

/* At the end of each turn: handles the clients accepted in it and those that were evicted. */
void lk_http_clients_end_turn(struct lk_http_clients *clients);

/* The client of a request; NULL: its connection is about to be closed. */
struct lk_http_client *lk_http_client_of(struct lk_http_listener *listener,
                                         struct evhttp_request *request);

/* Its last reply is being sent: the connection closes soon, read or not. */
void lk_http_client_bid_farewell(struct lk_http_client *client);

/* Admits the client, as every request but a health check needs; false: the bound is reached. */
bool lk_http_client_admit(struct lk_http_client *client);

/* The whole request has arrived, or is refused before; its reply is about to be sent. */
void lk_http_client_request_received(struct lk_http_client *client);
void lk_http_client_reply_begun(struct lk_http_client *client, struct evhttp_request *request,
                                size_t body_size);

/* The request was parsed, and its answer may take long: frees its body. */
void lk_http_client_free_request(struct lk_http_client *client, struct evhttp_request *request);

/* The size of the largest request or reply that is buffered; `ends`: closes its connection. */
size_t lk_http_clients_shed(struct lk_http_clients *clients, bool ends);

/* ---- accepting (accept.c) -------------------------------------------------------------------- */

void lk_http_clients_start_accepting(struct lk_http_clients *clients);
void lk_http_clients_stop_accepting(struct lk_http_clients *clients);
void lk_http_accept_again(struct lk_http_clients *clients); /* unless there is no room, or a rest */

/* The maximum number of connections, pending connections included. */
uint32_t lk_http_clients_max(const struct lk_http_clients *clients);
struct evconnlistener *
lk_http_evlistener(const struct lk_http_listener *listener); /* may be NULL */

/* The TLS handshake is done: the client's request is awaited. */
void lk_http_client_greet(struct lk_http_client *client);

/* Closes the client's connection at the end of the turn. */
void lk_http_client_end(struct lk_http_client *client);

/* ---- login.c: penalties ---------------------------------------------------------------------- */

/* A wrong password was sent: the refusal is delayed. false: no memory. */
bool lk_http_client_penalize(struct lk_http_client *client, struct evhttp_request *request);

/*
 * A malformed request was sent, and this is the reply: holds it back if its sender has not
 * authenticated and has sent several. false: the reply is to be sent now. true: nothing more is
 * read, and the reply belongs to the client.
 */
bool lk_http_client_hold(struct lk_http_client *client, struct lk_buffer *reply);

/* The client has closed: the refusal that it may await is not sent. */
void lk_http_penalty_client_closed(struct lk_http_client *client);

/* ---- accept.c: TLS --------------------------------------------------------------------------- */

/* libevent's part of TLS, loaded when it is used. LK_OK, or LK_UNSUPPORTED. */
lk_outcome lk_http_tls_load(lk_error *error);

/* The buffers of a new client with TLS. NULL: no memory. */
struct bufferevent *lk_http_tls_begin(struct lk_http_client *client);

/* Begins the handshake, once the socket is known. */
void lk_http_tls_await(struct lk_http_client *client);

/* The connection closes. No effect on a client without TLS. */
void lk_http_tls_end(struct lk_http_client *client);

/* ---- listener.c ------------------------------------------------------------------------------ */

/* Calls on_gone() once when the request's client has closed or was cut off. */
void lk_http_live_check_begin(struct lk_http_live_check *live_check, struct evhttp_request *request,
                              void (*on_gone)(void *context), void *context);
void lk_http_live_check_end(struct lk_http_live_check *live_check);

/* Counts and logs why a connection is refused something, or closed; and, for debugging, both. */
void lk_http_refused(struct lk_http_listener *listener, int socket, enum lk_refusal why);
void lk_http_trace(const struct lk_http_listener *listener, int socket, const char *what);

/* Makes listener->call for the request, which is answered now or later. */
void lk_http_call(struct lk_http_listener *listener, struct evhttp_request *request);

/* ---- evhttp.c: errors ------------------------------------------------------------------------ */

/* A callback of the buffer of what is to be sent to a client: errors of evhttp become JSON. */
void lk_http_errors_on_output(struct evbuffer *output, const struct evbuffer_cb_info *info,
                              void *client);

/*
 * The request of the client has not arrived in time: sends a 408, and takes no more input. The
 * caller closes the connection soon, at once if false is returned: nothing was sent.
 */
bool lk_http_errors_time_out(struct lk_http_client *client);

/*
 * The request that is being received announces a body that is too large: sends a 413 now. evhttp,
 * which would first await that body, still takes it, for a client that reads the reply behind it.
 */
void lk_http_errors_tell_too_large(struct lk_http_client *client);

/* ---- request.c ------------------------------------------------------------------------------- */

/* The callback of evhttp for every request. */
void lk_http_handle(struct evhttp_request *request, void *listener);

/* The same once its client is known: admits the client, and runs its route. */
void lk_http_run(struct lk_http_listener *listener, struct evhttp_request *request,
                 struct lk_http_client *client);

/*
 * Reads the fields of the query into the draft, which borrows their texts: *ret_fields, which is
 * empty before, is cleared by evhttp_clear_headers(). LK_INVALID: the command has no such field.
 */
lk_outcome lk_http_read_query(struct lk_draft *draft, struct evhttp_request *request,
                              struct evkeyvalq *ret_fields, lk_error *error);

/*
 * Health checks are answered even when the service is full: a supervisor would restart a service
 * that does not answer.
 */
bool lk_http_is_health_check(const char *path);
const char *lk_http_path(struct evhttp_request *request); /* NULL: it has none */

/* ---- login.c --------------------------------------------------------------------------------- */

/*
 * Whether the request may go on: no login is wanted, or it has one, whose user is listener->user
 * then. Else it was answered, or goes on later.
 */
bool lk_http_authenticate(struct lk_http_listener *listener, struct evhttp_request *request,
                          struct lk_http_client *client);

/* The client closes: its login is not decided any more. */
void lk_http_end_login(struct lk_http_client *client);

/* ---- events.c -------------------------------------------------------------------------------- */

/* GET /v1/events. LK_OK: the reply has begun; else an outcome with its message. */
lk_outcome lk_http_events_open(struct lk_http_listener *listener, struct evhttp_request *request,
                               const struct lk_selection *selection, lk_error *error);
void lk_http_stream_closed(struct lk_http_stream *stream); /* its connection closes */
void lk_http_events_begin(struct lk_http_listener *listener, uint32_t request_s);
void lk_http_events_end_turn(struct lk_http_listener *listener);
void lk_http_events_close(struct lk_http_listener *listener);

/* Ends the streams of users that are not there any more. */
void lk_http_events_check_grants(struct lk_http_listener *listener);

/* ---- reply.c --------------------------------------------------------------------------------- */

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

/* 307: the request is for the service that leads; `false`: none is known that has HTTP. */
bool lk_http_move(struct lk_http_listener *listener, struct evhttp_request *request);

/* 401: the password is wrong or missing. */
void lk_http_refuse_without_password(struct lk_http_listener *listener,
                                     struct evhttp_request *request);

/* Routes about the service itself, answered from LK_CALL_INFO. */
extern const struct lk_command_spec lk_http_metrics;
extern const struct lk_command_spec lk_http_open_metrics;
extern const struct lk_command_spec lk_http_ready;

/* ---- metrics.c ------------------------------------------------------------------------------- */

/* GET /metrics: what the service does, for a monitoring system. */

#define LK_HTTP_METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define LK_HTTP_OPEN_METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Whether a client with this header Accept (NULL: none) prefers OpenMetrics to other text. */
bool lk_http_prefers_open_metrics(const char *accept);

/*
 * Fills the reply. It takes a time that does not depend on how much is kept, and its size has a
 * bound: labels are few fixed words, and at most LK_CONTENDED_ROWS_MAX roots.
 */
void lk_http_metrics_fill(const struct lk_http_listener *listener,
                          const struct lk_reply *core_reply, bool is_open_metrics,
                          struct lk_http_reply *reply);

#endif
