/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a thread sleeps, and how others end its sleep: on words of memory that processes share, and
 * on a waker of its own.
 */
#ifndef LK_BASE_WAKER_H
#define LK_BASE_WAKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* ---- words ----------------------------------------------------------------------------------- */

/*
 * Sleeping on words of memory that processes share (futexes). The kernel identifies a word of a
 * mapped file by the file and the offset, so that processes in other containers are woken, too.
 *
 * A word is never written here. Its value only tells whether something happened between reading it
 * and going to sleep.
 */

enum { LK_WORDS = 2 }; /* that one sleep can be on */

struct lk_word {
    const uint32_t *at; /* borrowed, and mapped for as long as a thread sleeps on it */
    uint32_t value;     /* as it was read */
};

static inline struct lk_word lk_word_read(const uint32_t *at) {
    return (struct lk_word){at, __atomic_load_n(at, __ATOMIC_SEQ_CST)};
}

/* Whether a thread can sleep on several words: since Linux 5.16, unless a sandbox forbids it. */
bool lk_words_are_known(void);

/*
 * Sleeps until one of the words is woken, or until `end` on CLOCK_MONOTONIC. Returns at once if one
 * of them has another value than the one that was read. It may also return without a reason. `own`
 * is one more word, of this process alone; NULL: none.
 */
void lk_words_sleep(const struct lk_word words[LK_WORDS], const struct lk_word *own,
                    const struct timespec *end);

/* Ends every sleep on the word, in all processes that have it mapped. */
void lk_words_wake(const uint32_t *at);

/* ---- wakers ---------------------------------------------------------------------------------- */

/*
 * One thread sleeps on a waker, and other threads end its sleep. Thread-safe.
 *
 * Throwing is final: it ends the present sleep and every later one. A nudge ends one sleep only,
 * the present one or else the next. One thread at a time may sleep on a waker.
 *
 * A waker can be late: what is thrown then ends sleeps as always, but lk_waker_is_thrown() and the
 * descriptor tell of it only some time later. So a call that uses them to end the wait for an
 * answer has that time to receive it, while it makes no further attempts.
 */

struct lk_waker {
    pthread_mutex_t mutex;
    pthread_cond_t stirred; /* on CLOCK_MONOTONIC */
    int thrown_descriptor;  /* -1: not requested so far */
    int64_t thrown_us;      /* on lk_clock_now_us() */
    int64_t late_us;        /* how late it tells that it is thrown; 0: it is not late */
    uint32_t stirs;         /* a futex: grows with each throw and nudge */
    bool is_on_words;       /* the thread sleeps in lk_waker_sleep_on_words() */
    bool is_thrown;
    bool is_nudged;
};

/* Returns false when the system has no more of what a condition needs. End with lk_waker_done(). */
bool lk_waker_init(struct lk_waker *waker);
void lk_waker_done(struct lk_waker *waker);

/* A waker that is late by so much, which is more than 0; it can be changed at any time. */
bool lk_waker_init_late(struct lk_waker *waker, int64_t late_us);
void lk_waker_set_late(struct lk_waker *waker, int64_t late_us);

void lk_waker_throw(struct lk_waker *waker);
void lk_waker_nudge(struct lk_waker *waker);
bool lk_waker_is_thrown(struct lk_waker *waker); /* NULL, no waker: false */

/* When it was thrown, on lk_clock_now_us(), however late it tells; INT64_MAX: it was not. */
int64_t lk_waker_thrown_us(struct lk_waker *waker);

/*
 * A descriptor for poll(), owned by the waker, that is readable once the waker is thrown. Nothing
 * is to be read from it. -1 when the system has no descriptor left.
 */
int lk_waker_thrown_descriptor(struct lk_waker *waker);

/*
 * Sleeps until thrown or nudged, or for `duration_us` (which does not count the time that the
 * machine is suspended). Returns whether it is thrown. Without a waker (NULL) only time ends it.
 */
bool lk_waker_sleep(struct lk_waker *waker, int64_t duration_us);

/*
 * The same, and also until lk_words_wake() is called for one of the words, by any process. Returns
 * at once if one of them has another value than the one that was read. Where the system has no such
 * sleep (lk_words_are_known()), it is lk_waker_sleep().
 */
bool lk_waker_sleep_on_words(struct lk_waker *waker, const struct lk_word words[LK_WORDS],
                             int64_t duration_us);

#endif
