/* SPDX-License-Identifier: Apache-2.0 */
/* All roots of the store. Reads the name of every key of the servers. */
#ifndef LK_ENGINE_REDIS_ROOTS_H
#define LK_ENGINE_REDIS_ROOTS_H

#include "engine/redis/store.h"

struct lk_redis_walk {
    struct lk_redis *store;
    const char *suffix; /* of the key that a root must have, behind its prefix: ":lk:h" */
    const struct lk_patience *patience;

    /* Called for each such root, which may be met twice. An outcome but LK_OK ends the walk. */
    lk_outcome (*visit)(void *context, const struct lk_path *root, lk_error *error);
    void *context;
};

lk_outcome lk_redis_walk_roots(const struct lk_redis_walk *walk, lk_error *error);

#endif
