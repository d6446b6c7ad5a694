/* SPDX-License-Identifier: Apache-2.0 */
/* The options of lk serve, as the server takes them. */
#ifndef LK_CLI_SERVE_OPTIONS_H
#define LK_CLI_SERVE_OPTIONS_H

#include "cli/parse/command_line.h"
#include "server/options.h"

enum {
    LK_SERVE_UNIX_BYTES = 256,
    LK_SERVE_HOSTS_MAX = 64,
    LK_SERVE_HOST_BYTES_MAX = 100, /* that is advertised */
    LK_SERVE_SOCKETS_MAX = 3,      /* that another process can pass: resp, unix, http */
    LK_SERVE_SOCKET_BYTES = 32,
};

/* What the options point into. */
struct lk_serve_options {
    struct lk_server_options server;
    char unix_address[LK_SERVE_UNIX_BYTES];
    const char *hosts[LK_SERVE_HOSTS_MAX];
    char socket_addresses[LK_SERVE_SOCKETS_MAX][LK_SERVE_SOCKET_BYTES]; /* empty: not passed */
};

/*
 * Fills `options->server` from a command line, but for password, directory and callbacks, which
 * stay as they are. Texts are borrowed from the line. LK_OK; LK_INVALID: *error names the option.
 */
lk_outcome lk_serve_options_fill(const struct lk_command_line *line,
                                 struct lk_serve_options *options, lk_error *error);

/* What single options cannot say: LK_INVALID where one needs another one. */
lk_outcome lk_serve_options_check(const struct lk_command_line *line,
                                  const struct lk_server_options *options, lk_error *error);

#endif
