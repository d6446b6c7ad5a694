/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of the system: the calling shell, and the start time of a process. */
#ifndef LK_CLI_PROCESS_H
#define LK_CLI_PROCESS_H

#include <sys/types.h>

/*
 * The shell that called this program: its parent. Where that is a copy which the shell made of
 * itself to run a command substitution, as for TOKEN=$(lk acquire x 2>/dev/null), it is the shell
 * that reads the substitution. 0: in another pid namespace.
 */
pid_t lk_process_shell(void);

/* When the process was started, in clock ticks since boot; 0 if unknown. */
unsigned long long lk_process_start(pid_t pid);

#endif
