/* SPDX-License-Identifier: Apache-2.0 */
/* Which of several leases decides how long CMD may run. */
#include "cli/run/leases.h"

const lk_lease *lk_run_leases_weakest(const struct lk_run_leases *leases) {
    const lk_lease *weakest = NULL;
    int64_t least_ms = INT64_MAX;

    for (size_t i = 0; i < leases->count; i++) {
        const lk_lease *lease = leases->all[i];
        int64_t remaining_ms = lk_lease_remaining_ms(lease);

        if (lk_lease_is_lost(lease)) {
            return lease;
        }
        if (weakest == NULL || remaining_ms < least_ms) {
            weakest = lease;
            least_ms = remaining_ms;
        }
    }
    return weakest;
}
