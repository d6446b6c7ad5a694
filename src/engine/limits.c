/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds (R22) in the open. */
#include "engine/reply.h"

void lk_limits_from_quotas(const struct lk_quotas *quotas, uint64_t events, lk_limits *ret_limits) {
    ret_limits->live = quotas->live_max;
    ret_limits->live_per_owner = quotas->live_per_owner_max;
    ret_limits->live_per_root = quotas->live_per_root_max;
    ret_limits->waiters_per_path = quotas->waiters_per_path_max;
    ret_limits->events = events;
}

static void set(uint64_t limit, uint64_t *quota) {
    if (limit != LK_LIMIT_AS_IS) {
        *quota = limit;
    }
}

void lk_limits_into_quotas(const lk_limits *limits, struct lk_quotas *quotas) {
    set(limits->live, &quotas->live_max);
    set(limits->live_per_owner, &quotas->live_per_owner_max);
    set(limits->live_per_root, &quotas->live_per_root_max);
    set(limits->waiters_per_path, &quotas->waiters_per_path_max);
}
