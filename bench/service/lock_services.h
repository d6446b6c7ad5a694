/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other lock services that are measured, started for the run, and the requests that acquire and
 * release a lock in their protocols. Each is measured with its simplest lock.
 */
#ifndef LK_BENCH_LOCK_SERVICES_H
#define LK_BENCH_LOCK_SERVICES_H

#include "../bench.h"
#include "load.h"
#include "peers.h"
#include "sides.h"

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
