/* SPDX-License-Identifier: Apache-2.0 */
/* The files of /proc, read by nothing but calls that are safe between fork and exec. */
#ifndef LK_CLI_RUN_PROC_H
#define LK_CLI_RUN_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { LK_RUN_PROC_NAME_MAX = 16 };

/* Opens /proc/PID/NAME for reading; `name` has at most LK_RUN_PROC_NAME_MAX bytes. -1: the process
 * is gone, or the file is not for this user. */
int lk_run_proc_open(pid_t pid, const char *name);

/* Reads the beginning of that file into a text of `size` bytes. False: as above, or it is empty. */
bool lk_run_proc_read(pid_t pid, const char *name, char *ret_text, size_t size);

#endif
