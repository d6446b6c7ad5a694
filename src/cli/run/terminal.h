/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controlling terminal. If lk is alone in its process group, as a job that an interactive shell
 * has made of it alone, and the terminal is its input, CMD has a group of its own, to which the
 * terminal is lent while lk's job is in the foreground. Otherwise CMD stays in the group of lk: the
 * rest of a pipeline (a pager), or the script around lk, reads the terminal and its signals, too.
 */
#ifndef LK_CLI_RUN_TERMINAL_H
#define LK_CLI_RUN_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

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

#endif
