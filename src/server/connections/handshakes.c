/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handshakes: whether it is their turn, what became of them, and one thread that has a queue of
 * steps to compute and a list of those that are computed.
 */
#include "server/connections/handshakes.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"
#include "server/connections/loop.h"
#include "server/connections/monitor.h"

enum {
    NICE = 19, /* the least: calls that come meanwhile hardly wait */
    TLS_RECORD_OF_HANDSHAKE = 0x16,
    SURPLUS_BYTES = 4096,
};

STAILQ_HEAD(jobs, lk_handshake_job);

struct lk_handshake_thread {
    int descriptor;
    pthread_t thread;

    pthread_mutex_t mutex; /* guards the fields below, and the states of jobs */
    pthread_cond_t submitted;
    pthread_cond_t stepped;
    struct jobs waiting;
    struct jobs done;
    bool is_stopping;
};

/* ---- the thread ------------------------------------------------------------------------------ */

static void compute(struct lk_handshake_thread *thread, struct lk_handshake_job *job) {
    const uint64_t one = 1;

    STAILQ_REMOVE_HEAD(&thread->waiting, list);
    job->state = LK_HANDSHAKE_RUNNING;
    pthread_mutex_unlock(&thread->mutex);
    job->step = lk_tls_session_handshake(job->session);
    pthread_mutex_lock(&thread->mutex);
    job->state = LK_HANDSHAKE_STEPPED;
    STAILQ_INSERT_TAIL(&thread->done, job, list);
    pthread_cond_signal(&thread->stepped);
    (void)!write(thread->descriptor, &one, sizeof one);
}

static void *run(void *context) {
    struct lk_handshake_thread *thread = context;

    (void)setpriority(PRIO_PROCESS, 0, NICE); /* 0: of this thread, in Linux */
    pthread_mutex_lock(&thread->mutex);
    while (!thread->is_stopping) {
        if (STAILQ_EMPTY(&thread->waiting)) {
            pthread_cond_wait(&thread->submitted, &thread->mutex);
        } else {
            compute(thread, STAILQ_FIRST(&thread->waiting));
        }
    }
    pthread_mutex_unlock(&thread->mutex);
    return NULL;
}

/* ---- starting and stopping ------------------------------------------------------------------- */

static void destroy(struct lk_handshake_thread *thread) {
    (void)pthread_cond_destroy(&thread->stepped);
    (void)pthread_cond_destroy(&thread->submitted);
    (void)pthread_mutex_destroy(&thread->mutex);
    if (thread->descriptor >= 0) {
        (void)close(thread->descriptor);
    }
    free(thread);
}

static lk_outcome start_thread(struct lk_handshake_thread **ret_thread, lk_error *error) {
    struct lk_handshake_thread *thread = calloc(1, sizeof *thread);

    if (thread == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    (void)pthread_mutex_init(&thread->mutex, NULL); /* cannot fail with these attributes */
    (void)pthread_cond_init(&thread->submitted, NULL);
    (void)pthread_cond_init(&thread->stepped, NULL);
    STAILQ_INIT(&thread->waiting);
    STAILQ_INIT(&thread->done);
    thread->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (thread->descriptor < 0 || !lk_thread_start(&thread->thread, run, thread)) {
        destroy(thread);
        return lk_error_set(error, LK_INTERNAL,
                            "the thread that computes TLS handshakes cannot be started");
    }
    *ret_thread = thread;
    return LK_OK;
}

/* There is no job. Accepts NULL. */
static void stop_thread(struct lk_handshake_thread *thread) {
    if (thread == NULL) {
        return;
    }
    pthread_mutex_lock(&thread->mutex);
    thread->is_stopping = true;
    pthread_cond_signal(&thread->submitted);
    pthread_mutex_unlock(&thread->mutex);
    (void)pthread_join(thread->thread, NULL);
    destroy(thread);
}

/* ---- jobs for the thread --------------------------------------------------------------------- */

/*
 * Has a step of the session computed. Until `done` is called, nothing else may use the session, and
 * its socket must not be closed. The job must be idle, and stay where it is.
 */
static void submit(struct lk_handshake_thread *thread, struct lk_handshake_job *job,
                   struct lk_tls_session *session, lk_handshake_stepped *done, void *context) {
    *job = (struct lk_handshake_job){
        .state = LK_HANDSHAKE_WAITING, .session = session, .done = done, .context = context};
    pthread_mutex_lock(&thread->mutex);
    STAILQ_INSERT_TAIL(&thread->waiting, job, list);
    pthread_cond_signal(&thread->submitted);
    pthread_mutex_unlock(&thread->mutex);
}

/*
 * The job is idle when this returns, and `done` is not called. Waits for the end of its step, if
 * just that one is being computed. No effect on an idle job.
 */
static void cancel(struct lk_handshake_thread *thread, struct lk_handshake_job *job) {
    if (thread == NULL) {
        return; /* the service has no TLS */
    }
    pthread_mutex_lock(&thread->mutex);
    while (job->state == LK_HANDSHAKE_RUNNING) {
        pthread_cond_wait(&thread->stepped, &thread->mutex);
    }
    if (job->state == LK_HANDSHAKE_WAITING) {
        STAILQ_REMOVE(&thread->waiting, job, lk_handshake_job, list);
    } else if (job->state == LK_HANDSHAKE_STEPPED) {
        STAILQ_REMOVE(&thread->done, job, lk_handshake_job, list);
    }
    job->state = LK_HANDSHAKE_IDLE;
    pthread_mutex_unlock(&thread->mutex);
}

/* One at a time, because what is called may cancel others. */
static struct lk_handshake_job *take_done(struct lk_handshake_thread *thread) {
    struct lk_handshake_job *job;

    pthread_mutex_lock(&thread->mutex);
    job = STAILQ_FIRST(&thread->done);
    if (job != NULL) {
        STAILQ_REMOVE_HEAD(&thread->done, list);
        job->state = LK_HANDSHAKE_IDLE;
    }
    pthread_mutex_unlock(&thread->mutex);
    return job;
}

/* Calls `done` for each job whose step is computed. */
static void fetch(struct lk_handshake_thread *thread) {
    struct lk_handshake_job *job;
    uint64_t count;

    (void)!read(thread->descriptor, &count, sizeof count);
    while ((job = take_done(thread)) != NULL) {
        job->done(job->context, job->step);
    }
}

static void on_stepped(evutil_socket_t descriptor, short what, void *context) {
    struct lk_handshake_events *events = context;

    (void)descriptor;
    (void)what;
    fetch(events->thread);
}

lk_outcome lk_handshake_events_begin(struct lk_handshake_events *events, struct lk_server *server,
                                     lk_error *error) {
    lk_outcome outcome =
        lk_server_options_of(server)->tls != NULL ? start_thread(&events->thread, error) : LK_OK;

    if (outcome != LK_OK || events->thread == NULL) {
        return outcome;
    }
    events->stepped = event_new(lk_server_loop(server), events->thread->descriptor,
                                EV_READ | EV_PERSIST, on_stepped, events);
    if (events->stepped == NULL || event_add(events->stepped, NULL) != 0) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    return LK_OK;
}

void lk_handshake_events_end(struct lk_handshake_events *events) {
    lk_loop_free_event(events->stepped);
    stop_thread(events->thread);
}

/* ---- the handshakes of a listener ------------------------------------------------------------ */

void lk_handshakes_begin(struct lk_handshakes *handshakes, struct lk_server *server,
                         const struct lk_listener *listener,
                         const struct lk_listen_socket *listen_socket, const char *refusal) {
    *handshakes = (struct lk_handshakes){
        .server = server,
        .listener = listener,
        .context = listen_socket->path == NULL ? lk_server_options_of(server)->tls : NULL,
        .listen_socket = listen_socket,
        .refusal = refusal,
    };
}

static void refuse(struct lk_handshakes *handshakes, int socket, const char *why) {
    lk_refusal_explain(handshakes->server, handshakes->listener, handshakes->listen_socket, socket,
                       LK_REFUSED_TLS, why);
}

void lk_handshakes_time_out(struct lk_handshakes *handshakes, int socket) {
    refuse(handshakes, socket, "its handshake took too long");
}

/* In the peer's protocol. Its bytes are read, as the answer would be lost with a reset (RST). */
static void answer_in_plain(const struct lk_handshakes *handshakes, int socket) {
    char surplus[SURPLUS_BYTES];

    (void)send(socket, handshakes->refusal, strlen(handshakes->refusal),
               MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)shutdown(socket, SHUT_WR);
    (void)!recv(socket, surplus, sizeof surplus, MSG_DONTWAIT);
}

/* Looks at the first byte. LK_TLS_DONE: it may begin a handshake. */
static enum lk_tls_step look(struct lk_handshakes *handshakes, struct lk_handshake *handshake,
                             int socket) {
    unsigned char first;
    ssize_t size = recv(socket, &first, 1, MSG_PEEK | MSG_DONTWAIT);

    if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
        return LK_TLS_WANTS_READ;
    }
    if (size <= 0) {
        return LK_TLS_CLOSED; /* it only looked whether the port is open */
    }
    handshake->is_begun = true;
    if (first != TLS_RECORD_OF_HANDSHAKE) {
        refuse(handshakes, socket, "it does not speak TLS");
        answer_in_plain(handshakes, socket);
        return LK_TLS_FAILED;
    }
    return LK_TLS_DONE;
}

static void note(struct lk_handshakes *handshakes, struct lk_handshake *handshake, int socket,
                 enum lk_tls_step step) {
    handshake->is_underway = step != LK_TLS_DONE;
    if (step == LK_TLS_CLOSED || step == LK_TLS_FAILED) {
        refuse(handshakes, socket, lk_tls_session_reason(handshake->session));
    }
}

static void on_computed(void *context, enum lk_tls_step step) {
    struct lk_handshake *handshake = context;

    handshake->is_computed = false;
    note(handshake->handshakes, handshake, handshake->socket, step);
    handshake->stepped(handshake->context, step);
}

void lk_handshakes_step(struct lk_handshakes *handshakes, struct lk_handshake *handshake,
                        int socket, lk_handshake_stepped *stepped, void *context) {
    enum lk_tls_step step = handshake->is_begun ? LK_TLS_DONE : look(handshakes, handshake, socket);

    if (step != LK_TLS_DONE) {
        stepped(context, step);
        return;
    }
    handshake->is_computed = true;
    handshake->handshakes = handshakes;
    handshake->socket = socket;
    handshake->stepped = stepped;
    handshake->context = context;
    submit(lk_server_handshake_thread(handshakes->server), &handshake->job, handshake->session,
           on_computed, handshake);
}

void lk_handshakes_end(struct lk_handshakes *handshakes, struct lk_handshake *handshake) {
    cancel(lk_server_handshake_thread(handshakes->server), &handshake->job);
    handshake->is_computed = false;
    lk_tls_session_free(handshake->session);
    handshake->session = NULL;
}
