/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is measured beside the service: who else keeps locks, started for the run, and what an
 * acquire and a release are in their protocols. Each is asked for the least that is a lock.
 */
#ifndef LK_BENCH_RIVALS_H
#define LK_BENCH_RIVALS_H

#include "load.h"
#include "peers.h"

struct rival {
    const char *name;
    const char *program; /* that has to be installed */
    struct peer (*start)(const char *folder);
    struct load_protocol protocol;
    bool has_prelude;
    size_t step_count;
    void (*request)(const void *context, size_t number, size_t step,
                    struct load_request *ret_request);
};

/* SET key token NX PX, and the script that compares and deletes. */
extern const struct rival rival_redis;

/* A transaction that puts if there is nothing, and a delete, over JSON as etcd's gateway has it. */
extern const struct rival rival_etcd;

/* An ephemeral node made and deleted. */
extern const struct rival rival_zookeeper;

#endif
