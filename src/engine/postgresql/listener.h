/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection and one thread for each store that listen for wake-ups (LISTEN), for whichever
 * waiters this process has. Begun with the first wait.
 *
 * A wake-up is a hint. Whoever misses one looks again by himself within a second; so a connection
 * that is away, or none at all (?listen=no, a pooler in between), costs promptness only.
 */
#ifndef LK_ENGINE_POSTGRESQL_LISTENER_H
#define LK_ENGINE_POSTGRESQL_LISTENER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/waker.h"
#include "engine/postgresql/place.h"

enum { LK_LISTENER_RECALLED = 1024 }; /* wake-ups remembered for those who are about to sleep */

struct lk_listener_wait; /* one sleeper */

struct lk_listener {
    const struct lk_postgresql_place *place;
    pthread_mutex_t mutex;
    pthread_t thread;
    bool is_begun;
    bool is_ending;
    bool is_listening;
    int pipe[2];        /* written to: the thread looks up */
    uint64_t heard;     /* wake-ups so far, and one for each new beginning */
    uint64_t kept_from; /* the first of them that is remembered */
    uint64_t keys[LK_LISTENER_RECALLED];
    struct lk_listener_wait *first;
};

bool lk_listener_init(struct lk_listener *listener, const struct lk_postgresql_place *place);
void lk_listener_done(struct lk_listener *listener); /* nobody sleeps any more */

/* How much has been heard; 0: nobody listens yet. Taken before an ask, given to the sleep. */
uint64_t lk_listener_version(struct lk_listener *listener);

/* The key of what a wake-up is about: its text. */
uint64_t lk_listener_key(struct lk_slice text);

/*
 * Sleeps until a wake-up of this key that came after `version`, for `duration_us` at most, or until
 * the waker is thrown; returns whether it is. Returns at once when something may have been missed.
 */
bool lk_listener_sleep(struct lk_listener *listener, uint64_t key, uint64_t version,
                       int64_t duration_us, struct lk_waker *waker);

#endif
