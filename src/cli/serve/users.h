/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a service's users. */
#ifndef LK_CLI_SERVE_USERS_H
#define LK_CLI_SERVE_USERS_H

#include "access/users.h"

/*
 * Reads and parses the file, and checks that the methods of its hashes are known here. LK_OK with
 * *ret_file, for lk_users_apply(); LK_DENIED: it must not be read, or others may write it;
 * LK_INVALID: no file of users, with its line; LK_UNSUPPORTED: a library is not installed.
 */
lk_outcome lk_serve_users_read(const char *path, struct lk_users_file **ret_file, lk_error *error);

#endif
