/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of copies: a job is done, and a client has not asked for the next piece in time, so
 * that a client that has stopped keeps neither the disk's room nor others from a copy.
 */
#include "server/connections/copies.h"

#include <event2/event.h>
#include <limits.h>
#include <stdio.h>

#include "base/error.h"
#include "server/connections/loop.h"

static void on_done(evutil_socket_t descriptor, short what, void *context) {
    struct lk_server *server = context;
    struct lk_copies *copies = lk_server_copies(server);
    const struct timeval patience = {.tv_sec =
                                         (time_t)lk_server_options_of(server)->request_seconds_max};

    (void)descriptor;
    (void)what;
    lk_copier_fetch(copies->copier);
    if (lk_copier_is_idle(copies->copier)) {
        (void)event_add(copies->idle, &patience);
    }
}

static void on_idle(evutil_socket_t descriptor, short what, void *context) {
    (void)descriptor;
    (void)what;
    lk_copier_expire(lk_server_copies(context)->copier);
}

lk_outcome lk_copies_begin(struct lk_copies *copies, struct lk_server *server, lk_error *error) {
    const struct lk_server_options *options = lk_server_options_of(server);
    struct event_base *loop = lk_server_loop(server);
    char path[PATH_MAX];
    lk_outcome outcome;

    if (options->is_ephemeral || lk_server_is_shared(options)) {
        return LK_OK;
    }
    (void)snprintf(path, sizeof path, "%s/locks.db", options->directory);
    outcome = lk_copier_new(path, &copies->copier, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    copies->done = event_new(loop, lk_copier_descriptor(copies->copier), EV_READ | EV_PERSIST,
                             on_done, server);
    copies->idle = evtimer_new(loop, on_idle, server);
    return copies->done != NULL && copies->idle != NULL && event_add(copies->done, NULL) == 0
               ? LK_OK
               : lk_error_set(error, LK_INTERNAL, "memory is exhausted");
}

void lk_copies_end(struct lk_copies *copies) {
    lk_loop_free_event(copies->done);
    lk_loop_free_event(copies->idle);
    lk_copier_free(copies->copier);
}
