/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that sleep until a wake-up with their key, and the last wake-ups, so that none is missed:
 *
 *     read `version`, ask the store; it says to wait for `key`;
 *     lk_sleepers_sleep(key, version) returns at once if there was a wake-up in between
 *
 * A wake-up is a hint: a sleep may also end without one. The owner has a mutex that guards all of
 * it. The mutex is held in every call. Lock order: that mutex, waker.
 */
#ifndef LK_BASE_SLEEPERS_H
#define LK_BASE_SLEEPERS_H

#include <sys/queue.h>

#include "base/waker.h"
#include "lockkeeper/terms.h"

enum { LK_WAKE_UPS_RECALLED = 1024 };

/* One thread; lives on its stack. */
struct lk_sleeper {
    LIST_ENTRY(lk_sleeper) list;
    uint64_t key;
    struct lk_waker *waker; /* the caller's, or `own` */
    struct lk_waker own;
    bool is_woken;
};

/* Zeroed: none sleeps, and nothing has happened. Needs no end. */
struct lk_sleepers {
    LIST_HEAD(, lk_sleeper) list;
    uint64_t version;   /* wake-ups so far */
    uint64_t kept_from; /* the first of them that is recalled */
    uint64_t keys[LK_WAKE_UPS_RECALLED];
};

/* Wakes the sleepers that have the key. */
void lk_sleepers_wake(struct lk_sleepers *sleepers, uint64_t key);

/* Wake-ups may have been lost up to now: wakes all. */
void lk_sleepers_wake_all(struct lk_sleepers *sleepers);

/* Whether there was, or may have been, a wake-up with the key since `version`. */
bool lk_sleepers_have_missed(const struct lk_sleepers *sleepers, uint64_t key, uint64_t version);

/*
 * Sleeps, with the mutex free meanwhile, until a wake-up with the key that is newer than `version`,
 * or until `until_us` on the clock of lk_clock_now_us(): LK_OK. LK_CANCELLED: the waker (which may
 * be NULL) was thrown. LK_INTERNAL: the system has no more conditions.
 */
lk_outcome lk_sleepers_sleep(struct lk_sleepers *sleepers, pthread_mutex_t *mutex, uint64_t key,
                             uint64_t version, int64_t until_us, struct lk_waker *waker);

/* ---- for an owner with a loop of its own ----------------------------------------------------- */

/*
 * Adds a sleeper, whose key is set. Its thread sleeps on sleeper->waker until is_woken. `waker` may
 * be NULL. Returns false, without adding it, when the system has no more conditions.
 */
bool lk_sleeper_enter(struct lk_sleepers *sleepers, struct lk_sleeper *sleeper,
                      struct lk_waker *waker);
void lk_sleeper_leave(struct lk_sleeper *sleeper);
void lk_sleeper_wake(struct lk_sleeper *sleeper);

#endif
