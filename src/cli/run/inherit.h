/* SPDX-License-Identifier: Apache-2.0 */
/* The lease that this process runs under: whether it covers the request, or stands in its way. */
#ifndef LK_CLI_RUN_INHERIT_H
#define LK_CLI_RUN_INHERIT_H

#include "cli/run/run.h"

/*
 * Reads the lease that LK_OWNER and LK_TOKEN name from the store, and changes nothing there.
 * LK_GRANTED: it is live and covers each part asked for (R8); LK_BUSY: it does not, or there is
 * none; or whatever kept it from being looked at. *error says what is missing.
 */
lk_outcome lk_run_inherit_check(const struct lk_run_options *options, lk_error *error);

/*
 * Without --inherit. LK_DEADLOCK: the request would wait for the lease that LK_OWNER and LK_TOKEN
 * name, or one around it (LK_OUTER), which is not released before this process ends; or it is that
 * very lease in another mode.
 * LK_GRANTED: the request names the owner of that lease, which covers it: to be run under, as with
 * --inherit, because a release would end it for the run around this one. LK_OK: neither, or it
 * cannot be said. Reads the store only if a path of these leases is related (R5) to one of the
 * request.
 */
lk_outcome lk_run_nested_check(const struct lk_run_options *options, lk_error *error);

#endif
