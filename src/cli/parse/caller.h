/* SPDX-License-Identifier: Apache-2.0 */
/* The process that calls `lk`: which one it is, and the owner that is made for it. */
#ifndef LK_CLI_PARSE_CALLER_H
#define LK_CLI_PARSE_CALLER_H

#include <stdbool.h>
#include <sys/types.h>

/* ---- processes ------------------------------------------------------------------------------- */

/* Processes of the system: the calling shell, and the start time of a process. */

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

/* ---- its owner ------------------------------------------------------------------------------- */

/*
 * The owner of a plain command without --owner and $LK_OWNER: made of user, host, the pid of the
 * calling process, boot, pid namespace (base/owner.h), and one number more.
 *
 * Of a shell that is its start time. So `lk acquire` and `lk release` in one script have the same
 * owner, and two scripts never do. Any other program may start commands from several threads, or
 * for several jobs, which must exclude each other: there it is a random number, which makes each
 * command another owner.
 */

enum { LK_OWNER_TEXT_SIZE = 129 };

/* Fills ret_owner as above. */
void lk_caller_owner(char ret_owner[LK_OWNER_TEXT_SIZE]);

/*
 * The same, but one owner for all commands of the calling process, whatever program it is: for
 * claims, of which each is another item also if they have the same owner (R16).
 */
void lk_caller_claimant(char ret_owner[LK_OWNER_TEXT_SIZE]);

/* `user@host`: recorded as the author of a break. */
void lk_shell_user(char ret_user[LK_OWNER_TEXT_SIZE]);

#endif
