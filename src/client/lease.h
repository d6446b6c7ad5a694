/* SPDX-License-Identifier: Apache-2.0 */
/* Making leases that are kept alive, for the calls that acquire or claim them. */
#ifndef LK_CLIENT_LEASE_H
#define LK_CLIENT_LEASE_H

#include "client/store.h"

/*
 * A lease with room for the owner and so many parts, whose paths have path_bytes in all at most.
 * It is made before the store is asked, so that a grant never lacks its handle. NULL when memory is
 * exhausted. To be passed to lk_lease_begin() or lk_lease_discard().
 */
lk_lease *lk_lease_new(const char *owner, size_t part_count, size_t path_bytes);
void lk_lease_discard(lk_lease *lease);

/* The answer of the store to a granted ask or claim. */
struct lk_grant {
    const struct lk_part *parts; /* as many as there is room for; copied */
    uint64_t token;
    const uint64_t *tokens; /* R14: of each part, where nodes have drawn one each; else NULL */
    int64_t ttl_ms;
    int64_t sent_us;       /* when the ask was sent, on lk_clock_now_us() */
    int64_t expires_in_ms; /* from then on */
    bool is_fixed;
    int64_t at_least_ms; /* 0: none */
};

/* Adds the lease to the store's keep-alive, which lk_keepalive_start() has started. */
void lk_lease_begin(lk_lease *lease, lk_store *store, const struct lk_grant *grant);

/*
 * The lease is about to be ended by other means: it is not renewed any more, so that it is not
 * found lost, and its callback does not run. To be called before, and not inside its callback.
 */
void lk_lease_retire(lk_lease *lease);

/*
 * lk_lease_release() for the last caller of the lease: frees the handle in every case. What is not
 * known to have ended ends at its deadline.
 */
lk_outcome lk_lease_release_for_good(lk_lease *lease, lk_error *error);

/* The same of lk_lease_release_now(). */
lk_outcome lk_lease_release_now_for_good(lk_lease *lease, lk_error *error);

/* For how long the lease has to stay from now on, as a ttl of its last renewal; 0: it may end. */
int64_t lk_lease_stay_ms(const lk_lease *lease);

/*
 * Frees the handle of a lease in a store that does not answer. A thread of the store releases the
 * lease when it answers; lk_close() waits a moment for that.
 */
void lk_lease_release_later(lk_lease *lease, lk_store *store);

/* R18: the socket that a bound lease ends with; -1: the lease is not bound. */
int lk_lease_connection(const lk_lease *lease);

#endif
