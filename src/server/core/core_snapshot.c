/* SPDX-License-Identifier: Apache-2.0 */
/* What was loaded from a store. */
#include "server/core/core_snapshot.h"

#include <stdlib.h>

#include "engine/reply/reply.h"

struct lk_core_snapshot *lk_core_snapshot_new(const struct lk_model_config *config) {
    struct lk_core_snapshot *snapshot = calloc(1, sizeof *snapshot);

    if (snapshot == NULL) {
        return NULL;
    }
    snapshot->model = lk_model_new(config);
    snapshot->audit = lk_audit_new();
    if (snapshot->model == NULL || snapshot->audit == NULL) {
        lk_core_snapshot_free(snapshot);
        return NULL;
    }
    return snapshot;
}

void lk_core_snapshot_free(struct lk_core_snapshot *snapshot) {
    if (snapshot == NULL) {
        return;
    }
    lk_model_free(snapshot->model);
    lk_audit_free(snapshot->audit);
    free(snapshot->bound);
    lk_event_ring_drop_oldest(&snapshot->event_log.ring, 0, 0);
    free(snapshot);
}

static uint64_t bound_over(uint64_t configured, uint64_t kept) {
    return configured != 0 ? configured : kept;
}

struct lk_quotas lk_quotas_over(const struct lk_quotas *configured, const struct lk_quotas *kept) {
    return (struct lk_quotas){
        .live_max = bound_over(configured->live_max, kept->live_max),
        .live_per_owner_max = bound_over(configured->live_per_owner_max, kept->live_per_owner_max),
        .live_per_root_max = bound_over(configured->live_per_root_max, kept->live_per_root_max),
        .waiters_per_path_max =
            bound_over(configured->waiters_per_path_max, kept->waiters_per_path_max),
    };
}

bool lk_core_snapshot_add_bound(struct lk_core_snapshot *snapshot, uint64_t id) {
    if (snapshot->bound_count == snapshot->bound_capacity) {
        size_t capacity = snapshot->bound_capacity == 0 ? 64 : snapshot->bound_capacity * 2;
        uint64_t *bound = realloc(snapshot->bound, capacity * sizeof *bound);
        if (bound == NULL) {
            return false;
        }
        snapshot->bound = bound;
        snapshot->bound_capacity = capacity;
    }
    snapshot->bound[snapshot->bound_count++] = id;
    return true;
}
