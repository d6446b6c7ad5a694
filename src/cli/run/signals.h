/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signals of `lk run`: blocked everywhere, read from one descriptor, and given back to every
 * program that is started as they were found. What was ignored when lk was started (nohup, a
 * background job of a script) stays ignored and is passed on as ignored.
 */
#ifndef LK_CLI_RUN_SIGNALS_H
#define LK_CLI_RUN_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* A signal that comes sooner after another one has the same cause: a terminal that is closed and
 * its shell both send SIGHUP. */
#define LK_SAME_SIGNAL_US INT64_C(250000)

struct lk_run_signals {
    sigset_t found_mask;
    struct sigaction found_child_action;
    int descriptor; /* signalfd: everything lk acts on */
};

/*
 * Blocks the signals for this thread and all that it will start, and opens the descriptor. They
 * stay blocked: the process is about to end when a run is over. False, with errno, when the
 * system has no descriptor left.
 */
bool lk_run_signals_open(struct lk_run_signals *signals);

/* The next signal, 0 when there is none now. Never blocks. */
int lk_run_signals_next(const struct lk_run_signals *signals);

/* The same, and whether the kernel has sent it, as it sends those of a terminal, to the whole
 * process group. */
int lk_run_signals_next_from(const struct lk_run_signals *signals, bool *ret_is_from_kernel);

/* In a fresh child: mask and dispositions as lk found them. Safe between fork and exec. */
void lk_run_signals_restore(const struct lk_run_signals *signals);

/* Whether a signal ends lk while it waits in the queue. */
bool lk_run_signal_is_end(int signal);

/* Whether this process was started with the signal ignored. */
bool lk_run_signal_is_ignored(int signal);

/* Takes a blocked signal that has come, if it has: whether it had. Never blocks. */
bool lk_run_signal_take(int signal);

/* A signal that has been read has ended this call: if the terminal has sent it, lk dies of it. */
void lk_run_signal_ends(int signal, bool is_from_kernel);

/* Takes a signal that ends a wait and has come, but has not been read from the descriptor; 0: there
 * is none. */
int lk_run_signals_take_end(bool *ret_is_from_kernel);

/* Whether one has come, which is left: not for signals whose default action ends the process. */
bool lk_run_signals_have_end(void);

enum lk_run_signal_target {
    LK_RUN_TO_NOBODY = 0,
    LK_RUN_TO_COMMAND = 1,
    LK_RUN_TO_GROUP = 2,
};

/* What a signal that lk got is passed on to. */
enum lk_run_signal_target lk_run_signal_target(int signal);

/*
 * Stops this process (and with `whole_group` its process group, which is the shell's job) as
 * SIGTSTP does, and returns true when it is continued; the SIGCONT is taken from the descriptor.
 * Returns false at once in an orphaned process group, where no shell could continue it, and where
 * SIGTSTP is ignored.
 */
bool lk_run_signals_stop_here(bool whole_group);

/* ---- dying of a signal ----------------------------------------------------------------------- */

/*
 * The end of a program by Ctrl-C or Ctrl-\. A shell that runs a script has had the signal too. It
 * ends the script if the command that it waited for has died of that signal, and goes on if the
 * command has exited, with whatever code. So a call that the terminal's signal has ended gives back
 * what it holds, and then dies of that signal itself.
 */

/*
 * The terminal's `signal` has ended this call: lk_death_conclude() dies of it. Signals but SIGINT
 * and SIGQUIT are ignored here. `spreads`: the signal went to another process group, and has yet to
 * be sent to that of lk.
 */
void lk_death_note(int signal, bool spreads);

/* Dies of the signal that was noted, if one was. Returns `exit_code` otherwise, and where no signal
 * can end this process (it is the first one of a container, or found the signal ignored). */
int lk_death_conclude(int exit_code);

#endif
