/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of TLS handshakes in the service's loop. Within src/server. */
#ifndef LK_SERVER_HANDSHAKE_EVENTS_H
#define LK_SERVER_HANDSHAKE_EVENTS_H

#include "server/handshake_thread.h"
#include "server/host.h"

struct event;

struct lk_handshake_events {
    struct lk_handshake_thread *thread; /* NULL: there is no TLS */
    struct event *stepped;              /* steps are computed */
};

/* Starts the thread, if there is TLS. To be ended, also if it fails. */
lk_outcome lk_handshake_events_begin(struct lk_handshake_events *events, struct lk_server *server,
                                     lk_error *error);
void lk_handshake_events_end(
    struct lk_handshake_events *events); /* after every listener has closed */

#endif
