/* SPDX-License-Identifier: Apache-2.0 */
/* CMD as a process: its start, its end, its terminal, and the process group that is signalled. */
#ifndef LK_CLI_RUN_CHILD_H
#define LK_CLI_RUN_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/run/guard.h"
#include "cli/run/signals.h"

/* ---- the terminal ---------------------------------------------------------------------------- */

/* The controlling one, and the witness of the signals that it sends. */

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

struct lk_run_child {
    pid_t pid;         /* also its process group, unless it shares that of lk */
    int descriptor;    /* pidfd: readable when it has ended; -1: this system refuses it, and
                          SIGCHLD alone says it */
    bool shares_group; /* with lk: see below */
    struct lk_run_witness witness;
};

/* What it is started with; everything is borrowed. */
struct lk_run_start {
    char *const *command;
    char *const *environment;
    const struct lk_run_signals *signals;
    struct lk_run_terminal *terminal;
    struct lk_run_guard *guard;
    int input;  /* becomes its stdin; STDIN_FILENO: lk's own does */
    int errors; /* becomes its stderr; 0: lk's own does */
    int report; /* becomes its descriptor `report_number`; 0: none does */
    int report_number;
};

/*
 * Starts CMD, known to the guard before its first instruction: in a process group of its own, in
 * front of the terminal if lk was; or in that of lk, if the terminal is shared. It gets the other
 * standard descriptors, the signal mask and the dispositions that lk was given. Returns 0; the
 * errno with which CMD could not be executed; or a negative one if the system has no process or
 * descriptor for it, which says nothing about CMD.
 */
int lk_run_child_start(const struct lk_run_start *start, struct lk_run_child *ret_child);

/* Says on stderr why `command` was not started, with `error` of the above: its exit code. */
int lk_run_child_say_failure(const char *command, int error);

/* That exit code alone. */
int lk_run_child_failure_code(int error);

/* The exit code of lk for the way CMD ended; -1 while it has not. CMD stays unreaped, so that its
 * pid is not reused. */
int lk_run_child_exit_code(const struct lk_run_child *child);

/* The signal that CMD, which has ended and is not reaped, died of; 0: it exited. */
int lk_run_child_signal(const struct lk_run_child *child);

/* Reaps CMD, which has ended. */
void lk_run_child_done(struct lk_run_child *child);

/* ---- its process group ----------------------------------------------------------------------- */

/*
 * CMD's process group, and what is sent to it. Mostly it is CMD's own, which one call signals at
 * once. In a job of a shell with other members, or whose input is not the terminal, CMD stays in
 * the group of lk: only so can CMD and the others use the terminal. What is meant for CMD alone
 * then goes to those members that CMD has started, and a signal of the terminal, or of `kill %1`,
 * has reached CMD already when lk reads it.
 */

/* Sends a signal to CMD and what it has started in its process group. */
void lk_run_group_signal(const struct lk_run_child *child, const struct lk_run_guard *guard,
                         int signal);

/* Sends a signal to CMD and all that it has started, in any group. */
void lk_run_group_signal_all(const struct lk_run_child *child, const struct lk_run_guard *guard,
                             int signal);

/* Whether anything is left of what CMD has started. */
bool lk_run_group_is_left(const struct lk_run_child *child, const struct lk_run_guard *guard);

/* Passes on a signal that lk got: to the whole group what asks to end (a shell would otherwise wait
 * for its child first), to CMD alone what only a program that knows of it survives. Other signals
 * go nowhere. */
void lk_run_group_pass(const struct lk_run_child *child, const struct lk_run_guard *guard,
                       int signal);

/* Whether CMD has had a signal that lk has just read. `is_from_kernel`: lk_run_signals_next(). */
bool lk_run_group_has_had(struct lk_run_child *child, int signal, bool is_from_kernel);

#endif
