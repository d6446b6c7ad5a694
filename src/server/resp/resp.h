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

#include "base/buffer.h"
#include "command/answer.h"
#include "server/connections/admission.h"
#include "server/connections/copies.h"
#include "server/connections/handshakes.h"
#include "server/connections/host.h"
#include "server/connections/listen.h"
#include "server/connections/listener.h"
#include "server/connections/logins.h"
#include "server/connections/loop.h"
#include "server/connections/monitor.h"
#include "wire/resp.h"

/* ---- reply_buffer.c -------------------------------------------------------------------------- */

/*
 * The answers and notices of a session, in order, and how many of them may leave. An answer leaves
 * after the batch that it depends on is durable, and after every answer before it.
 */

/* An answer or notice that is held back. */
struct lk_reply_mark {
    uint64_t batch;
    size_t end; /* in bytes */
    bool is_answer;
};

/* Zeroed but for the bound of its bytes, it is empty; freed by lk_reply_buffer_done(). */
struct lk_reply_buffer {
    struct lk_buffer
        bytes;        /* written to between lk_reply_buffer_begin() and lk_reply_buffer_end() */
    size_t sendable;  /* this many bytes may leave */
    size_t sent;      /* ... and this many of them have been sent */
    uint64_t durable; /* the last batch that is durable */
    struct lk_reply_mark *marks; /* `count` from `first` on, in order */
    size_t first;
    size_t count;
    size_t capacity;
    size_t answer_begin;
};

void lk_reply_buffer_done(struct lk_reply_buffer *buffer);

/*
 * Called before and after an answer or notice is written to buffer->bytes. Bytes that exceed the
 * bound are cut off where the answer began, so only whole answers leave. lk_reply_buffer_fits()
 * says whether it fits, and makes room for a smaller answer in its place.
 */
void lk_reply_buffer_begin(struct lk_reply_buffer *buffer);
bool lk_reply_buffer_fits(struct lk_reply_buffer *buffer);
void lk_reply_buffer_end(struct lk_reply_buffer *buffer, uint64_t batch, bool is_answer);

/* Every answer that depends on this batch, or an earlier one, may leave. */
void lk_reply_buffer_release(struct lk_reply_buffer *buffer, uint64_t batch);

/* Voids what is held back: each answer becomes `instead`, notices are dropped. */
void lk_reply_buffer_void(struct lk_reply_buffer *buffer, struct lk_slice instead);

/*
 * The bytes that may leave now, valid until the buffer changes; and reports that so many were sent.
 */
struct lk_slice lk_reply_buffer_sendable(const struct lk_reply_buffer *buffer);
void lk_reply_buffer_consume(struct lk_reply_buffer *buffer, size_t size);

enum {
    LK_RESP_INPUT_BYTES = 64 * 1024, /* read at a time */
    /* Of one request: a value for each of its parts (R15), and all the rest. */
    LK_RESP_REQUEST_BYTES_MAX = LK_PARTS_MAX * LK_VALUE_BYTES_MAX + 256 * 1024,
    LK_RESP_STRANGER_BYTES_MAX = 512,            /* ... before authentication */
    LK_RESP_STRANGER_COMMANDS_MAX = 16,          /* ... and so many commands */
    LK_RESP_OUTPUT_PAUSE_BYTES = 1024 * 1024,    /* unsent answers at which no more input is
                                                  * taken */
    LK_RESP_OUTPUT_BYTES_MAX = 64 * 1024 * 1024, /* ... and a further answer becomes -FULL */
    LK_RESP_NAME_BYTES_MAX = 64,
};

/* What AUTH or HELLO still has to do once its user is known. */
struct lk_resp_greeting {
    int version; /* of HELLO; 0: it is AUTH */
    bool has_name;
    char name[LK_RESP_NAME_BYTES_MAX + 1];
};

struct lk_resp_connection {
    struct lk_resp_listener *listener;
    struct lk_session *session;
    int socket;
    struct event readable;
    struct event writable;
    struct event penalty; /* for an offence, which is answered when this timer fires */
    struct lk_pending pending;
    struct lk_handshake handshake; /* its `session` is the connection's TLS; NULL: it is plain */
    struct lk_login_grant grant;   /* with users: whose connection it is */
    struct lk_login login;         /* is pending: nothing is read or executed */
    struct lk_resp_greeting greeting;
    struct lk_copy copy; /* of BACKUP; is pending: nothing is executed */
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
    bool has_called;                  /* ... and not towards the pace of accepting any more */
    bool is_penalized;                /* `penalty` is pending: nothing is read, executed or sent */
    bool is_ready;    /* in the list of connections to handle at the end of the turn */
    bool is_reading;  /* `readable` is pending */
    bool is_writing;  /* `writable` is pending */
    bool is_stalled;  /* TLS: reads only after it has written */
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
    struct event retry;      /* accepts again, after no more files could be opened */
    struct lk_moment rested; /* accepts again, after a rest that the service's pace requires */
    struct lk_resp_connections all;
    struct lk_resp_connections ready;
    uint32_t count; /* admitted connections */
    uint32_t count_max;
    struct lk_admission admission; /* the others: not authenticated yet */
    struct lk_handshakes handshakes;
    uint32_t request_s; /* from a request's first byte to its last, at most */
    bool has_backpressure;
    bool is_stopping;
    /* One of each is enough: a call that blocks keeps a copy. */
    struct lk_resp_request request;
    struct lk_draft draft;
    struct lk_call call;
    struct lk_reply_context context;
    char input[LK_RESP_INPUT_BYTES];
};

/* ---- connection.c ---------------------------------------------------------------------------- */

/* Takes ownership of the socket. false: there is no room for it, or no memory. */
bool lk_resp_connection_open(struct lk_resp_listener *listener, int socket);

/* Admits a client that has authenticated. false: the bound of connections is reached. */
bool lk_resp_connection_admit(struct lk_resp_connection *connection);

/* Counts and logs why the connection is refused something, or closed. */
void lk_resp_connection_refused(const struct lk_resp_connection *connection, enum lk_refusal why);

/* The answer to an offence is held back, and the connection pauses until then. */
void lk_resp_connection_penalize(struct lk_resp_connection *connection, enum lk_offence offence);
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

/* Accounts for a change of its buffered bytes. */
void lk_resp_connection_charge(struct lk_resp_connection *connection);

/* Starts or stops reading, depending on the connection's state. */
void lk_resp_connection_update(struct lk_resp_connection *connection);

/* Opens its session, once it may send commands. */
void lk_resp_connection_begin_session(struct lk_resp_connection *connection);

/* Its only answer is an error, and then it ends. */
void lk_resp_connection_refuse(struct lk_resp_connection *connection, const char *word,
                               const char *why);

/* ---- tls.c ----------------------------------------------------------------------------------- */

/* If the listener has TLS: the handshake is awaited. false: no memory. */
bool lk_resp_tls_begin(struct lk_resp_connection *connection);

/* The socket is ready during the handshake. */
void lk_resp_tls_shake(struct lk_resp_connection *connection);

/* As recv() and send(); EAGAIN may also mean that the other direction is awaited (`is_stalled`). */
ssize_t lk_resp_tls_receive(struct lk_resp_connection *connection, void *bytes, size_t size);
ssize_t lk_resp_tls_send(struct lk_resp_connection *connection, struct lk_slice bytes);

/* The socket is writable: goes on with what could only be read after something was written. */
void lk_resp_tls_end_stall(struct lk_resp_connection *connection);

/* Reads what has left the socket, in the next turn, if there is any. */
void lk_resp_tls_read_on(struct lk_resp_connection *connection);

/* ---- command.c ------------------------------------------------------------------------------- */

/* Executes one request, its arguments in listener->request. At least one. */
void lk_resp_execute(struct lk_resp_connection *connection);

extern const struct lk_session_ops lk_resp_session_ops;

/* Ends an answer that lk_reply_buffer_begin() began: whole, or -FULL in its place. */
void lk_resp_end_answer(struct lk_resp_connection *connection, uint64_t batch);

/* The blocked command is not answered, and what it queued is withdrawn. */
void lk_resp_cancel(struct lk_resp_connection *connection, const struct lk_times *times);

/* ---- login.c --------------------------------------------------------------------------------- */

/* The certificate that the client has shown names a user: sets the grant to that of the user. */
bool lk_resp_log_in_by_certificate(struct lk_resp_connection *connection);

bool lk_resp_set_name(struct lk_resp_connection *connection, struct lk_slice name);

/* Whether the user of the connection, if there are users, is still there. */
bool lk_resp_is_granted(struct lk_resp_connection *connection);

/* Tells the client that it is not, and ends the connection. */
void lk_resp_end_grant(struct lk_resp_connection *connection);

/* The users may have changed: ends what is not allowed any more. */
void lk_resp_check_grant(struct lk_resp_connection *connection);

/* ---- connection_commands.c ------------------------------------------------------------------- */

/*
 * Runs a command about the connection itself, which writes to the reply buffer between its begin
 * and end. false: there is none of this name.
 */
bool lk_resp_run_connection_command(struct lk_resp_connection *connection,
                                    const struct lk_slice *arguments, size_t count);

/*
 * In RESP 2 an event looks like an answer, so a client that awaits an answer would mistake it for
 * one. A connection of version 2 that watches therefore takes only the commands that Redis allows
 * there.
 */
bool lk_resp_is_denied_while_watching(const struct lk_resp_connection *connection,
                                      struct lk_slice name);

/* A line of CLIENT LIST. */
void lk_resp_describe(const struct lk_resp_connection *connection, struct lk_buffer *list);

/* Writes the answer to LK_CALL_INFO. */
void lk_resp_write_info(struct lk_resp_connection *connection, const struct lk_reply *reply);
extern const struct lk_command_spec lk_resp_info;

/* Writes an error to the reply buffer, between its begin and end: `-WORD text`. */
void lk_resp_refuse(struct lk_resp_connection *connection, const char *word, const char *format,
                    ...) __attribute__((format(printf, 3, 4)));

/* The same, naming the service that leads: `-MOVED 0 HOST:PORT`. */
void lk_resp_move(struct lk_resp_connection *connection, const char *leader);

/* ---- backup.c -------------------------------------------------------------------------------- */

/* Shutdown: a BACKUP that is under way is answered UNAVAILABLE. */
void lk_resp_backup_stop(struct lk_resp_connection *connection);

/* ---- watch.c --------------------------------------------------------------------------------- */

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

/* ---- introspect.c ---------------------------------------------------------------------------- */

/* COMMAND and its subcommands. */
void lk_resp_introspect(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                        size_t count);

typedef void lk_resp_handler(struct lk_resp_connection *connection,
                             const struct lk_slice *arguments, size_t count);

lk_resp_handler lk_resp_auth; /* login.c */
lk_resp_handler lk_resp_hello;
lk_resp_handler lk_resp_acl;
lk_resp_handler lk_resp_backup; /* backup.c */

/* The commands of connection_commands.c; the name of the last entry is NULL. */
struct lk_resp_connection_command {
    const char *name;
    int arity; /* as Redis counts: with the name; negative: at least so many */
    const char *summary;
    lk_resp_handler *run; /* NULL: INFO, which the core answers */
    bool is_before_auth;  /* allowed before authentication */
    bool is_for_watching; /* allowed in version 2 while the connection watches */
    enum lk_right right;  /* that a user needs */
};
extern const struct lk_resp_connection_command lk_resp_connection_commands[];

#endif
