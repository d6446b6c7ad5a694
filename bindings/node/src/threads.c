/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads, which belong to the process and serve all environments. A thread that has nothing to do
 * for a while ends. Short tasks wait for one of a few threads; a task that waits for others always
 * gets a thread, or is refused: behind other waits it could wait for itself.
 */
#include <signal.h>
#include <time.h>

#include "module.h"

enum { SHORT_THREADS_MAX = 8, IDLE_S = 5 };

struct lane {
    pthread_mutex_t mutex;
    pthread_cond_t work;
    struct lk_node_task *first, *last;
    size_t queued, idle, threads, threads_max;
};

static struct lane lanes[LK_NODE_LANES] = {
    [LK_NODE_SHORT] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, NULL, 0, 0, 0,
                       SHORT_THREADS_MAX},
    [LK_NODE_WAIT] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, NULL, 0, 0, 0,
                      SIZE_MAX},
};

/* The next task, or NULL after a while without one. With the mutex. */
static struct lk_node_task *take(struct lane *lane) {
    struct lk_node_task *task;
    struct timespec end;
    int status = 0;

    (void)clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += IDLE_S;
    lane->idle++;
    while (lane->first == NULL && status == 0) {
        status = pthread_cond_timedwait(&lane->work, &lane->mutex, &end);
    }
    lane->idle--;
    task = lane->first;
    if (task != NULL) {
        lane->first = task->next;
        lane->last = lane->first == NULL ? NULL : lane->last;
        lane->queued--;
        task->next = NULL;
    }
    return task;
}

static void *lane_thread(void *argument) {
    struct lane *lane = argument;
    struct lk_node_task *task;

    (void)pthread_mutex_lock(&lane->mutex);
    while ((task = take(lane)) != NULL) {
        (void)pthread_mutex_unlock(&lane->mutex);
        task->run(task);
        lk_node_task_ended(task);
        (void)pthread_mutex_lock(&lane->mutex);
    }
    lane->threads--;
    (void)pthread_mutex_unlock(&lane->mutex);
    return NULL;
}

static bool start(struct lane *lane) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, former;
    bool is_started;

    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)sigfillset(&all); /* signals are for the threads of Node.js */
    (void)pthread_sigmask(SIG_SETMASK, &all, &former);
    is_started = pthread_create(&thread, &attributes, lane_thread, lane) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &former, NULL);
    (void)pthread_attr_destroy(&attributes);
    return is_started;
}

bool lk_node_thread_run(struct lk_node_task *task, enum lk_node_lane which) {
    struct lane *lane = &lanes[which];
    bool is_taken = true;

    task->next = NULL;
    (void)pthread_mutex_lock(&lane->mutex);
    if (lane->queued + 1 > lane->idle && lane->threads < lane->threads_max) {
        if (start(lane)) {
            lane->threads++;
        } else {
            is_taken = lane->threads > 0 && which == LK_NODE_SHORT;
        }
    }
    if (is_taken) {
        if (lane->last == NULL) {
            lane->first = task;
        } else {
            lane->last->next = task;
        }
        lane->last = task;
        lane->queued++;
        (void)pthread_cond_signal(&lane->work);
    }
    (void)pthread_mutex_unlock(&lane->mutex);
    return is_taken;
}
