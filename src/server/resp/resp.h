/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The RESP listener's internals: connections on plain events of libevent, with bounded buffers of
 * their own. Within src/server.
 *
 * A turn: each readable socket is read into the listener's one buffer, and its requests are parsed.
 * Commands go to the core, whose answers are collected in the connection's reply buffer. At the end
 * of the turn each connection with bytes to send writes once. Connections are freed there, and
 * nowhere else.
 *
 * Order: one command of a connection is with the core at a time. While it blocks, no later command
 * is taken.
 */
#ifndef LK_SERVER_RESP_RESP_H
#define LK_SERVER_RESP_RESP_H

#include <event2/event_struct.h>
#include <sys/queue.h>

#include "command/answer.h"
#include "server/admission.h"
#include "server/listen.h"
#include "server/reply_buffer.h"
#include "wire/resp.h"

enum {
    LK_RESP_INPUT_BYTES = 64 * 1024,             /* read at a time */
    LK_RESP_REQUEST_BYTES_MAX = 256 * 1024,      /* of one request */
    LK_RESP_STRANGER_BYTES_MAX = 512,            /* ... before authentication */
    LK_RESP_STRANGER_COMMANDS_MAX = 16,          /* ... and so many commands */
    LK_RESP_OUTPUT_PAUSE_BYTES = 1024 * 1024,    /* unsent answers at which no more input is
                                                  * taken */
    LK_RESP_OUTPUT_BYTES_MAX = 64 * 1024 * 1024, /* ... and a further answer becomes -FULL */
    LK_RESP_NAME_BYTES_MAX = 64,
};

struct lk_resp_connection {
    struct lk_resp_listener *listener;
    struct lk_session *session;
    int socket;
    struct event readable;
    struct event writable;
    struct event penalty; /* a wrong password was sent; it is answered when this timer fires */
    struct lk_pending pending;
    TAILQ_ENTRY(lk_resp_connection) all;
    TAILQ_ENTRY(lk_resp_connection) ready;
    struct lk_buffer input; /* read and not yet parsed */
    size_t needed;          /* bytes of input without which parsing would make no progress */
    struct lk_reply_buffer replies;
    size_t charged; /* bytes that it buffers, as accounted by the server */
    SLIST_HEAD(, lk_resp_watch) watches;
    unsigned watch_count;
    struct lk_reply_context *blocked; /* of the command that blocks; NULL: none */
    int64_t begun_us;                 /* when the incomplete request began; 0: there is none */
    int version;                      /* of RESP, 2 or 3 */
    unsigned commands;                /* taken before authentication */
    bool is_authenticated;            /* authenticated, or no password is required */
    bool is_admitted;                 /* counts towards the bound of connections */
    bool is_penalized;                /* `penalty` is pending: nothing is read, executed or sent */
    bool is_ready;    /* in the list of connections to handle at the end of the turn */
    bool is_reading;  /* `readable` is pending */
    bool is_writing;  /* `writable` is pending */
    bool is_calling;  /* within lk_core_call() */
    bool is_answered; /* ... which has answered */
    bool is_whole;    /* a request was completed since `begun_us` was checked */
    bool is_ending;   /* takes no more input; closed when every answer is sent */
    bool is_dead;     /* closed at once */
    char name[LK_RESP_NAME_BYTES_MAX + 1];
};

TAILQ_HEAD(lk_resp_connections, lk_resp_connection);

struct lk_resp_listener {
    struct lk_listener base;
    struct lk_server *server;
    struct lk_listen_socket listen_socket;
    struct event acceptable;
    struct event retry; /* accepts again, after no more files could be opened */
    struct lk_resp_connections all;
    struct lk_resp_connections ready;
    uint32_t count; /* admitted connections */
    uint32_t count_max;
    struct lk_admission admission; /* the others: not authenticated yet */
    uint32_t request_s;            /* from a request's first byte to its last, at most */
    bool has_backpressure;
    bool is_stopping;
    /* One of each is enough: a call that blocks keeps a copy. */
    struct lk_resp_request request;
    struct lk_draft draft;
    struct lk_call call;
    struct lk_reply_context context;
    char input[LK_RESP_INPUT_BYTES];
};

/* ---- resp_connection.c ----------------------------------------------------------------------- */

/* Takes ownership of the socket. false: there is no room for it, or no memory. */
bool lk_resp_connection_open(struct lk_resp_listener *listener, int socket);

/* Admits a client that has authenticated. false: the bound of connections is reached. */
bool lk_resp_connection_admit(struct lk_resp_connection *connection);

/* A wrong password was sent: the connection pauses for a while. */
void lk_resp_connection_penalize(struct lk_resp_connection *connection);
void lk_resp_connection_end_penalty(struct lk_resp_connection *connection);

/* Shutdown: answers must be read soon. */
void lk_resp_connection_shorten_timeout(struct lk_resp_connection *connection);

/* The callback that closes an evicted connection. */
void lk_resp_connection_evict(struct lk_pending *pending);

/* Handles the connection again at the end of the turn. */
void lk_resp_connection_schedule(struct lk_resp_connection *connection);

/* Returns whether the connection has made further calls: the end of the turn is then run again. */
bool lk_resp_connection_end_turn(struct lk_resp_connection *connection);

/* Closes it, outside of turns. */
void lk_resp_connection_close(struct lk_resp_connection *connection);

/* Accounts for a change of what it buffers. */
void lk_resp_connection_charge(struct lk_resp_connection *connection);

/* Starts or stops reading, depending on the connection's state. */
void lk_resp_connection_update(struct lk_resp_connection *connection);

/* ---- resp_command.c -------------------------------------------------------------------------- */

/* Executes one request, its arguments in listener->request. At least one. */
void lk_resp_execute(struct lk_resp_connection *connection);

extern const struct lk_session_ops lk_resp_session_ops;

/* Ends an answer that lk_reply_buffer_begin() began: whole, or -FULL in its place. */
void lk_resp_end_answer(struct lk_resp_connection *connection, uint64_t batch);

/* ---- resp_talk.c ----------------------------------------------------------------------------- */

/*
 * The commands about the connection itself. false: there is none of this name. They write to the
 * reply buffer between its begin and end.
 */
bool lk_resp_talk(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                  size_t count);

/*
 * In RESP 2 an event looks like an answer, so a client that awaits an answer would mistake it for
 * one. A connection of version 2 that watches therefore takes only the commands that Redis allows
 * there.
 */
bool lk_resp_is_barred(const struct lk_resp_connection *connection, struct lk_slice name);

/* A line of CLIENT LIST. */
void lk_resp_describe(const struct lk_resp_connection *connection, struct lk_buffer *list);

/* Writes the answer to LK_CALL_INFO. */
void lk_resp_write_info(struct lk_resp_connection *connection, const struct lk_reply *reply);
extern const struct lk_command_spec lk_resp_info;

void lk_resp_refuse(struct lk_resp_connection *connection, const char *word, const char *text);

/* ---- resp_watch.c ---------------------------------------------------------------------------- */

/* WATCH and its arguments: LK_OK, to be answered with OK, or an outcome with its message. */
lk_outcome lk_resp_watch(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                         size_t count, lk_error *error);
void lk_resp_unwatch(struct lk_resp_connection *connection);

/* How events were subscribed to, which decides their form. */
enum lk_resp_watch_kind { LK_RESP_WATCH, LK_RESP_SUBSCRIBE, LK_RESP_PSUBSCRIBE };

/* Watches the channels or patterns, and confirms each; or an outcome with its message. */
lk_outcome lk_resp_subscribe(struct lk_resp_connection *connection, enum lk_resp_watch_kind kind,
                             const struct lk_slice *channels, size_t count, lk_error *error);

/* Ends the named subscriptions, or all of the kind, and confirms each. */
void lk_resp_unsubscribe(struct lk_resp_connection *connection, enum lk_resp_watch_kind kind,
                         const struct lk_slice *channels, size_t count);

/* Ends every WATCH and every subscription, without an answer. */
void lk_resp_unwatch_all(struct lk_resp_connection *connection);

/* Writes pending events, as far as there is room for them. */
void lk_resp_write_events(struct lk_resp_connection *connection);

/* ---- resp_introspect.c ----------------------------------------------------------------------- */

/* COMMAND and its subcommands. */
void lk_resp_introspect(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                        size_t count);

/*
 * The commands of resp_talk.c, with their arity as Redis counts it; the last entry is followed by
 * NULL.
 */
struct lk_resp_word {
    const char *name;
    int arity;
    const char *summary;
};
extern const struct lk_resp_word lk_resp_words[];

#endif
