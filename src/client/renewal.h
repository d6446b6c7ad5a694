/* SPDX-License-Identifier: Apache-2.0 */
/* How long one attempt to renew a lease may take, and how much of its answer may be relied on. */
#ifndef LK_CLIENT_RENEWAL_H
#define LK_CLIENT_RENEWAL_H

#include "base/minmax.h"
#include "client/keepalive.h"

/*
 * R18: for how long at most a bound lease is relied on after the service was heard on its
 * connection. It must be less than the time after which the service gives up a peer that it cannot
 * reach, and with it the lease: 30 s, unless it is told otherwise.
 */
#define LK_BOUND_PROMISE_MS INT64_C(20000)

#define LK_RENEWAL_US_MIN INT64_C(250000)
#define LK_RENEWAL_US_MAX INT64_C(1000000) /* the first one: so that few workers hang at a time */
#define LK_RENEWAL_RETRY_US_MAX INT64_C(10000000)

/*
 * Until when one attempt to renew may wait for the store: so that there are several attempts before
 * the lease's deadline.
 */
static inline int64_t lk_renewal_until_us(const struct lk_lease *lease) {
    int64_t max_us = lease->is_retrying ? LK_RENEWAL_RETRY_US_MAX : LK_RENEWAL_US_MAX;
    int64_t share_us = lk_max(LK_RENEWAL_US_MIN, lk_min(max_us, lease->ttl_ms * 1000 / 6));

    return lk_min(lk_clock_now_us() + share_us, lk_safe_until_until_us(&lease->safe_until));
}

/* When a holder stops relying on a lease that the store ends `span_ms` after the call was sent. */
static inline int64_t lk_renewal_end_us(const struct lk_lease *lease, int64_t sent_us,
                                        int64_t span_ms) {
    return lk_safe_until_end_us(sent_us, lease->tie != NULL ? lk_min(span_ms, LK_BOUND_PROMISE_MS)
                                                            : span_ms);
}

#endif
