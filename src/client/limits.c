/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds that a store keeps (R22). */
#include "base/error.h"
#include "client/checked.h"
#include "client/wait.h"

lk_outcome lk_limits_get(lk_store *store, lk_limits *ret_limits, lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    lk_limits limits;
    lk_outcome outcome = lk_store_check_can(store, LK_CAN_LIMITS, error);

    if (outcome == LK_OK && ret_limits->size != sizeof *ret_limits) {
        outcome = lk_error_set(error, LK_INVALID, "the size of lk_limits is not set");
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    lk_error_clear(error, LK_OK);
    limits.size = sizeof limits;
    outcome = store->engine->ops->limits->get(store->engine, &patience, &limits, error);
    if (outcome == LK_OK) {
        *ret_limits = limits;
    }
    return outcome;
}

static bool is_limit(uint64_t limit, uint64_t max) {
    return limit == LK_LIMIT_AS_IS || limit <= max;
}

lk_outcome lk_limits_set(lk_store *store, const lk_limits *limits, lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    lk_limits known;
    lk_outcome outcome = lk_store_check_can(store, LK_CAN_LIMITS, error);

    if (outcome == LK_OK) {
        outcome = lk_checked_copy(&known, sizeof known, limits, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    if (!is_limit(known.live, LK_LIMIT_MAX) || !is_limit(known.live_per_owner, LK_LIMIT_MAX)
        || !is_limit(known.live_per_root, LK_LIMIT_MAX)
        || !is_limit(known.waiters_per_path, LK_LIMIT_MAX)
        || !is_limit(known.events, LK_EVENTS_KEPT_MAX)) {
        return lk_error_set(error, LK_INVALID,
                            "R22: a bound is at most %d, and at most %d events are kept",
                            LK_LIMIT_MAX, LK_EVENTS_KEPT_MAX);
    }
    lk_error_clear(error, LK_OK);
    return store->engine->ops->limits->set(store->engine, &known, &patience, error);
}
