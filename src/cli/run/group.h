/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CMD's process group, and what is sent to it. Mostly it is CMD's own, which one call signals at
 * once. In a job of a shell with other members, or whose input is not the terminal, CMD stays in
 * the group of lk: only so can CMD and the others use the terminal (terminal.h). What is meant for
 * CMD alone then goes to those members that CMD has started, and a signal of the terminal, or of
 * `kill %1`, has reached CMD already when lk reads it.
 */
#ifndef LK_CLI_RUN_GROUP_H
#define LK_CLI_RUN_GROUP_H

#include "cli/run/child.h"

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
