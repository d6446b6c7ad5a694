/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of the store's file in the service's loop (BACKUP). Within src/server. */
#ifndef LK_SERVER_CONNECTIONS_COPIES_H
#define LK_SERVER_CONNECTIONS_COPIES_H

#include "server/connections/host.h"
#include "server/store/copier.h"

struct event;

struct lk_copies {
    struct lk_copier *copier; /* NULL: the service keeps no file */
    struct event *done;       /* a job is */
    struct event *idle;       /* a copy was not read for too long */
};

/* To be ended, also if it fails. */
lk_outcome lk_copies_begin(struct lk_copies *copies, struct lk_server *server, lk_error *error);
void lk_copies_end(struct lk_copies *copies); /* after every listener has closed */

#endif
