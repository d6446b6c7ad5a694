/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keep-alive of a store: a timekeeper thread, and workers that renew leases concurrently. The
 * timekeeper and one worker start with the first lease, further workers when they are needed, and
 * the revocation watch when a lease with a long ttl has been held for a moment.
 *
 * Each lease has a reference to its keep-alive, so that a handle can be freed after its store was
 * closed. Deadlines are on this machine's clock, from the moment the last successful ask or renewal
 * was sent.
 */
#ifndef LK_CLIENT_KEEPALIVE_H
#define LK_CLIENT_KEEPALIVE_H

#include <pthread.h>

#include "base/heap.h"
#include "client/contact.h"
#include "client/safe_until.h"
#include "engine/engine.h"

struct lk_keepalive;

struct lk_lease {
    struct lk_keepalive *keepalive;

    /* Set before the lease is added, and never changed; a release that fails closes the tie. */
    struct lk_target target; /* with the token; owner and paths point into `text` */
    struct lk_part *parts;
    uint64_t *tokens; /* room for one of each part; target.tokens, if there are any (R14) */
    char *text;
    char *owner; /* in `text` */
    int64_t ttl_ms;
    bool is_fixed;      /* R11: has a fixed end, and is never renewed */
    bool can_put;       /* the store keeps values (R15) */
    struct lk_tie *tie; /* R18: the connection that it ends with; NULL: none */
    const struct lk_tie_ops *tie_ops;

    /* Of the call that ends the lease. */
    bool is_release_sent;  /* and not known to have been carried out */
    uint64_t puts_hash;    /* of the values that it writes */
    int64_t stay_until_us; /* at_least_ms after the grant, on lk_clock_now_us(); 0: none */

    struct lk_safe_until safe_until; /* read by any thread at any time */

    /* Guarded by the keep-alive. */
    int64_t renew_at_us;
    bool is_busy;      /* is being renewed, or its callback runs: must not be freed */
    pthread_t busy_in; /* the thread that does so */
    bool is_retrying;  /* the last attempt to renew it failed */
    bool is_revoked;   /* the store has told so, and no renewal has been sent since */
    bool is_watched;   /* is in the list of those that the revocation watch is for */
    struct lk_lease *next_watched;
    struct lk_lease **watched_link; /* that points to it */
    bool callback_has_run;          /* or runs now */
    void (*callback)(void *context, lk_lease *lease);
    void *context;
    struct lk_heap *heap; /* the heap that has `node`; NULL: the lease is busy or removed */
    struct lk_heap_node node;
};

/* NULL when the system is exhausted. Engine and contact are borrowed until lk_keepalive_close(). */
struct lk_keepalive *lk_keepalive_new(struct lk_engine *engine, struct lk_contact *contact);

/*
 * Closes: ends the threads, waits for calls under way, and unrefs. Leases perish by their ttl, and
 * those that are bound at once.
 */
void lk_keepalive_close(struct lk_keepalive *keepalive);

/* Whether this process made it; false in a child of fork(). */
bool lk_keepalive_is_mine(const struct lk_keepalive *keepalive);

/* The store and each lease have a reference. The last unref, after the closing, frees it. */
void lk_keepalive_ref(struct lk_keepalive *keepalive);
void lk_keepalive_unref(struct lk_keepalive *keepalive);

/* Starts the threads, if they do not run yet; that for leases with a tie, too, if it is needed.
 * Returns whether they do. */
bool lk_keepalive_start(struct lk_keepalive *keepalive, bool has_ties);

/*
 * From here to lk_keepalive_remove() the lease is renewed, or watched until its fixed end. Removing
 * blocks until a renewal or callback of the lease that runs has ended, except inside that callback.
 */
void lk_keepalive_add(struct lk_keepalive *keepalive, struct lk_lease *lease);
void lk_keepalive_remove(struct lk_keepalive *keepalive, struct lk_lease *lease);

/* Sets the callback, or with NULL unsets it. Blocks until the former one does not run any more. */
void lk_keepalive_watch(struct lk_keepalive *keepalive, struct lk_lease *lease,
                        void (*callback)(void *context, lk_lease *lease), void *context);

/*
 * The engine, for a call on behalf of a lease, such as its release; NULL when the store is closed.
 * Every call that was begun must be ended: closing blocks until then.
 */
struct lk_engine *lk_keepalive_begin_call(struct lk_keepalive *keepalive);
void lk_keepalive_end_call(struct lk_keepalive *keepalive);

#endif
