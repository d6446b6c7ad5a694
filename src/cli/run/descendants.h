/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of a run, found in /proc. lk is a subreaper: while it lives, stopped or not,
 * everything that CMD started is below it in the process tree, also what has left CMD's process
 * group or has become a daemon. Once lk is dead the tree is cut, and the mark (mark.h) identifies
 * them. What is out of reach: other machines, other users' processes (sudo), and what a daemon
 * starts on CMD's behalf (containers).
 *
 * Everything here is safe between fork and exec: the guard uses it.
 */
#ifndef LK_CLI_RUN_DESCENDANTS_H
#define LK_CLI_RUN_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cli/run/mark.h"

/* Which processes are meant: those below `root`, those in `group`, those with the mark, and all
 * that is below one of them. */
struct lk_run_scope {
    pid_t root;       /* this process, or its parent as long as that lives */
    pid_t spared;     /* not this one, nor what is below it alone */
    pid_t spared_too; /* nor this one; 0: there is none */
    pid_t within;     /* only members of this process group are signalled; 0: all are */
    pid_t group;      /* CMD's; found, but not signalled here: kill(-group) does that. 0: none */
    const struct lk_run_mark *mark; /* NULL: none */
};

/*
 * Sends `signal` (0: none) to every living process in the scope. Returns how many were found in
 * all. A process that is born meanwhile may be missed: callers repeat it until it finds none.
 * Finds none where /proc cannot be read.
 */
size_t lk_run_descendants_signal(const struct lk_run_scope *scope, int signal);

/* When a process was started, in ticks since boot, by which it differs from a later one with its
 * number; 0: it has ended. */
unsigned long long lk_run_descendants_started(pid_t pid);

/* Whether this process is the only one of its process group. */
bool lk_run_descendants_is_alone(void);

/* Whether all processes of this process group are descendants of this process. */
bool lk_run_descendants_own_group(pid_t group);

#endif
