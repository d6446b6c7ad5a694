/* SPDX-License-Identifier: Apache-2.0 */
/* One thread, a queue of steps to compute, and a list of those that are computed. */
#include "server/handshake_thread.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"

enum { NICE = 19 }; /* the least: calls that come meanwhile hardly wait */

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

lk_outcome lk_handshake_thread_start(struct lk_handshake_thread **ret_thread, lk_error *error) {
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

void lk_handshake_thread_stop(struct lk_handshake_thread *thread) {
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

/* ---- the loop -------------------------------------------------------------------------------- */

int lk_handshake_thread_descriptor(const struct lk_handshake_thread *thread) {
    return thread->descriptor;
}

void lk_handshake_thread_submit(struct lk_handshake_thread *thread, struct lk_handshake_job *job,
                                struct lk_tls_session *session, lk_handshake_stepped *done,
                                void *context) {
    *job = (struct lk_handshake_job){
        .state = LK_HANDSHAKE_WAITING, .session = session, .done = done, .context = context};
    pthread_mutex_lock(&thread->mutex);
    STAILQ_INSERT_TAIL(&thread->waiting, job, list);
    pthread_cond_signal(&thread->submitted);
    pthread_mutex_unlock(&thread->mutex);
}

void lk_handshake_thread_cancel(struct lk_handshake_thread *thread, struct lk_handshake_job *job) {
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

void lk_handshake_thread_fetch(struct lk_handshake_thread *thread) {
    struct lk_handshake_job *job;
    uint64_t count;

    (void)!read(thread->descriptor, &count, sizeof count);
    while ((job = take_done(thread)) != NULL) {
        job->done(job->context, job->step);
    }
}
