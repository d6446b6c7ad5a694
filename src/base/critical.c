/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is inside is counted. Whoever closes shuts the door first, so that threads that go in and out
 * all the time cannot keep it waiting; a thread that is inside already may go in deeper.
 */
#include "base/critical.h"

#include <pthread.h>
#include <time.h>

#include "base/clock.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the next two */
static unsigned inside;                                   /* threads */
static bool is_shut;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static _Thread_local unsigned depth;

void lk_critical_enter(void) {
    if (depth++ == 0) {
        pthread_mutex_lock(&mutex);
        while (is_shut) {
            pthread_cond_wait(&opened, &mutex);
        }
        inside++;
        pthread_mutex_unlock(&mutex);
    }
}

void lk_critical_leave(void) {
    if (--depth == 0) {
        pthread_mutex_lock(&mutex);
        inside--;
        pthread_mutex_unlock(&mutex);
    }
}

static bool is_empty_when_shut(void) {
    pthread_mutex_lock(&mutex);
    is_shut = true;
    bool is_empty = inside == 0;
    pthread_mutex_unlock(&mutex);
    return is_empty;
}

bool lk_critical_close(int64_t patience_us) {
    const struct timespec breath = {.tv_nsec = 1000000};
    int64_t until_us = lk_clock_now_us() + patience_us;

    while (!is_empty_when_shut()) {
        if (lk_clock_now_us() >= until_us) {
            lk_critical_open();
            return false;
        }
        (void)nanosleep(&breath, NULL);
    }
    return true;
}

void lk_critical_open(void) {
    pthread_mutex_lock(&mutex);
    is_shut = false;
    pthread_cond_broadcast(&opened);
    pthread_mutex_unlock(&mutex);
}
