/* SPDX-License-Identifier: Apache-2.0 */
/* A warning at the start of a worker: a Redis server may drop the queue that it works on. */
#ifndef LK_CLI_RUN_EVICTION_H
#define LK_CLI_RUN_EVICTION_H

#include <lockkeeper/lockkeeper.h>

/*
 * Writes a line for each server of a Redis store that evicts keys. Other stores are not asked. The
 * caller waits so long for work; a server that is silent is not waited for much longer.
 */
void lk_warn_of_eviction(lk_store *store, int64_t wait_ms);

#endif
