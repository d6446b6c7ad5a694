/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard, and the clean-up command that it may run. The guard is a small process beside CMD that
 * acts for lk when lk is dead or stopped. It holds the reading end of a pipe. End of file without a
 * dismissal means that lk has died: the guard kills CMD and all that it started, and runs the
 * clean-up command. If lk is stopped at the confirmed deadline, the guard kills them at the same
 * instant at which lk would have. If CMD has ended by itself before, the processes that it left in
 * the background are left alone (supervise.h).
 *
 * What CMD started is found as descendants.h says: below lk while lk lives, by its mark, and by
 * CMD's process group. Where CMD shares that with the rest of a shell's job (child.h) and has died
 * together with lk, a process that has lost its mark (env -i) is not found.
 *
 * The guard is made by fork without exec, from a process with threads: between fork and _exit it
 * calls nothing but what is safe there, and closes every descriptor but the standard ones and its
 * own, so that it keeps no connection to a store open but that of a bound lease (R18): if lk is
 * killed, that one ends with the guard, when CMD is dead. It leads a session of its own, so that
 * a signal that ends lk's job does not end the guard.
 */
#ifndef LK_CLI_RUN_GUARD_H
#define LK_CLI_RUN_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/run/descendants.h"
#include "cli/run/environment.h"
#include "cli/run/signals.h"

/* ---- the clean-up command -------------------------------------------------------------------- */

/* --cleanup: one command for /bin/sh; LK_EXIT is the exit code of CMD. */

struct lk_run_guard;

/* Everything is borrowed and outlives lk and its guard. */
struct lk_run_cleanup {
    const char *command; /* NULL: none */
    struct lk_run_environment *environment;
    const struct lk_run_signals *signals;
};

/* In a fresh child: becomes /bin/sh with this command, mask and dispositions as lk found them. Safe
 * between fork and exec. */
_Noreturn void lk_run_become_shell(const char *command, char *const *environment,
                                   const struct lk_run_signals *signals);

/* Starts it in a child of this process, with standard descriptors, mask and dispositions as lk
 * found them; tells `guard` (NULL: this is the guard) not to start it. Returns its process, -1
 * with errno on failure. Safe in a forked child. */
pid_t lk_run_cleanup_start(const struct lk_run_cleanup *cleanup, struct lk_run_guard *guard,
                           int exit_code);

/* Starts it and waits for its end; signals that end are passed on to it. Its code is ignored. */
void lk_run_cleanup_run(const struct lk_run_cleanup *cleanup, struct lk_run_guard *guard,
                        int exit_code);

/* ---- the guard ------------------------------------------------------------------------------- */

struct lk_run_guard {
    const struct lk_run_cleanup *cleanup; /* borrowed */
    pid_t pid;
    int pipe;                /* the writing end */
    int connection;          /* of a bound lease; -1: none */
    struct lk_run_mark mark; /* of all that CMD starts; put on by child.h */
    /* The state sent to it; a successor inherits it by fork. */
    pid_t command;
    bool shares_group; /* CMD does, with lk */
    int64_t kill_us;
    bool is_ending;
};

/*
 * Starts it, before CMD. `connection` is that of a bound lease, open until the guard is dismissed;
 * -1: none. False, with errno, when the system has no process or descriptor left.
 */
bool lk_run_guard_start(struct lk_run_guard *guard, const struct lk_run_cleanup *cleanup,
                        int connection);

/* The guard was killed (and has been reaped): starts another one. */
bool lk_run_guard_replace(struct lk_run_guard *guard);

/* CMD exists, in a process group of its own or in that of lk, and has not begun yet. */
void lk_run_guard_command_started(struct lk_run_guard *guard, pid_t command, bool shares_group);

/* lk begins to end CMD: the guard no longer takes its end for the command's own exit. */
void lk_run_guard_ending_begins(struct lk_run_guard *guard);

/* CMD has ended but is not reaped yet: its pid is not reused yet. */
void lk_run_guard_command_ended(struct lk_run_guard *guard, int exit_code);

/* The instant of lk_clock_now_us() at which CMD must be dead; LK_RUN_NEVER_US: never. */
void lk_run_guard_kill_at(struct lk_run_guard *guard, int64_t kill_us);

/* Sent by the process of the clean-up command just before exec. So whenever lk dies, either that
 * process exists, or the guard starts one. */
void lk_run_guard_cleanup_taken(struct lk_run_guard *guard);

/* Dismisses the guard and waits until it has ended. */
void lk_run_guard_dismiss(struct lk_run_guard *guard);

#endif
