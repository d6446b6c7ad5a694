/* SPDX-License-Identifier: Apache-2.0 */
/* Futexes; and wakers, which are two flags under a mutex and a condition that tells of them. */
#include "base/waker.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "base/thread.h"

/* ---- words ----------------------------------------------------------------------------------- */

/* The C library has no functions for futexes. */

/* Since Linux 5.16; the headers may be older than the kernel. */
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
enum { WORD_IS_OF_32_BITS = 2 };

struct waited { /* struct futex_waitv of the kernel */
    uint64_t value;
    uint64_t address;
    uint32_t flags;
    uint32_t reserved;
};

static bool is_known;

static void find_out(void) {
    /* No word at all is invalid where the call exists. */
    is_known = syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0) < 0 && errno == EINVAL;
}

bool lk_words_are_known(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, find_out);
    return is_known;
}

static struct waited waited_of(const struct lk_word *word) {
    return (struct waited){
        .value = word->value, .address = (uintptr_t)word->at, .flags = WORD_IS_OF_32_BITS};
}

void lk_words_sleep(const struct lk_word words[LK_WORDS], const struct lk_word *own,
                    const struct timespec *end) {
    struct waited waited[LK_WORDS + 1];
    unsigned count = 0;

    for (; count < LK_WORDS; count++) {
        waited[count] = waited_of(&words[count]);
    }
    if (own != NULL) {
        waited[count++] = waited_of(own);
    }
    (void)syscall(SYS_futex_waitv, waited, count, 0, end, CLOCK_MONOTONIC);
}

void lk_words_wake(const uint32_t *at) {
    (void)syscall(SYS_futex, at, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* ---- wakers ---------------------------------------------------------------------------------- */

bool lk_waker_init(struct lk_waker *waker) {
    if (pthread_mutex_init(&waker->mutex, NULL) != 0) {
        return false;
    }
    if (!lk_condition_init(&waker->stirred)) {
        (void)pthread_mutex_destroy(&waker->mutex);
        return false;
    }
    waker->thrown_descriptor = -1;
    waker->thrown_us = INT64_MAX;
    waker->late_us = 0;
    waker->stirs = 0;
    waker->is_on_words = false;
    waker->is_thrown = false;
    waker->is_nudged = false;
    return true;
}

bool lk_waker_init_late(struct lk_waker *waker, int64_t late_us) {
    bool is_made = lk_waker_init(waker);

    if (is_made) {
        waker->late_us = late_us;
    }
    return is_made;
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

/* Makes the descriptor of a late waker readable when it is to tell. With the mutex. */
static void arm(const struct lk_waker *waker) {
    int64_t left_us = lk_max(1, waker->thrown_us + waker->late_us - lk_clock_now_us());
    const struct itimerspec end = {
        .it_value = {.tv_sec = left_us / 1000000, .tv_nsec = left_us % 1000000 * 1000}};

    (void)timerfd_settime(waker->thrown_descriptor, 0, &end, NULL);
}

/* Called with the mutex held. */
static void make_readable(const struct lk_waker *waker) {
    if (waker->is_thrown && waker->thrown_descriptor >= 0) {
        if (waker->late_us > 0) {
            arm(waker);
        } else {
            (void)eventfd_write(waker->thrown_descriptor, 1); /* never read: the counter fits */
        }
    }
}

void lk_waker_set_late(struct lk_waker *waker, int64_t late_us) {
    pthread_mutex_lock(&waker->mutex);
    if (waker->late_us != late_us) {
        waker->late_us = late_us;
        make_readable(waker);
    }
    pthread_mutex_unlock(&waker->mutex);
}

/* Signals with the mutex held, so that a sleeper that then ends the waker cannot do so too soon. */
static void set(struct lk_waker *waker, bool *flag) {
    pthread_mutex_lock(&waker->mutex);
    *flag = true;
    if (waker->is_thrown && waker->thrown_us == INT64_MAX) {
        waker->thrown_us = lk_clock_now_us();
    }
    make_readable(waker);
    (void)__atomic_add_fetch(&waker->stirs, 1, __ATOMIC_SEQ_CST);
    if (waker->is_on_words) {
        lk_words_wake(&waker->stirs);
    }
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
    is_thrown = waker->is_thrown
                && (waker->late_us == 0 || lk_clock_now_us() - waker->thrown_us >= waker->late_us);
    pthread_mutex_unlock(&waker->mutex);
    return is_thrown;
}

int64_t lk_waker_thrown_us(struct lk_waker *waker) {
    int64_t thrown_us;

    pthread_mutex_lock(&waker->mutex);
    thrown_us = waker->thrown_us;
    pthread_mutex_unlock(&waker->mutex);
    return thrown_us;
}

int lk_waker_thrown_descriptor(struct lk_waker *waker) {
    int descriptor;

    pthread_mutex_lock(&waker->mutex);
    if (waker->thrown_descriptor < 0) {
        waker->thrown_descriptor = waker->late_us > 0
                                       ? timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)
                                       : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        make_readable(waker);
    }
    descriptor = waker->thrown_descriptor;
    pthread_mutex_unlock(&waker->mutex);
    return descriptor;
}

/* The mutex is held. A nudge is used up. */
static bool end_sleep(struct lk_waker *waker) {
    waker->is_on_words = false;
    waker->is_nudged = false;
    return waker->is_thrown;
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
    is_thrown = end_sleep(waker);
    pthread_mutex_unlock(&waker->mutex);
    return is_thrown;
}

bool lk_waker_sleep_on_words(struct lk_waker *waker, const struct lk_word words[LK_WORDS],
                             int64_t duration_us) {
    const struct timespec end = lk_condition_instant(duration_us);
    struct lk_word own = {.at = NULL};
    bool is_over;
    bool is_thrown;

    if (!lk_words_are_known()) {
        return lk_waker_sleep(waker, duration_us);
    }
    if (waker == NULL) {
        lk_words_sleep(words, NULL, &end);
        return false;
    }
    pthread_mutex_lock(&waker->mutex);
    own = lk_word_read(&waker->stirs);
    waker->is_on_words = true;
    is_over = waker->is_thrown || waker->is_nudged;
    pthread_mutex_unlock(&waker->mutex);
    if (!is_over) {
        lk_words_sleep(words, &own, &end);
    }
    pthread_mutex_lock(&waker->mutex);
    is_thrown = end_sleep(waker);
    pthread_mutex_unlock(&waker->mutex);
    return is_thrown;
}
