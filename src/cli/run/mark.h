/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mark of a run: a random name in the environment variable LK_RUN of CMD, which every process
 * that CMD starts inherits. It identifies them when the process tree no longer does: once lk is
 * dead, what has left CMD's process group is a child of init or of another subreaper.
 *
 * LK_RUN lists the marks of all runs that a process is under, outermost first: ending a run also
 * ends the runs inside it.
 */
#ifndef LK_CLI_RUN_MARK_H
#define LK_CLI_RUN_MARK_H

#include <stdbool.h>
#include <sys/types.h>

enum { LK_RUN_MARK_SIZE = 2 * 16 + 1 }; /* 128 random bits in hexadecimal digits */

struct lk_run_mark {
    char text[LK_RUN_MARK_SIZE];
};

void lk_run_mark_make(struct lk_run_mark *mark);

/* CMD's environment: `environment` with the mark added to LK_RUN. Borrows all other variables.
 * NULL when memory is exhausted; ends with lk_run_mark_environment_free(). */
char **lk_run_mark_environment(const struct lk_run_mark *mark, char *const *environment);
void lk_run_mark_environment_free(char **environment);

/*
 * Whether the process was started with the mark in its environment. False where that cannot be
 * read: the process is gone, or belongs to another user. Safe between fork and exec.
 */
bool lk_run_mark_is_on(const struct lk_run_mark *mark, pid_t pid);

#endif
