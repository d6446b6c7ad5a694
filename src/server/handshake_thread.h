/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that computes the steps of TLS handshakes: a step takes up to a millisecond of the
 * processor, and calls do not wait for it. The thread has a lower priority than the loop. Steps are
 * computed in the order in which they were submitted.
 *
 * All functions are called by the loop's thread. Within src/server.
 */
#ifndef LK_SERVER_HANDSHAKE_THREAD_H
#define LK_SERVER_HANDSHAKE_THREAD_H

#include <sys/queue.h>

#include "tls/tls.h"

struct lk_handshake_thread;

/* Called by lk_handshake_thread_fetch(). May submit and cancel jobs, this one included. */
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

/* LK_OK with *ret_thread, or LK_INTERNAL. */
lk_outcome lk_handshake_thread_start(struct lk_handshake_thread **ret_thread, lk_error *error);
void lk_handshake_thread_stop(struct lk_handshake_thread *thread); /* no job; accepts NULL */

/* Readable when there are results to fetch. */
int lk_handshake_thread_descriptor(const struct lk_handshake_thread *thread);

/*
 * Has a step of the session computed. Until `done` is called, nothing else may use the session, and
 * its socket must not be closed. The job must be idle, and stay where it is.
 */
void lk_handshake_thread_submit(struct lk_handshake_thread *thread, struct lk_handshake_job *job,
                                struct lk_tls_session *session, lk_handshake_stepped *done,
                                void *context);

/*
 * The job is idle when this returns, and `done` is not called. Waits for the end of its step, if
 * just that one is being computed. No effect on an idle job.
 */
void lk_handshake_thread_cancel(struct lk_handshake_thread *thread, struct lk_handshake_job *job);

/* Calls `done` for each job whose step is computed. */
void lk_handshake_thread_fetch(struct lk_handshake_thread *thread);

#endif
