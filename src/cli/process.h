/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of the system: the calling shell, and the start time of a process. */
#ifndef LK_CLI_PROCESS_H
#define LK_CLI_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * The shell that called this program: its parent. Where that is a copy which the shell made of
 * itself to run a command substitution, as for TOKEN=$(lk acquire x 2>/dev/null), it is the shell
 * that reads the substitution. 0: in another pid namespace.
 */
pid_t lk_process_shell(void);

/*
 * Whether the process is a shell, whose commands run one after the other, as far as the name of its
 * program says: /proc/PID/exe, or where that may not be read, /proc/PID/comm.
 */
bool lk_process_is_shell(pid_t pid);

/* Whether a shell has started this program. */
bool lk_process_has_shell(void);

/* When the process was started, in clock ticks since boot; 0 if unknown. */
unsigned long long lk_process_start(pid_t pid);

#endif
