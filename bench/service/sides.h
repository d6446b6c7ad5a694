/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Servers under one load: pairs of acquire and release of one, beside those of another; and a lock
 * that waiters hand to each other, as fast as they can.
 */
#ifndef LK_BENCH_SIDES_H
#define LK_BENCH_SIDES_H

#include "../bench.h"
#include "load.h"
#include "peers.h"

/* One side of a comparison. */
struct side {
    const char *name;
    struct peer peer;
    struct load load;
    double processor_us[BENCH_ROUNDS_MAX + 1]; /* of the server, for each pair, in each round */
    size_t rounds;
};

/* What a comparison must reach with so many connections; 0: no bar. */
struct bars {
    size_t connections;
    double pairs;
    double processor;
};

enum { SIDE_ROUND_MS = 1000, SIDE_CONNECTIONS = 50 };

/* Of lk serve: the pair that is measured, and what it is answered. */
extern const struct load_protocol side_service_protocol;

/* Each connection has its own lock; context: none. */
void side_request_pair(const void *context, size_t number, size_t step,
                       struct load_request *ret_request);

/* lk serve at an address of its own, without HTTP; `words` are its other options, up to NULL. */
struct peer side_start_service(const char *lk, const char *folder, const char *const *words);

/* Takes so many leases of a day at lk serve, which it has or not; asks a second. */
double side_fill(const struct peer *peer, size_t live);

struct load side_load(const struct peer *peer, const struct load_protocol *protocol);
struct side side_of(const char *name, struct peer peer, const struct load_protocol *protocol);

/* Rows of rates and of processor time of the server, for each of the bars. */
void side_compare_all(struct side *ours, struct side *theirs, const struct bars *bars,
                      size_t count);

/* ---- hand-offs ------------------------------------------------------------------------------- */

enum { HANDOFFS_WAITERS = 20 };

struct handoff_figures {
    double round_trip_us; /* of a PING */
    double half_us;       /* from a release to the next grant: the middle, and the p99 */
    double p99_us;
    double most_by_least; /* grants of a client */
};

struct handoff_figures handoffs_measure(const struct peer *peer);

#endif
