/* SPDX-License-Identifier: Apache-2.0 */
/* The service's password comes from a file: arguments and environment are not private. */
#ifndef LK_CLI_SERVE_PASSWORD_H
#define LK_CLI_SERVE_PASSWORD_H

#include "lockkeeper/terms.h"

enum { LK_SERVE_PASSWORD_BYTES_MAX = 256 };

/*
 * The file's first line. LK_OK; LK_INVALID (it is empty, too long, or others than its owner can
 * read it); LK_UNAVAILABLE (there is no such file) or LK_DENIED.
 */
lk_outcome lk_serve_password_read(const char *path,
                                  char ret_password[LK_SERVE_PASSWORD_BYTES_MAX + 1],
                                  lk_error *error);

#endif
