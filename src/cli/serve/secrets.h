/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a service: its directory, its password and its certificate. */
#ifndef LK_CLI_SERVE_SECRETS_H
#define LK_CLI_SERVE_SECRETS_H

#include "cli/parse/command_line.h"
#include "lockkeeper/terms.h"
#include "tls/tls.h"

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

/* ---- certificates ---------------------------------------------------------------------------- */

/* lk serve --tls-cert, --tls-key, --tls-ca. */

/*
 * LK_OK with *ret_context, for lk_tls_context_free(); NULL: the options ask for no TLS. Other
 * outcomes as lk_tls_server_new(), or LK_INVALID: an option is missing.
 */
lk_outcome lk_serve_tls_open(const struct lk_command_line *line,
                             struct lk_tls_context **ret_context, lk_error *error);

/*
 * SIGHUP: reads the files of the options. Without usable ones the former certificate stays, and the
 * log says why. No effect without a context (NULL), or where the options ask for no TLS.
 */
void lk_serve_tls_read_again(const struct lk_command_line *line, struct lk_tls_context *context);

#endif
