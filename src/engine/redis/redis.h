/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine `redis:`, and over TLS `rediss:`: a Redis server or a Redis Cluster, of version 6.2 or
 * later, or a fork.
 *
 * The rules are applied on the server, by a script (the Lua files of this folder) that answers an
 * ask in one exchange on the node that has the root's slot. The C code finds that node, sends the
 * ask, decodes the answer, and sleeps until the server publishes a grant.
 */
#ifndef LK_ENGINE_REDIS_H
#define LK_ENGINE_REDIS_H

#include "engine/engine.h"

extern const struct lk_engine_ops lk_engine_redis;
extern const struct lk_engine_ops lk_engine_rediss;

/*
 * For tests: shifts the servers' clock as this store sees it, and reads it as of the last answer.
 */
void lk_redis_shift_clock(struct lk_engine *engine, int64_t by_us);
int64_t lk_redis_last_now_us(const struct lk_engine *engine);

#endif
