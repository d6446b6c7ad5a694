/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of a run: found in /proc by their descent from lk, and by the mark that all of them
 * carry. The guard uses what is safe between fork and exec.
 */
#ifndef LK_CLI_RUN_DESCENDANTS_H
#define LK_CLI_RUN_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* ---- files of /proc -------------------------------------------------------------------------- */

/* The files of /proc, read by nothing but calls that are safe between fork and exec. */

enum { LK_RUN_PROC_NAME_MAX = 16 };

/* Opens /proc/PID/NAME for reading; `name` has at most LK_RUN_PROC_NAME_MAX bytes. -1: the process
 * is gone, or the file is not for this user. */
int lk_run_proc_open(pid_t pid, const char *name);

/* Reads the beginning of that file into a text of `size` bytes. False: as above, or it is empty. */
bool lk_run_proc_read(pid_t pid, const char *name, char *ret_text, size_t size);

/* ---- the mark of a run ----------------------------------------------------------------------- */

/*
 * The mark of a run: a random name in the environment variable LK_RUN of CMD, which every process
 * that CMD starts inherits. It identifies them when the process tree no longer does: once lk is
 * dead, what has left CMD's process group is a child of init or of another subreaper.
 *
 * LK_RUN lists the marks of all runs that a process is under, outermost first: ending a run also
 * ends the runs inside it.
 */

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

/* ---- the processes --------------------------------------------------------------------------- */

/*
 * The processes of a run, found in /proc. lk is a subreaper: while it lives, stopped or not,
 * everything that CMD started is below it in the process tree, also what has left CMD's process
 * group or has become a daemon. Once lk is dead the tree is cut, and the mark identifies them. What
 * is out of reach: other machines, other users' processes (sudo), and what a daemon starts on CMD's
 * behalf (containers).
 *
 * Everything here is safe between fork and exec: the guard uses it.
 */

/* Which processes are meant: those below `root`, those in `group`, those with the mark, and all
 * that is below one of them. */
struct lk_run_scope {
    pid_t root;       /* this process, or its parent as long as that lives */
    pid_t spared;     /* not this one, nor what is below it alone */
    pid_t spared_too; /* nor this one; 0: there is none */
    pid_t within;     /* only members of this process group are signalled; 0: all are */
    pid_t group;      /* CMD's; found, but not signalled here: kill(-group) does that. 0: none */
    const struct lk_run_mark *mark; /* NULL: none */
};

/*
 * Sends `signal` (0: none) to every living process in the scope. Returns how many were found in
 * all. A process that is born meanwhile may be missed: callers repeat it until it finds none.
 * Finds none where /proc cannot be read.
 */
size_t lk_run_descendants_signal(const struct lk_run_scope *scope, int signal);

/* When a process was started, in ticks since boot, by which it differs from a later one with its
 * number; 0: it has ended. */
unsigned long long lk_run_descendants_started(pid_t pid);

/* Whether this process is the only one of its process group. */
bool lk_run_descendants_is_alone(void);

/* Whether all processes of this process group are descendants of this process. */
bool lk_run_descendants_own_group(pid_t group);

#endif
