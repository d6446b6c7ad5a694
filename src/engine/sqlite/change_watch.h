/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting without a server: a waiter looks at a counter of commits, and at the rows only when
 * that has moved. Looking never writes and never blocks a writer.
 *
 * How often: every few milliseconds when something just happened, less often the longer all has
 * been quiet, and less often the more others are in front; with jitter, so that many waiters do
 * not look in step.
 */
#ifndef LK_ENGINE_SQLITE_CHANGE_WATCH_H
#define LK_ENGINE_SQLITE_CHANGE_WATCH_H

#include "base/random.h"
#include "engine/sqlite/store.h"

/* Embedded first in what its `look` needs. */
struct lk_change_watch {
    struct lk_sqlite *store;

    /*
     * Looks at the rows, in a reading transaction and under the mutex, and sets what is set by
     * it below; returns SQLite's code. NULL: any commit ends the wait.
     */
    int (*query)(struct lk_change_watch *watch);
    bool is_over;    /* what is waited for has come: set by look() */
    int64_t due_us;  /* on the store's clock, when something comes by itself: set by look() */
    int64_t ahead;   /* how many will go before: set by look() */
    int64_t pace_us; /* between two looks, when something just happened */
    int64_t rest_us; /* and when all has long been quiet */

    bool has_checked;
    uint64_t version;   /* of the store, when last looked */
    int64_t changed_us; /* when it was last seen to move, on lk_clock_now_us() */
    struct lk_random random;
};

/* Nothing seen yet, no waiter ahead, nothing due. */
struct lk_change_watch lk_change_watch_make(struct lk_sqlite *store,
                                            int (*query)(struct lk_change_watch *watch),
                                            int64_t pace_us, int64_t rest_us);

/* The same, from a version of the store that the caller has seen. */
struct lk_change_watch lk_change_watch_make_from(uint64_t version, struct lk_sqlite *store,
                                                 int (*query)(struct lk_change_watch *watch),
                                                 int64_t pace_us, int64_t rest_us);

/* Looks now, if anything was committed since the last look. A busy file is looked at the next
 * time: LK_OK. Else LK_INTERNAL, after a fork(), or what the file's state makes of it. */
lk_outcome lk_change_watch_check(struct lk_change_watch *watch);

/*
 * Looks again and again until it is over, something is due, or `until_us` on lk_clock_now_us():
 * LK_OK. LK_CANCELLED: the waker was thrown. Else as lk_change_watch_check(). The first look comes
 * after a pause: a caller that has not looked yet glances first.
 */
lk_outcome lk_change_watch_wait(struct lk_change_watch *watch, int64_t until_us,
                                struct lk_waker *waker);

/* await_work.c: of lk_sqlite_await(), for a take. */
lk_outcome lk_sqlite_await_work(struct lk_sqlite *store, const struct lk_wait_cursor *cursor,
                                int64_t until_us, struct lk_waker *waker);

#endif
