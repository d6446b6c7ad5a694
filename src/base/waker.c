/* SPDX-License-Identifier: Apache-2.0 */
/* A waker: two flags under a mutex, and the condition that says that one of them was set. */
#include "base/waker.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/condition.h"

bool lk_waker_init(struct lk_waker *waker) {
    if (pthread_mutex_init(&waker->mutex, NULL) != 0) {
        return false;
    }
    if (!lk_condition_init(&waker->stirred)) {
        (void)pthread_mutex_destroy(&waker->mutex);
        return false;
    }
    waker->thrown_descriptor = -1;
    waker->is_thrown = false;
    waker->is_nudged = false;
    return true;
}

void lk_waker_done(struct lk_waker *waker) {
    /* A thread in poll() may be awake before the throwing thread has unlocked the mutex. */
    pthread_mutex_lock(&waker->mutex);
    pthread_mutex_unlock(&waker->mutex);
    if (waker->thrown_descriptor >= 0) {
        (void)close(waker->thrown_descriptor);
    }
    (void)pthread_cond_destroy(&waker->stirred);
    (void)pthread_mutex_destroy(&waker->mutex);
}

struct lk_waker *lk_waker_borrow(struct lk_waker *waker, struct lk_waker *own) {
    if (waker != NULL) {
        return waker;
    }
    return lk_waker_init(own) ? own : NULL;
}

void lk_waker_give_back(struct lk_waker *borrowed, struct lk_waker *own) {
    if (borrowed == own) {
        lk_waker_done(own);
    }
}

/* Called with the mutex held. */
static void make_readable(const struct lk_waker *waker) {
    if (waker->is_thrown && waker->thrown_descriptor >= 0) {
        (void)eventfd_write(waker->thrown_descriptor, 1); /* a counter that is never read: fits */
    }
}

/* Signals with the mutex held, so that a sleeper that then ends the waker cannot do so too soon. */
static void set(struct lk_waker *waker, bool *flag) {
    pthread_mutex_lock(&waker->mutex);
    *flag = true;
    make_readable(waker);
    pthread_cond_signal(&waker->stirred);
    pthread_mutex_unlock(&waker->mutex);
}

void lk_waker_throw(struct lk_waker *waker) {
    set(waker, &waker->is_thrown);
}

void lk_waker_nudge(struct lk_waker *waker) {
    set(waker, &waker->is_nudged);
}

bool lk_waker_is_thrown(struct lk_waker *waker) {
    bool is_thrown;

    if (waker == NULL) {
        return false;
    }
    pthread_mutex_lock(&waker->mutex);
    is_thrown = waker->is_thrown;
    pthread_mutex_unlock(&waker->mutex);
    return is_thrown;
}

int lk_waker_thrown_descriptor(struct lk_waker *waker) {
    int descriptor;

    pthread_mutex_lock(&waker->mutex);
    if (waker->thrown_descriptor < 0) {
        waker->thrown_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        make_readable(waker);
    }
    descriptor = waker->thrown_descriptor;
    pthread_mutex_unlock(&waker->mutex);
    return descriptor;
}

bool lk_waker_sleep(struct lk_waker *waker, int64_t duration_us) {
    struct timespec end = lk_condition_instant(duration_us);
    bool is_thrown;
    int status = 0;

    if (waker == NULL) {
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {
        }
        return false;
    }
    pthread_mutex_lock(&waker->mutex);
    while (!waker->is_thrown && !waker->is_nudged && status == 0) {
        status = pthread_cond_timedwait(&waker->stirred, &waker->mutex, &end);
    }
    waker->is_nudged = false;
    is_thrown = waker->is_thrown;
    pthread_mutex_unlock(&waker->mutex);
    return is_thrown;
}
