/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was loaded from a store: made on the writer thread, then owned by the core. The store fills
 * model and audit directly, and lists the requests that were bound to a connection (R18).
 */
#ifndef LK_SERVER_CORE_CORE_SNAPSHOT_H
#define LK_SERVER_CORE_CORE_SNAPSHOT_H

#include "lockkeeper/lockkeeper.h"
#include "model/model.h"
#include "server/core/event_log.h"

struct lk_core_snapshot {
    struct lk_model *model;
    lk_audit *audit;
    uint64_t *bound; /* ids of requests */
    size_t bound_count;
    size_t bound_capacity;
    struct lk_quotas quotas; /* R22: as stored; the model's own may override them */
    struct lk_event_log_snapshot event_log;
    bool is_foreign; /* another service has led the store since this one did, and ended all that
                      * was bound to connections of this one; ids may have been used again */
};

/* NULL: memory is exhausted. */
struct lk_core_snapshot *lk_core_snapshot_new(const struct lk_model_config *config);
void lk_core_snapshot_free(struct lk_core_snapshot *snapshot); /* accepts NULL */

/* R22: the configured bound where it is not 0, else the stored one. */
struct lk_quotas lk_quotas_over(const struct lk_quotas *configured, const struct lk_quotas *kept);

/* false: memory is exhausted. */
bool lk_core_snapshot_add_bound(struct lk_core_snapshot *snapshot, uint64_t id);

#endif
