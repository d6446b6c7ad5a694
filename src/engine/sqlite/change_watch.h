/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting without a server: a waiter reads a counter of commits, and queries the rows only when
 * the counter has moved. A check never writes and never blocks a writer.
 *
 * The pause between checks is a few milliseconds after a commit. It grows with the time since then
 * and with the number of waiters ahead. Jitter keeps many waiters from checking in step. A waiter
 * for a grant is woken by the process that commits it, and checks more rarely.
 */
#ifndef LK_ENGINE_SQLITE_CHANGE_WATCH_H
#define LK_ENGINE_SQLITE_CHANGE_WATCH_H

#include "base/random.h"
#include "base/waker.h"
#include "engine/sqlite/store.h"

/* ---- wake-ups -------------------------------------------------------------------------------- */

/*
 * Of a process that waits for a grant, by the one that has committed it.
 *
 * A wake-up says "look again" and nothing else; a waiter also looks from time to time without one.
 * So it may be lost: where the writer is an older program or one in another kernel, where the
 * system knows no such sleep, or where a process is killed between its commit and the wake-up.
 *
 * The words to sleep on are in FILE-shm, SQLite's index of the log, which each process has mapped.
 * They are only read: the counter of commits, to notice one before the sleep begins, and a word
 * chosen by the request's id, as an address by which this waiter is woken and others are not.
 * A file of our own would need rights, a name, an owner and an end.
 */

/*
 * Reads the words of a waiting request. The mutex is held, and a look at the rows follows: what is
 * committed after that ends the sleep. false: there are none, so only polling is left. They stay
 * mapped until the store is closed.
 */
bool lk_sqlite_wake_words(struct lk_sqlite *store, uint64_t request,
                          struct lk_word ret_words[LK_WORDS]);

/* In place of a request's id: of those that wait for leases that are revoked (R12). */
#define LK_SQLITE_WAKE_REVOKED UINT64_MAX

/*
 * Notes in a writing transaction that the waiter for this request has to look again. If memory is
 * exhausted, the waiter finds out by itself.
 */
void lk_sqlite_wake_note(struct lk_sqlite *store, uint64_t request);

/* Wakes those that were noted, or forgets them if the transaction was rolled back. */
void lk_sqlite_wake_end(struct lk_sqlite *store, bool is_committed);

/* ---- change watches -------------------------------------------------------------------------- */

/* The first member of the struct that its query needs. */
struct lk_change_watch {
    struct lk_sqlite *store;

    /*
     * Queries the rows, in a reading transaction and under the mutex, and sets the members that say
     * so. Returns SQLite's code. NULL: any commit ends the wait.
     */
    int (*query)(struct lk_change_watch *watch);
    bool is_over;     /* what the caller waits for has come: set by the query */
    int64_t due_us;   /* on the store's clock: the next deadline or due item: set by the query */
    int64_t ahead;    /* waiters that go first: set by the query */
    bool is_unmoved;  /* the last commits changed nothing here: set by the query, false before it */
    int64_t pace_us;  /* the pause right after a commit that did */
    int64_t rest_us;  /* the pause when there was none for long */
    uint64_t request; /* whose grant wakes this thread; 0: none does */
    int64_t woken_pace_us; /* the same two, while it can be woken */
    int64_t woken_rest_us;

    bool has_checked;
    uint64_t version; /* of the store, at the last check */
    bool is_wakeable;
    struct lk_word words[LK_WORDS]; /* as they were before the last check */
    int64_t changed_us;             /* when anything last changed here, on lk_clock_now_us() */
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

/*
 * Checks now whether anything was committed since the last check. LK_OK, also where the file is
 * busy: the next check will do. LK_INTERNAL after a fork(), or what the file's state makes of it.
 */
lk_outcome lk_change_watch_check(struct lk_change_watch *watch);

/*
 * Checks again and again until it is over, something is due, or `until_us` on lk_clock_now_us():
 * LK_OK. LK_CANCELLED: the waker was thrown. Else as lk_change_watch_check(), which a caller calls
 * first: this one begins with a pause.
 */
lk_outcome lk_change_watch_wait(struct lk_change_watch *watch, int64_t until_us,
                                struct lk_waker *waker);

#endif
