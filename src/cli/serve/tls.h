/* SPDX-License-Identifier: Apache-2.0 */
/* lk serve --tls-cert, --tls-key, --tls-ca. */
#ifndef LK_CLI_SERVE_TLS_H
#define LK_CLI_SERVE_TLS_H

#include "cli/parse/command_line.h"
#include "tls/tls.h"

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
