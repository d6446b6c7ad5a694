/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells whether a signal was sent to CMD's whole process group, as a terminal and `kill %1` do, or
 * to one process. A small process in that group blocks every signal and waits: what is pending for
 * it was sent to the group. The kernel signals a group in one go, the youngest member first, so a
 * signal that lk has, or of which CMD has died, is pending here by then if it was for the group.
 *
 * Started only where there is a terminal.
 */
#ifndef LK_CLI_RUN_WITNESS_H
#define LK_CLI_RUN_WITNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct lk_run_witness {
    pid_t pid;     /* 0: there is none, and no signal counts as the group's */
    pid_t group;   /* that it is in */
    uint64_t seen; /* signals that its predecessors had, and that were not asked for so far */
};

/* Starts it in `group`, which is CMD's. Where that fails, there is none. */
void lk_run_witness_start(struct lk_run_witness *witness, pid_t group);

/* Whether the group was sent this signal since the last call that returned true. */
bool lk_run_witness_has(struct lk_run_witness *witness, int signal);

/* The process with this number has been reaped: was it this one? There is none from now on. */
bool lk_run_witness_is_gone(struct lk_run_witness *witness, pid_t pid);

/* Ends it, if there is one. */
void lk_run_witness_end(struct lk_run_witness *witness);

#endif
