/* SPDX-License-Identifier: Apache-2.0 */
/* The logins of a service with users in its loop. Within src/server. */
#ifndef LK_SERVER_LOGIN_EVENTS_H
#define LK_SERVER_LOGIN_EVENTS_H

#include "server/host.h"

struct event;

struct lk_login_events {
    struct lk_logins *logins; /* NULL: there are no users */
    struct event *decided;    /* a login is */
    struct event *ends;       /* a token may have ended */
};

/* Starts the thread that verifies passwords, if there are users. To be ended, also if it fails. */
lk_outcome lk_login_events_begin(struct lk_login_events *events, struct lk_server *server,
                                 lk_error *error);
void lk_login_events_end(struct lk_login_events *events); /* after every listener has closed */

/* The users may have changed: what connections may do changes at once. */
void lk_login_events_reload(struct lk_login_events *events, struct lk_server *server);

#endif
