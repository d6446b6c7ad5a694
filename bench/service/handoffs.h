/* SPDX-License-Identifier: Apache-2.0 */
/* A lock that waiters hand to each other, as fast as they can. */
#ifndef LK_BENCH_HANDOFFS_H
#define LK_BENCH_HANDOFFS_H

#include "peers.h"

enum { HANDOFFS_WAITERS = 20 };

struct handoff_figures {
    double round_trip_us; /* of a PING */
    double half_us;       /* from a release to the next grant: the middle, and the p99 */
    double p99_us;
    double most_by_least; /* grants of a client */
};

struct handoff_figures handoffs_measure(const struct peer *peer);

#endif
