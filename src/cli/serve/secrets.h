/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of a service's file, and the file of its password. */
#ifndef LK_CLI_SERVE_SECRETS_H
#define LK_CLI_SERVE_SECRETS_H

#include "lockkeeper/terms.h"

enum {
    LK_SERVE_PASSWORD_BYTES = 258
}; /* with its end, and one more, by which a longer one is found */

/*
 * The directory of a service's file, made if it is not there (0700): `directory`, or NULL for
 * lockkeeper/service in the user's state directory. LK_OK with *ret_directory for free().
 */
lk_outcome lk_serve_directory_make(const char *directory, char **ret_directory, lk_error *error);

/* The first line of a file. LK_OK, LK_DENIED, or LK_INVALID. */
lk_outcome lk_serve_password_read(const char *path, char ret_password[LK_SERVE_PASSWORD_BYTES],
                                  lk_error *error);

/* Warns on stderr if every user of the machine can read the file of `what`. May block on stderr. */
void lk_serve_secrets_warn(const char *path, const char *what);

#endif
