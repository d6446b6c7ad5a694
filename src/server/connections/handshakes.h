/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS handshakes of one listener. A handshake computes for up to a millisecond, and a peer may
 * begin one and not go on. So its time is bounded, its connection is pending until it is done
 * (admission.h), and a thread of its own computes: a flood of handshakes makes new
 * connections slow, and leaves those that are open alone. The thread has a lower priority than the
 * loop, and computes steps in the order in which they were submitted.
 *
 * All functions are called by the loop's thread.
 *
 * Within src/server.
 */
#ifndef LK_SERVER_CONNECTIONS_HANDSHAKES_H
#define LK_SERVER_CONNECTIONS_HANDSHAKES_H

#include <sys/queue.h>

#include "server/connections/host.h"
#include "server/connections/listen.h"
#include "tls/tls.h"

struct event;
struct lk_handshake_thread;

enum { LK_HANDSHAKE_SECONDS_MAX = 10 };

/* What a peer without TLS is told, in either protocol; engine/service recognises it. */
#define LK_HANDSHAKE_WANTED "this port is TLS"

/* What a step has led to. May begin and end steps, of this handshake and of others. */
typedef void lk_handshake_stepped(void *context, enum lk_tls_step step);

enum lk_handshake_state {
    LK_HANDSHAKE_IDLE,
    LK_HANDSHAKE_WAITING,
    LK_HANDSHAKE_RUNNING,
    LK_HANDSHAKE_STEPPED, /* the result was not fetched yet */
};

/* Embedded in a connection. Its `state`, and what the state belongs to, are the thread's. */
struct lk_handshake_job {
    STAILQ_ENTRY(lk_handshake_job) list;
    enum lk_handshake_state state;
    enum lk_tls_step step;
    struct lk_tls_session *session;
    lk_handshake_stepped *done;
    void *context;
};

/* Of one listener. */
struct lk_handshakes {
    struct lk_server *server;
    const struct lk_listener *listener;
    struct lk_tls_context *context; /* NULL: the listener is plain */
    const struct lk_listen_socket *listen_socket;
    const char *refusal; /* of a peer that speaks no TLS, in its own protocol; static */
};

/* A connection's; zeroed: it is plain. */
struct lk_handshake {
    struct lk_tls_session *session;
    bool is_begun;    /* its first byte has arrived */
    bool is_underway; /* it is not done */
    bool is_computed; /* ... a step of it waits for the thread, or is being computed: then the
                       * session must not be used, and the socket not be read */
    struct lk_handshake_job job;
    struct lk_handshakes *handshakes; /* ... and these are what `job` needs to go on: */
    int socket;
    lk_handshake_stepped *stepped;
    void *context;
};

/* TLS is for ports: a Unix socket stays plain. */
void lk_handshakes_begin(struct lk_handshakes *handshakes, struct lk_server *server,
                         const struct lk_listener *listener,
                         const struct lk_listen_socket *listen_socket, const char *refusal);

/*
 * A step of the handshake, when the socket is ready. `stepped` is called with its result, at once
 * or later by the loop. LK_TLS_WANTS_READ and LK_TLS_WANTS_WRITE: again when the socket is ready
 * for that, which it may be already. LK_TLS_CLOSED or LK_TLS_FAILED: the connection is to be
 * closed; this was logged and counted.
 */
void lk_handshakes_step(struct lk_handshakes *handshakes, struct lk_handshake *handshake,
                        int socket, lk_handshake_stepped *stepped, void *context);

/* Before the connection closes: no step of it is computed any more. Frees the session. */
void lk_handshakes_end(struct lk_handshakes *handshakes, struct lk_handshake *handshake);

/* The time for it is over: logs and counts it. */
void lk_handshakes_time_out(struct lk_handshakes *handshakes, int socket);

/* ---- the thread ------------------------------------------------------------------------------ */

struct lk_handshake_events {
    struct lk_handshake_thread *thread; /* NULL: there is no TLS */
    struct event *stepped;              /* steps are computed */
};

/* Starts the thread, if there is TLS. To be ended, also if it fails. */
lk_outcome lk_handshake_events_begin(struct lk_handshake_events *events, struct lk_server *server,
                                     lk_error *error);
void lk_handshake_events_end(
    struct lk_handshake_events *events); /* after every listener has closed */

#endif
