/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes below lk. lk is a subreaper, so that whoever CMD started stays below it, also after
 * leaving CMD's process group or being daemonised. What is out of reach: other machines, other
 * users' processes (sudo), whatever a daemon starts on CMD's behalf (containers).
 */
#ifndef LK_CLI_RUN_DESCENDANTS_H
#define LK_CLI_RUN_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Sends `signal` (0: none) to every living descendant of this process but `spared` and whatever is
 * below that one, and to nobody in `skipped_group` (0: no such group), who has been reached
 * otherwise. Returns how many were found in all. Processes that are born meanwhile may be missed:
 * repeat it until it finds none. Finds none where /proc cannot be read.
 */
size_t lk_run_descendants_signal(pid_t spared, pid_t skipped_group, int signal);

/* Whether nobody lives in this process group but descendants of this process. */
bool lk_run_descendants_own_group(pid_t group);

#endif
