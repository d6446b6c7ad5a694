/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits at the store, in a thread of its own, for leases that are revoked (R12), so that a holder
 * learns of it long before its next renewal.
 */
#ifndef LK_CLIENT_REVOCATION_WATCH_H
#define LK_CLIENT_REVOCATION_WATCH_H

#include <pthread.h>

#include "engine/engine.h"

/* What the thread calls; from its own thread, and without a lock. */
struct lk_revocation_watch_calls {
    /* Blocks while no lease is to be watched. false: the thread ends. */
    bool (*await_leases)(void *context);
    void (*on_revoked)(void *context, const struct lk_revoked *revoked);
    void *context;
};

/* Zeroed: not started. */
struct lk_revocation_watch {
    bool is_started;
    pthread_t thread;
    struct lk_waker waker; /* thrown by stopping */
    struct lk_engine *engine;
    struct lk_revocation_watch_calls calls;
};

/* Starts the thread. false: the system has no room for one. */
bool lk_revocation_watch_start(struct lk_revocation_watch *watch, struct lk_engine *engine,
                               const struct lk_revocation_watch_calls *calls);

/* Ends the thread, once await_leases() returns false. Nothing, if it was not started. */
void lk_revocation_watch_stop(struct lk_revocation_watch *watch);

#endif
