/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGHUP: the settings are read again, and the files that they name. What cannot be used stays as
 * it was, and the log says why. A setting that cannot change while the service runs keeps its
 * value, and the log names it.
 */
#ifndef LK_CLI_SERVE_RELOAD_H
#define LK_CLI_SERVE_RELOAD_H

#include "access/users.h"
#include "cli/serve/options.h"
#include "cli/serve/secrets.h"
#include "cli/serve/settings.h"
#include "tls/tls.h"

/* What can be read again. Freed by lk_serve_reloadable_free(). */
struct lk_serve_reloadable {
    const struct lk_command_line *given;   /* the command line alone */
    const struct lk_command_line *started; /* all settings, as the service was started */
    struct lk_serve_settings settings; /* as they were last read; its command is NULL: started */
    const char *hosts[LK_SERVE_HOSTS_MAX]; /* those of the settings */
    char password[LK_SERVE_PASSWORD_BYTES];
    struct lk_users *users;     /* NULL: there are none */
    struct lk_tls_context *tls; /* of the ports; NULL: none */
};

/* Reads the users of the settings, if these name any. On failure the former ones stay. */
lk_outcome lk_serve_reloadable_read_users(struct lk_serve_reloadable *reloadable, lk_error *error);

/* lk_server_options.reload */
void lk_serve_reload(struct lk_serve_reloadable *reloadable, struct lk_server *server);
void lk_serve_reloadable_free(struct lk_serve_reloadable *reloadable);

#endif
