/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the engine know of a store. */
#ifndef LK_ENGINE_REDIS_STORE_H
#define LK_ENGINE_REDIS_STORE_H

#include "engine/redis/fleet.h"
#include "engine/redis/listener.h"

struct lk_redis {
    struct lk_engine engine;
    struct lk_redis_fleet fleet;
    struct lk_redis_listener listener;
    char name[LK_REDIS_NAME_BYTES_MAX + 1]; /* what the channels of this process begin with */
    _Atomic int64_t shift_us;               /* tests: added to the servers' clock */
    _Atomic int64_t last_now_us;            /* the servers' time at the last answer */
};

static inline struct lk_redis *lk_redis_of(struct lk_engine *engine) {
    return (struct lk_redis *)engine; /* its first member */
}

#endif
