/* SPDX-License-Identifier: Apache-2.0 */
/* The controlling terminal, and the witness of the signals that it sends. */
#ifndef LK_CLI_RUN_TERMINAL_H
#define LK_CLI_RUN_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The controlling terminal. If lk is alone in its process group, as a job that an interactive shell
 * has made of it alone, and the terminal is its input, CMD has a group of its own, to which the
 * terminal is lent while lk's job is in the foreground. Otherwise CMD stays in the group of lk: the
 * rest of a pipeline (a pager), or the script around lk, reads the terminal and its signals, too.
 */

struct lk_run_terminal {
    int descriptor; /* -1: there is none */
    pid_t lent_to;  /* the group; 0: it is not lent */
    bool is_shared; /* CMD stays in the group of lk */
};

/* Before any process is started. */
void lk_run_terminal_open(struct lk_run_terminal *terminal);
void lk_run_terminal_close(struct lk_run_terminal *terminal);

/* Makes `group` the foreground group if lk's own is it now and the terminal is not shared;
 * otherwise does nothing. Returns whether it did. */
bool lk_run_terminal_lend(struct lk_run_terminal *terminal, pid_t group);

/* Makes lk's own group the foreground group again if the terminal was lent, and is not another
 * group's by now: a shell takes it from a job that is stopped by SIGSTOP, without notice. */
void lk_run_terminal_take_back(struct lk_run_terminal *terminal);

/* ---- the witness ----------------------------------------------------------------------------- */

/*
 * Tells whether a signal was sent to CMD's whole process group, as a terminal and `kill %1` do, or
 * to one process. A small process in that group blocks every signal and waits: what is pending for
 * it was sent to the group. The kernel signals a group in one go, the youngest member first, so a
 * signal that lk has, or of which CMD has died, is pending here by then if it was for the group.
 *
 * Started only where there is a terminal.
 */

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
