/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owner of a plain command without --owner and $LK_OWNER: made of user, host, the pid of the
 * calling process, boot, pid namespace (base/owner.h), and one number more.
 *
 * Of a shell that is its start time. So `lk acquire` and `lk release` in one script have the same
 * owner, and two scripts never do. Any other program may start commands from several threads, or
 * for several jobs, which must exclude each other: there it is a random number, which makes each
 * command another owner.
 */
#ifndef LK_CLI_PARSE_OWNER_H
#define LK_CLI_PARSE_OWNER_H

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
