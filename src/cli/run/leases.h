/* SPDX-License-Identifier: Apache-2.0 */
/* The leases that CMD runs under, each of which it needs. */
#ifndef LK_CLI_RUN_LEASES_H
#define LK_CLI_RUN_LEASES_H

#include "lockkeeper/lockkeeper.h"

struct lk_run_leases {
    lk_lease *const *all; /* borrowed, as the leases are */
    size_t count;
};

/* One that is lost, else the one whose deadline is nearest; NULL: there is none. */
const lk_lease *lk_run_leases_weakest(const struct lk_run_leases *leases);

#endif
