/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard: a small process beside CMD that does what lk cannot do when it is gone or stopped.
 * It holds the reading end of a pipe. When that ends without a dismissal, lk has died: CMD's
 * process group is killed and the clean-up command is run. When lk is stopped and lets the
 * promised deadline come, the guard kills the group at the same instant at which lk would have.
 *
 * The guard is made by fork without exec, from a process with threads: between fork and _exit it
 * calls nothing but what is safe there, and closes every descriptor but the standard ones and its
 * own, so that no connection to a store lives on in it. It leads a session of its own, so that
 * nothing which ends lk's job ends it as well.
 */
#ifndef LK_CLI_RUN_GUARD_H
#define LK_CLI_RUN_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/run/cleanup.h"

struct lk_run_guard {
    const struct lk_run_cleanup *cleanup; /* borrowed */
    pid_t pid;
    int pipe; /* the writing end */
    /* What it has been told; comes to its successor with the fork. */
    pid_t command;
    int64_t kill_us;
};

/* Starts it, before CMD. False, with errno, when the system has no process or descriptor left. */
bool lk_run_guard_start(struct lk_run_guard *guard, const struct lk_run_cleanup *cleanup);

/* Somebody has killed the guard (and it has been reaped): starts another one. */
bool lk_run_guard_replace(struct lk_run_guard *guard);

/* CMD exists, in a process group of its own, and has not begun yet. */
void lk_run_guard_command_started(struct lk_run_guard *guard, pid_t command);

/* CMD has ended but is not reaped yet: its number is still nobody else's. */
void lk_run_guard_command_ended(struct lk_run_guard *guard, int exit_code);

/* The instant of lk_clock_now_us() at which CMD must be dead; LK_RUN_NEVER_US: never. */
void lk_run_guard_kill_at(struct lk_run_guard *guard, int64_t kill_us);

/* Said by the clean-up command's own process just before it becomes it: whenever lk dies, either
 * there is such a process, or the guard starts one. */
void lk_run_guard_cleanup_taken(struct lk_run_guard *guard);

/* All is well: ends it and waits until it is gone. */
void lk_run_guard_dismiss(struct lk_run_guard *guard);

#endif
