/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that waits for a lock in the queue, and what became of it. */
#ifndef LK_TESTS_LIBRARY_WAITER_H
#define LK_TESTS_LIBRARY_WAITER_H

#include <pthread.h>

#include "support.h"

struct waiter {
    lk_store *store;
    lk_request request; /* points to the waiter itself: do not move it */
    const char *part;
    lk_outcome outcome;
    lk_result *result;
    lk_error error;
    pthread_t thread;
};

/* Sets the waiter up with an LK_WAIT for ever; the request may be changed before the start. */
void waiter_prepare(struct waiter *waiter, lk_store *store, const char *owner, const char *part);
void waiter_start(struct waiter *waiter);

/* Waits for its end, and returns the outcome. Ends the waiter with waiter_done(). */
lk_outcome waiter_join(struct waiter *waiter);
void waiter_done(struct waiter *waiter);

#endif
