/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that are refused, or closed to make room: counted, and logged with the reason. */
#ifndef LK_SERVER_CONNECTIONS_REFUSAL_H
#define LK_SERVER_CONNECTIONS_REFUSAL_H

struct lk_listen_socket; /* server/connections/listen.h */
struct lk_listener;
struct lk_server;

enum lk_refusal {
    LK_REFUSED_FULL,     /* the bound of connections, or of pending ones, or memory */
    LK_REFUSED_EVICTED,  /* a pending connection was closed for a newer one */
    LK_REFUSED_PASSWORD, /* a wrong password; the connection may try again */
    LK_REFUSED_FILES,    /* no more files can be opened: connections wait to be accepted */
    LK_REFUSED_UNREAD,   /* it buffered most when all buffers were full */
    LK_REFUSED_ORIGIN,   /* a request that a web page elsewhere may have made */
    LK_REFUSED_PROTOCOL, /* it speaks another protocol than the listener */
    LK_REFUSED_SLOW,     /* its request did not arrive in time */
    LK_REFUSED_TLS,      /* its TLS handshake failed, or took too long */
    LK_REFUSALS
};

/* The name of a reason in metrics and in the log. */
const char *lk_refusal_name(enum lk_refusal why);

void lk_refusal_count(struct lk_server *server, enum lk_refusal why);

/* LK_REFUSED_FILES, counted and logged. The connections that wait are not known. */
void lk_refusal_exhausted(struct lk_server *server);

/* One connection: its line has the listener's name, the peer's address and the reason. */
void lk_refusal_note(struct lk_server *server, const struct lk_listener *listener,
                     const struct lk_listen_socket *listen_socket, int socket, enum lk_refusal why);

/* The same, with a message of its own. */
void lk_refusal_explain(struct lk_server *server, const struct lk_listener *listener,
                        const struct lk_listen_socket *listen_socket, int socket,
                        enum lk_refusal why, const char *message);

/* A message of the level LK_LOG_DEBUG about a connection: static text. */
void lk_connection_trace(const struct lk_listener *listener,
                         const struct lk_listen_socket *listen_socket, int socket,
                         const char *what);

#endif
