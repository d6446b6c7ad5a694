/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who asks, where a plain command names no --owner: $LK_OWNER, else one made of user, host, boot,
 * pid namespace and the calling shell's pid and start time, so that `lk acquire` and `lk release`
 * in one script belong together and two scripts never do.
 */
#ifndef LK_CLI_OWNER_H
#define LK_CLI_OWNER_H

enum { LK_OWNER_TEXT_SIZE = 129 };

/* Fills ret_owner with the owner made for the calling process's parent. */
void lk_shell_owner(char ret_owner[LK_OWNER_TEXT_SIZE]);

/* `user@host`: who a break is recorded as done by. */
void lk_shell_user(char ret_user[LK_OWNER_TEXT_SIZE]);

#endif
