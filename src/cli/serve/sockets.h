/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets that the process that started the service has opened for it, as systemd does
 * (sd_listen_fds(3)): LISTEN_PID, LISTEN_FDS, and LISTEN_FDNAMES with the names resp, unix and
 * http.
 */
#ifndef LK_CLI_SERVE_SOCKETS_H
#define LK_CLI_SERVE_SOCKETS_H

#include "cli/serve/options.h"

/*
 * If there are any, puts them in the place of the listeners of these names. A listener without a
 * socket is opened only if the line names its address. The variables are removed. LK_OK; LK_INVALID
 * with what is wrong with the variables, or with the option that names a listener twice.
 */
lk_outcome lk_serve_sockets_take(const struct lk_command_line *line,
                                 struct lk_serve_options *options, lk_error *error);

#endif
