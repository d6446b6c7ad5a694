/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notifies the service manager (sd_notify(3)), if there is one and $NOTIFY_SOCKET names its
 * socket. Nothing here blocks: the event loop calls it. A state that finds the socket's buffer full
 * is kept and sent by the next call. Used by one thread, while there is a loop.
 */
#ifndef LK_CLI_SERVE_MANAGER_H
#define LK_CLI_SERVE_MANAGER_H

#include <stdint.h>

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

#endif
