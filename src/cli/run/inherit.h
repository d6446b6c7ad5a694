/* SPDX-License-Identifier: Apache-2.0 */
/* --inherit: whether the lease that this process runs under covers the request. */
#ifndef LK_CLI_RUN_INHERIT_H
#define LK_CLI_RUN_INHERIT_H

#include "cli/run/run.h"

/*
 * Reads the lease that LK_OWNER and LK_TOKEN name from the store, and changes nothing there.
 * LK_GRANTED: it is live and covers each part asked for (R8); LK_BUSY: it does not, or there is
 * none; or whatever kept it from being looked at. *error says what is missing.
 */
lk_outcome lk_run_inherit_check(const struct lk_run_options *options, lk_error *error);

#endif
