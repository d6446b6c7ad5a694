/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine `shm:NAME[?keys=N&holders=N&permits=N]`: limits (R7c) in the shared memory of one
 * machine, on src/canal.
 *
 * A lease here is a permit: bound to the process that took it (R18), without a deadline. Each is
 * held by a holder of its own in the region, which carries owner and note for listings. Only this
 * process can release or renew it; calls from other processes are refused.
 *
 * There is no queue: a blocked wait asks again, a few milliseconds apart.
 */
#ifndef LK_ENGINE_SHM_SHM_H
#define LK_ENGINE_SHM_SHM_H

#include <pthread.h>

#include "engine/engine.h"
#include "lockkeeper/canal.h"

/* What this process holds of the region. */
struct lk_shm_lease {
    struct lk_shm_lease *next;
    lk_canal_holder *holder;
    lk_canal_permit permit;
    uint64_t token;
    uint32_t limit;
    uint32_t units;
    size_t owner_size;
    size_t path_size;
    char owner[LK_OWNER_BYTES_MAX];
    char path[LK_CANAL_KEY_BYTES_MAX];
};

struct lk_shm_engine {
    struct lk_engine engine;
    lk_canal *canal;
    lk_canal_options options; /* it was opened with them */
    pthread_mutex_t mutex; /* guards all of this; held while the region is asked, which is brief */
    struct lk_shm_lease *leases;
    char name[LK_CANAL_NAME_BYTES_MAX + 1];
};

static inline struct lk_shm_engine *lk_shm_of(struct lk_engine *engine) {
    return (struct lk_shm_engine *)engine; /* its first member */
}

/* ---- shm.c ---------------------------------------------------------------------------------- */

/* After the region's file was removed or replaced: opens the name again. Nothing may be held. */
lk_outcome lk_shm_open_again(struct lk_shm_engine *shm, struct lk_error *error);

/* ---- leases.c -------------------------------------------------------------------------------- */

lk_outcome lk_shm_decide(struct lk_engine *engine, const struct lk_command *command,
                         const struct lk_patience *patience, struct lk_decision *ret_decision);

/*
 * ---- queries.c ----------------------------------------------------------------------------------
 */

lk_outcome lk_shm_list(struct lk_engine *engine, const struct lk_path *prefix,
                       const struct lk_patience *patience, lk_listing **ret_listing,
                       struct lk_error *error);
lk_outcome lk_shm_show(struct lk_engine *engine, const struct lk_path *path,
                       const struct lk_patience *patience, lk_listing **ret_listing,
                       struct lk_error *error);
lk_outcome lk_shm_examine(struct lk_engine *engine, const struct lk_patience *patience,
                          lk_report **ret_report, struct lk_error *error);

/*
 * Adds up to `max` holders of permits of the path to a refused result (R20).
 * Returns false when memory is exhausted.
 */
bool lk_shm_name_holders(struct lk_shm_engine *shm, const struct lk_path *path, size_t max,
                         lk_result *result);

#endif
