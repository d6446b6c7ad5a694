/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Servers under one load: pairs of acquire and release of one, beside those of another; and a lock
 * that waiters hand to each other, as fast as they can. And the other lock services that are such
 * sides.
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

/* ---- lock services --------------------------------------------------------------------------- */

struct lock_service {
    const char *name;
    const char *program; /* that has to be installed */
    const char *file;    /* that has to be there, too; NULL: none */
    bool compiles;       /* itself while it runs, which it is given the time for */
    struct peer (*start)(const char *folder);
    struct load_protocol protocol;
    bool has_prelude;
    size_t step_count;
    void (*request)(const void *context, size_t number, size_t step,
                    struct load_request *ret_request);
};

/* SET key token NX PX, and the script that compares and deletes. */
extern const struct lock_service lock_service_redis;

/* The same, with each write flushed to the disk before its answer (appendfsync always). */
extern const struct lock_service lock_service_redis_durable;

/* A transaction that puts if there is nothing, and a delete, over JSON as etcd's gateway has it. */
extern const struct lock_service lock_service_etcd;

/* The same in etcd's own protocol, as its clients in Go speak it. */
extern const struct lock_service lock_service_etcd_grpc;

/* The locks that etcd has itself (v3lockpb), whose holders are known by a lease; that is granted by
 * lock_service_etcd_grant(). One lease for all connections, as a program has one session. */
extern const struct lock_service lock_service_etcd_locks;
void lock_service_etcd_grant(const struct peer *etcd);

/* An ephemeral node made and deleted. */
extern const struct lock_service lock_service_zookeeper;

/* Starts it, with its files in the folder, as a side of a comparison. */
struct side lock_service_side(const struct lock_service *lock_service, const char *folder);

/* The same of one that runs. */
struct side lock_service_side_of(const struct lock_service *lock_service, struct peer peer);

/* Whether it is installed; else the reason why not. */
bool lock_service_is_there(const struct lock_service *lock_service, char ret_why[BENCH_TEXT_BYTES]);

/*
 * Starts it for the rows of a comparison, and stops it. If it is not installed, a row says so.
 */
void lock_service_compare(struct side *ours, const struct lock_service *lock_service,
                          const char *folder, const struct bars *bars, size_t count);

#endif
