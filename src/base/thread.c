/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, conditions on the monotonic clock, and critical sections. */
#include "base/thread.h"

#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"

/* A thread inherits its signal mask, so it is set around the start. */
bool lk_thread_start(pthread_t *ret_thread, void *(*run)(void *context), void *context) {
    sigset_t all;
    sigset_t former;
    bool is_started;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &former);
    is_started = pthread_create(ret_thread, NULL, run, context) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &former, NULL);
    return is_started;
}

/* ---- conditions ------------------------------------------------------------------------------ */

#define DURATION_US_MAX (INT64_C(24) * 60 * 60 * 1000000)

bool lk_condition_init(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    bool made;

    if (pthread_condattr_init(&attributes) != 0) {
        return false;
    }
    made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0
           && pthread_cond_init(condition, &attributes) == 0;
    (void)pthread_condattr_destroy(&attributes);
    return made;
}

struct timespec lk_condition_instant(int64_t duration_us) {
    struct timespec instant = {0, 0};

    if (duration_us < 0) {
        duration_us = 0;
    } else if (duration_us > DURATION_US_MAX) {
        duration_us = DURATION_US_MAX;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &instant);
    instant.tv_sec += (time_t)(duration_us / 1000000);
    instant.tv_nsec += (long)(duration_us % 1000000) * 1000;
    if (instant.tv_nsec >= 1000000000) {
        instant.tv_sec++;
        instant.tv_nsec -= 1000000000;
    }
    return instant;
}

/* ---- critical sections ----------------------------------------------------------------------- */

/*
 * The threads inside a section are counted. lk_critical_close() closes first and then waits, so
 * that threads that enter and leave all the time cannot delay it. A thread that is inside already
 * may enter again. There is no mutex: a child of fork() would find it as another thread held it.
 */

static atomic_uint inside; /* threads */
static atomic_bool is_shut;
static _Thread_local unsigned depth;

static void breathe(void) {
    const struct timespec breath = {.tv_nsec = 1000000};

    (void)nanosleep(&breath, NULL);
}

void lk_critical_enter(void) {
    if (depth++ > 0) {
        return;
    }
    /* Counted before `is_shut` is read: one of the two threads sees the other's write. */
    atomic_fetch_add(&inside, 1);
    while (atomic_load(&is_shut)) {
        atomic_fetch_sub(&inside, 1);
        breathe();
        atomic_fetch_add(&inside, 1);
    }
}

void lk_critical_leave(void) {
    if (--depth == 0) {
        atomic_fetch_sub(&inside, 1);
    }
}

bool lk_critical_close(int64_t patience_us) {
    int64_t until_us = lk_clock_now_us() + patience_us;

    atomic_store(&is_shut, true);
    while (atomic_load(&inside) > 0) {
        if (lk_clock_now_us() >= until_us) {
            lk_critical_open();
            return false;
        }
        breathe();
    }
    return true;
}

void lk_critical_open(void) {
    atomic_store(&is_shut, false);
}
