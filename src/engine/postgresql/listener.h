/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection and one thread for each store, which listen for wake-ups (LISTEN) on behalf of all
 * waiters of this process. Started with the first wait.
 *
 * A wake-up is a hint. A waiter that misses one queries the store again within a second. So a
 * connection that is lost, or that does not exist (?listen=no, or a pooler in between), costs
 * latency only.
 */
#ifndef LK_ENGINE_POSTGRESQL_LISTENER_H
#define LK_ENGINE_POSTGRESQL_LISTENER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/waker.h"
#include "engine/postgresql/address.h"

enum {
    LK_POSTGRESQL_LISTENER_RECENT_MAX = 1024
}; /* wake-ups remembered for callers that are about to sleep */

struct lk_postgresql_listener_wait; /* one sleeping caller */

struct lk_postgresql_listener {
    const struct lk_postgresql_address *address;
    pthread_mutex_t mutex;
    pthread_t thread;
    bool is_begun;
    bool is_ending;
    bool is_listening;
    int pipe[2];        /* a byte written here wakes the thread */
    uint64_t received;  /* wake-ups so far, plus one for each new connection */
    uint64_t kept_from; /* the first of them that is remembered */
    uint64_t keys[LK_POSTGRESQL_LISTENER_RECENT_MAX];
    struct lk_postgresql_listener_wait *first;
};

bool lk_postgresql_listener_init(struct lk_postgresql_listener *listener,
                                 const struct lk_postgresql_address *address);
void lk_postgresql_listener_done(
    struct lk_postgresql_listener *listener); /* no caller may sleep any more */

/*
 * The number of wake-ups so far; 0: the listener is not started yet. Read before an ask, and given
 * to the sleep.
 */
uint64_t lk_postgresql_listener_version(struct lk_postgresql_listener *listener);

/* The key of a wake-up, made from its text. */
uint64_t lk_postgresql_listener_key(struct lk_slice text);

/*
 * Sleeps until a wake-up of this key newer than `version`, for `duration_us` at most, or until the
 * waker is thrown; returns whether it was. Returns at once if a wake-up may have been missed.
 */
bool lk_postgresql_listener_sleep(struct lk_postgresql_listener *listener, uint64_t key,
                                  uint64_t version, int64_t duration_us, struct lk_waker *waker);

#endif
