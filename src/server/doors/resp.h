/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The RESP door from within: connections on bare events of libevent, with bounded buffers of their
 * own. Within src/server/doors.
 *
 * A turn: what is readable is read into the door's one buffer and taken apart; commands go to the
 * core, whose answers are collected in the connection's outbox; at the end of the turn each
 * connection with something to tell writes once. A connection is freed there, and nowhere else.
 *
 * Order: one command of a connection is with the core at a time. While it blocks, nothing behind it
 * is taken up.
 */
#ifndef LK_SERVER_DOORS_RESP_H
#define LK_SERVER_DOORS_RESP_H

#include <event2/event_struct.h>
#include <sys/queue.h>

#include "command/answer.h"
#include "server/doors/listen.h"
#include "server/doors/outbox.h"
#include "wire/resp.h"

enum {
    LK_RESP_INPUT_BYTES = 64 * 1024,             /* read at a time */
    LK_RESP_REQUEST_BYTES_MAX = 256 * 1024,      /* of one request */
    LK_RESP_STRANGER_BYTES_MAX = 512,            /* ... before a password was said */
    LK_RESP_STRANGER_COMMANDS_MAX = 16,          /* ... and so many of them */
    LK_RESP_OUTPUT_PAUSE_BYTES = 1024 * 1024,    /* untold answers at which nothing more is taken */
    LK_RESP_OUTPUT_BYTES_MAX = 64 * 1024 * 1024, /* ... at which the connection ends */
    LK_RESP_NAME_BYTES_MAX = 64,
};

struct lk_resp_connection {
    struct lk_resp_door *door;
    struct lk_session *session;
    int socket;
    struct event readable;
    struct event writable;
    TAILQ_ENTRY(lk_resp_connection) all;
    TAILQ_ENTRY(lk_resp_connection) stirred;
    struct lk_buffer input; /* what was read and not yet taken up */
    size_t needed;          /* bytes of input with which it is worth another look */
    struct lk_outbox outbox;
    SLIST_HEAD(, lk_resp_watch) watches;
    unsigned watch_count;
    struct lk_echo *blocked; /* of the command that blocks; NULL: none does */
    int64_t begun_us;        /* when the request began that is not whole yet; 0: there is none */
    int version;             /* of the protocol, 2 or 3 */
    unsigned commands;       /* taken up before a password was said */
    bool is_known;           /* a password was said, or none is asked for */
    bool is_stirred;         /* in the list of those to be looked at */
    bool is_reading;         /* `readable` is pending */
    bool is_writing;         /* `writable` is pending */
    bool is_calling;         /* within lk_core_call() */
    bool is_answered;        /* ... which has answered */
    bool is_whole;           /* a request has become so since `begun_us` was looked at */
    bool is_ending;          /* takes up nothing more; ends when all is told */
    bool is_dead;            /* ends at once */
    char name[LK_RESP_NAME_BYTES_MAX + 1];
};

TAILQ_HEAD(lk_resp_connections, lk_resp_connection);

struct lk_resp_door {
    struct lk_door door;
    struct lk_server *server;
    struct lk_listener listener;
    struct event acceptable;
    struct event retry; /* accepting again, after files had run out */
    struct lk_resp_connections all;
    struct lk_resp_connections stirred;
    uint32_t count;
    uint32_t count_max;
    uint32_t request_s; /* from a request's first byte to its last, at most */
    bool is_choked;
    bool is_stopping;
    /* One of each is enough: what blocks keeps a copy. */
    struct lk_resp_request request;
    struct lk_wish wish;
    struct lk_understood understood;
    struct lk_echo echo;
    char input[LK_RESP_INPUT_BYTES];
};

/* ---- resp_connection.c ---- */

/* Takes over the socket. */
void lk_resp_connection_open(struct lk_resp_door *door, int socket);

/* It is looked at again at the end of the turn. */
void lk_resp_connection_stir(struct lk_resp_connection *connection);

/* Whether it was heard that there is more for the core: the end of a turn comes once more. */
bool lk_resp_connection_end_turn(struct lk_resp_connection *connection);

/* Reads, or not, as things stand. */
void lk_resp_connection_update(struct lk_resp_connection *connection);

/* ---- resp_command.c ---- */

/* One request, its arguments in door->request. At least one. */
void lk_resp_execute(struct lk_resp_connection *connection);

extern const struct lk_session_ops lk_resp_session_ops;

/* ---- resp_talk.c ---- */

/*
 * The commands about the connection itself. false: there is none of this name. They write to the
 * outbox between its begin and end.
 */
bool lk_resp_talk(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                  size_t count);

/* The answer to LK_CALL_INFO. */
void lk_resp_write_info(struct lk_resp_connection *connection, const struct lk_reply *reply);
extern const struct lk_command lk_resp_info;

void lk_resp_refuse(struct lk_resp_connection *connection, const char *word, const char *text);

/* ---- resp_watch.c ---- */

/* WATCH and its arguments: LK_OK, to be answered with OK, or an outcome with its sentence. */
lk_outcome lk_resp_watch(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                         size_t count, lk_error *error);
void lk_resp_unwatch(struct lk_resp_connection *connection);

/* Writes what has happened, as far as there is room for it. */
void lk_resp_tell_events(struct lk_resp_connection *connection);

/* ---- resp_introspect.c ---- */

/* COMMAND and its subcommands. */
void lk_resp_introspect(struct lk_resp_connection *connection, const struct lk_slice *arguments,
                        size_t count);

/* The commands of resp_talk.c, with their arity as Redis counts it; NULL behind the last. */
struct lk_resp_word {
    const char *name;
    int arity;
    const char *summary;
};
extern const struct lk_resp_word lk_resp_words[];

#endif
