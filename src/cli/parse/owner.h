/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owner of a plain command without --owner: $LK_OWNER, else one made of user, host, the calling
 * shell's pid, boot, pid namespace and the shell's start time (base/owner.h). So `lk acquire` and
 * `lk release` in one script have the same owner, and two scripts never do.
 */
#ifndef LK_CLI_PARSE_OWNER_H
#define LK_CLI_PARSE_OWNER_H

enum { LK_OWNER_TEXT_SIZE = 129 };

/* Fills ret_owner with the owner made for the calling process's parent. */
void lk_shell_owner(char ret_owner[LK_OWNER_TEXT_SIZE]);

/* `user@host`: recorded as the author of a break. */
void lk_shell_user(char ret_user[LK_OWNER_TEXT_SIZE]);

#endif
