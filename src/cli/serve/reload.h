/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes from outside while a service runs, and what the service manager is told.
 *
 * SIGHUP: the settings are read again, and the files that they name. What cannot be used stays as
 * it was, and the log says why. A setting that cannot change while the service runs keeps its
 * value, and the log names it.
 */
#ifndef LK_CLI_SERVE_RELOAD_H
#define LK_CLI_SERVE_RELOAD_H

#include <stdint.h>

#include "access/users.h"
#include "cli/serve/options.h"
#include "cli/serve/secrets.h"
#include "cli/serve/settings.h"
#include "tls/tls.h"

/* ---- the service manager --------------------------------------------------------------------- */

/*
 * Notifies the service manager (sd_notify(3)), if there is one and $NOTIFY_SOCKET names its
 * socket. Nothing here blocks: the event loop calls it. A state that finds the socket's buffer full
 * is kept and sent by the next call. Used by one thread, while there is a loop.
 */

/* In the order in which they are sent. */
enum lk_serve_state {
    LK_SERVE_READY,
    LK_SERVE_RELOADING,
    LK_SERVE_RELOADED, /* READY=1 again */
    LK_SERVE_STOPPING,
    LK_SERVE_STATE_COUNT
};

void lk_serve_manager_tell(enum lk_serve_state state);

/* Sends what was kept, and WATCHDOG=1 if the manager watches the service (WatchdogSec=). */
void lk_serve_manager_beat(void);

/* How often lk_serve_manager_beat() is due; 0: never, there is no manager. */
int64_t lk_serve_manager_beat_every_us(void);

/* ---- settings and files ---------------------------------------------------------------------- */

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
