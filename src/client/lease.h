/* SPDX-License-Identifier: Apache-2.0 */
/* The making of leases that are kept alive, for the calls that get them granted. */
#ifndef LK_CLIENT_LEASE_H
#define LK_CLIENT_LEASE_H

#include "client/store.h"

/*
 * A lease with room for the owner and so many parts, whose paths have together path_bytes at most:
 * made before the store is asked, so that what is granted always has its handle. NULL when memory
 * is exhausted. Ends with lk_lease_begin(), or lk_lease_discard().
 */
lk_lease *lk_lease_new(const char *owner, size_t part_count, size_t path_bytes);
void lk_lease_discard(lk_lease *lease);

/* What a grant said. */
struct lk_grant {
    const struct lk_part *parts; /* as many as there is room for; copied */
    uint64_t token;
    int64_t ttl_ms;
    int64_t sent_us;       /* when it was asked for, on lk_clock_now_us() */
    int64_t expires_in_ms; /* from then on */
    bool is_fixed;
};

/* Puts the lease under the store's keep-alive, which runs: lk_keepalive_start(). */
void lk_lease_begin(lk_lease *lease, lk_store *store, const struct lk_grant *grant);

#endif
