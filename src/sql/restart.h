/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After a restart (R11): of the machine, when the rows' deadlines are on a clock that is gone, or
 * of the service, when they are not.
 *
 * A request that was live then lives at least until now + the smaller of its ttl and 60 s, and as
 * long as it was promised if that is longer. This happens once: a further restart before its next
 * renewal adds nothing. An `until` is not changed. A request that was dead then stays dead, swept
 * or not: the last moment at which the store is known to have worked is the latest ask or renewal
 * that its rows show.
 *
 * After a restart of the machine only the wall clock is known. Each deadline was therefore also
 * written by the wall clock.
 */
#ifndef LK_SQL_RESTART_H
#define LK_SQL_RESTART_H

#include "sql/meta.h"

/*
 * Sets *ret_is_same to whether the rows are on the clock of `times` although their boot has a
 * different id: some containers (systemd-nspawn, LXC) have their own id and their host's clocks.
 * The evidence is the difference between wall clock and boot clock, which is stored with every
 * deadline: a second boot of a machine begins at another instant. The answer is no if no request is
 * live, or if the wall clock was stepped by more than a second.
 *
 * A wrong yes (a machine whose wall clock begins at the same instant at each boot) costs no safety:
 * all holders of this machine's file have died with the former boot.
 */
int lk_sql_is_same_boot(struct lk_sql *sql, const struct lk_times *times, bool *ret_is_same);

/* To be called inside a write transaction. `boot_id` is of the boot whose clock `times` are on. */
int lk_sql_restart(struct lk_sql *sql, const struct lk_sql_meta *meta, const char *boot_id,
                   const struct lk_times *times);

#endif
