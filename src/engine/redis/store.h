/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a store that the parts of the engine share. */
#ifndef LK_ENGINE_REDIS_STORE_H
#define LK_ENGINE_REDIS_STORE_H

#include <stdatomic.h>

#include "engine/redis/client/subscriber.h"
#include "engine/redis/client/topology.h"

struct lk_redis {
    struct lk_engine engine;
    struct lk_tls_context *tls; /* NULL: redis: */
    struct lk_redis_topology topology;
    struct lk_redis_subscriber subscriber;
    char name[LK_REDIS_NAME_BYTES_MAX + 1]; /* prefix of this process's channels */
    _Atomic uint32_t tags[LK_REDIS_SLOTS];  /* of floors, + 1 (call.c); 0: not computed */
    atomic_bool lacks_replicas;             /* the last call's grant is unconfirmed: call.h */
    _Atomic int64_t shift_us;               /* tests: added to the servers' clock */
    _Atomic int64_t last_now_us;            /* the servers' time at the last answer */
};

static inline struct lk_redis *lk_redis_of(struct lk_engine *engine) {
    return (struct lk_redis *)engine; /* the engine is its first member */
}

#endif
