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

#include "base/sleepers.h"
#include "engine/postgresql/address.h"

struct lk_postgresql_listener {
    const struct lk_postgresql_address *address;
    pthread_mutex_t mutex;
    pthread_t thread;
    bool is_begun;
    bool is_ending;
    bool is_listening;
    int pipe[2];                 /* a byte written here wakes the thread */
    struct lk_sleepers sleepers; /* by the hash of a wake-up's text */
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

/*
 * Sleeps until a wake-up with this text newer than `version`, or until `until_us`: LK_OK, at once
 * if a wake-up may have been missed. LK_CANCELLED: the waker (which may be NULL) was thrown;
 * LK_INTERNAL.
 */
lk_outcome lk_postgresql_listener_sleep(struct lk_postgresql_listener *listener,
                                        struct lk_slice text, uint64_t version, int64_t until_us,
                                        struct lk_waker *waker);

#endif
