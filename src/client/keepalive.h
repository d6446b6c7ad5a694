/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keeps a store's leases alive: a thread that watches the time, and workers that renew side by
 * side; all are started when the first lease is asked for, or when they are needed.
 *
 * Each lease counts as a user of its keep-alive, so that a handle can be freed after its store was
 * closed. Deadlines are this machine's, reckoned from the moment the successful renewal was sent.
 */
#ifndef LK_CLIENT_KEEPALIVE_H
#define LK_CLIENT_KEEPALIVE_H

#include <pthread.h>

#include "base/heap.h"
#include "client/safe_until.h"
#include "engine/engine.h"

struct lk_keepalive;

struct lk_lease {
    struct lk_keepalive *keepalive;

    /* Set before the lease is added, and never changed. */
    struct lk_target target; /* with its token; owner and paths are in `text` */
    struct lk_part *parts;
    char *text;
    char *owner; /* in `text` */
    int64_t ttl_ms;
    bool is_fixed; /* R11: ends when it ends; nothing to renew */
    bool can_put;  /* the store keeps values (R15) */

    struct lk_safe_until safe_until; /* read by any thread at any time */

    /* Guarded by the keep-alive. */
    int64_t renew_at_us;
    bool is_busy;      /* being renewed, or its callback runs: not to be freed */
    pthread_t busy_in; /* the thread that does it */
    bool is_troubled;  /* the last attempt to renew it failed */
    bool is_told;      /* the callback was called */
    void (*callback)(void *context, lk_lease *lease);
    void *context;
    struct lk_heap *heap; /* that has `node`; NULL: none, it is busy or removed */
    struct lk_heap_node node;
};

/* NULL when the system is exhausted. The engine is borrowed until lk_keepalive_close(). */
struct lk_keepalive *lk_keepalive_new(struct lk_engine *engine);

/* The store closes: ends the threads, waits for calls under way; leases perish by their ttl. */
void lk_keepalive_close(struct lk_keepalive *keepalive);

/* Whether this process is the one that made it; false in a child of fork(). */
bool lk_keepalive_is_mine(const struct lk_keepalive *keepalive);

/* One user more or less. The last one, after the closing, frees it. */
void lk_keepalive_hold(struct lk_keepalive *keepalive);
void lk_keepalive_drop(struct lk_keepalive *keepalive);

/* Starts the threads, if they do not run yet. Returns whether they do. */
bool lk_keepalive_start(struct lk_keepalive *keepalive);

/*
 * From here to lk_keepalive_remove() the lease is kept alive, or watched to its fixed end. Removing
 * waits until the lease is unused: until the renewal or the callback that runs has ended.
 */
void lk_keepalive_add(struct lk_keepalive *keepalive, struct lk_lease *lease);
void lk_keepalive_remove(struct lk_keepalive *keepalive, struct lk_lease *lease);

/* Sets the callback, or with NULL unsets it, when the former one does not run (any more). */
void lk_keepalive_watch(struct lk_keepalive *keepalive, struct lk_lease *lease,
                        void (*callback)(void *context, lk_lease *lease), void *context);

/*
 * The engine, for a call of the lease's own; NULL when the store is closed. A call that was begun
 * must be ended: closing waits for it.
 */
struct lk_engine *lk_keepalive_begin_call(struct lk_keepalive *keepalive);
void lk_keepalive_end_call(struct lk_keepalive *keepalive);

#endif
