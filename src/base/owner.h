/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The form of an owner that is made, not named by the user: `user@host/pid:BOOT:NUMBER:NUMBER`.
 * The part before the first ':' behind the last '/' is for people; the rest makes it unique.
 */
#ifndef LK_BASE_OWNER_H
#define LK_BASE_OWNER_H

#include <stddef.h>
#include <sys/types.h>

#include "base/text.h"

enum { LK_OWNER_BYTES_MAX = 128 };

/*
 * Adds `user@host`: only ASCII that can be printed, each name cut to its bound. The user database
 * is asked once for each user id of the process, which may block as getpwuid_r(3) does.
 */
void lk_owner_add_user(struct lk_text *owner);

/* Adds `user@host/pid:BOOT`: BOOT is the start of the boot's id in hex, 0 if it cannot be read. */
void lk_owner_add_process(struct lk_text *owner, pid_t pid);

/* How many bytes of `owner` are for people: `user@host/pid` of a made one, all of any other. */
size_t lk_owner_shown_size(const char *owner);

#endif
