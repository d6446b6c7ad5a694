/* SPDX-License-Identifier: Apache-2.0 */
/* A list of sleepers, and a ring of keys. */
#include "base/sleepers.h"

#include "base/clock.h"

void lk_sleeper_wake(struct lk_sleeper *sleeper) {
    sleeper->is_woken = true;
    lk_waker_nudge(sleeper->waker);
}

void lk_sleepers_wake(struct lk_sleepers *sleepers, uint64_t key) {
    struct lk_sleeper *sleeper;

    sleepers->keys[sleepers->version++ % LK_WAKE_UPS_RECALLED] = key;
    if (sleepers->version - sleepers->kept_from > LK_WAKE_UPS_RECALLED) {
        sleepers->kept_from = sleepers->version - LK_WAKE_UPS_RECALLED;
    }
    LIST_FOREACH(sleeper, &sleepers->list, list) {
        if (sleeper->key == key) {
            lk_sleeper_wake(sleeper);
        }
    }
}

void lk_sleepers_wake_all(struct lk_sleepers *sleepers) {
    struct lk_sleeper *sleeper;

    sleepers->kept_from = ++sleepers->version;
    LIST_FOREACH(sleeper, &sleepers->list, list) {
        lk_sleeper_wake(sleeper);
    }
}

bool lk_sleepers_have_missed(const struct lk_sleepers *sleepers, uint64_t key, uint64_t version) {
    bool have_missed = version < sleepers->kept_from;

    for (; !have_missed && version < sleepers->version; version++) {
        have_missed = sleepers->keys[version % LK_WAKE_UPS_RECALLED] == key;
    }
    return have_missed;
}

bool lk_sleeper_enter(struct lk_sleepers *sleepers, struct lk_sleeper *sleeper,
                      struct lk_waker *waker) {
    sleeper->waker = waker != NULL ? waker : &sleeper->own;
    sleeper->is_woken = false;
    if (waker == NULL && !lk_waker_init(&sleeper->own)) {
        return false;
    }
/* gcc 14 does not see that a sleeper leaves the list before its function ends. */
#if defined __GNUC__ && __GNUC__ >= 12 && !defined __clang__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdangling-pointer"
#endif
    LIST_INSERT_HEAD(&sleepers->list, sleeper, list);
#if defined __GNUC__ && __GNUC__ >= 12 && !defined __clang__
#pragma GCC diagnostic pop
#endif
    return true;
}

void lk_sleeper_leave(struct lk_sleeper *sleeper) {
    LIST_REMOVE(sleeper, list);
    if (sleeper->waker == &sleeper->own) {
        lk_waker_done(&sleeper->own);
    }
}

lk_outcome lk_sleepers_sleep(struct lk_sleepers *sleepers, pthread_mutex_t *mutex, uint64_t key,
                             uint64_t version, int64_t until_us, struct lk_waker *waker) {
    struct lk_sleeper sleeper = {.key = key};
    bool is_thrown = false;
    int64_t left_us;

    if (lk_sleepers_have_missed(sleepers, key, version)) {
        return LK_OK;
    }
    if (!lk_sleeper_enter(sleepers, &sleeper, waker)) {
        return LK_INTERNAL;
    }
    while (!sleeper.is_woken && !is_thrown && (left_us = until_us - lk_clock_now_us()) > 0) {
        pthread_mutex_unlock(mutex);
        is_thrown = lk_waker_sleep(sleeper.waker, left_us);
        pthread_mutex_lock(mutex);
    }
    lk_sleeper_leave(&sleeper);
    return is_thrown ? LK_CANCELLED : LK_OK;
}
