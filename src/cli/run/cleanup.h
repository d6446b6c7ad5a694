/* SPDX-License-Identifier: Apache-2.0 */
/* --cleanup: one command for /bin/sh; LK_EXIT is the exit code of CMD. */
#ifndef LK_CLI_RUN_CLEANUP_H
#define LK_CLI_RUN_CLEANUP_H

#include "cli/run/environment.h"
#include "cli/run/signals.h"

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

#endif
