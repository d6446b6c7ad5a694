/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After a restart (R11): of the machine, when the rows' deadlines are on a clock that is gone, or
 * of the service, when they are not.
 *
 * What lived then lives at least until now + the smaller of its ttl and 60 s, and as long as it was
 * promised if that is longer; once: a further restart before its next renewal gives nothing more.
 * An `until` stays what it was. What was dead by then stays dead, swept or not: the last moment at
 * which the store is known to have worked is the latest ask or renewal that its rows show.
 *
 * Of a restart of the machine the wall clock is all that is known, at which each deadline was
 * written down, too.
 */
#ifndef LK_SQL_RESTART_H
#define LK_SQL_RESTART_H

#include "sql/ledger.h"

/* Inside a write transaction. `boot_id` is of the boot whose clock `times` are on. */
int lk_sql_restart(struct lk_sql *sql, const struct lk_sql_meta *meta, const char *boot_id,
                   const struct lk_times *times);

#endif
