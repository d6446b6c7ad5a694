/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of logins: one is decided, and a token ends. Then its connections end, also those that are
 * silent and those that wait.
 */
#include "server/login_events.h"

#include <event2/event.h>

#include "access/users.h"
#include "base/error.h"
#include "server/access/logins.h"
#include "server/listener.h"
#include "server/loop.h"

#define US_PER_S INT64_C(1000000)
#define LOOK_S INT64_C(3600)

static void on_decided(evutil_socket_t descriptor, short what, void *context) {
    struct lk_server *server = context;

    (void)descriptor;
    (void)what;
    lk_logins_fetch(lk_server_logins(server), lk_server_times(server).wall_us);
}

/* The wall clock may be set meanwhile, so it is looked at every hour. */
static void await_end(struct lk_server *server, struct event *ends) {
    int64_t wall_us = lk_server_times(server).wall_us;
    int64_t end_s = lk_users_next_end(lk_server_options_of(server)->users, wall_us / US_PER_S);
    struct timeval delay = {.tv_sec = LOOK_S};

    if (end_s < INT64_MAX && end_s * US_PER_S - wall_us < LOOK_S * US_PER_S) {
        delay = lk_loop_delay(end_s * US_PER_S - wall_us);
    }
    (void)event_add(ends, &delay);
}

static void check_grants(struct lk_server *server) {
    struct lk_listener *listener;

    for (size_t i = 0; (listener = lk_server_listener(server, i)) != NULL; i++) {
        listener->ops->check_grants(listener);
    }
}

static void on_end(evutil_socket_t descriptor, short what, void *context) {
    struct lk_server *server = context;

    (void)descriptor;
    (void)what;
    check_grants(server);
    await_end(server, lk_server_login_events(server)->ends);
}

lk_outcome lk_login_events_begin(struct lk_login_events *events, struct lk_server *server,
                                 lk_error *error) {
    struct lk_users *users = lk_server_options_of(server)->users;
    lk_outcome outcome = users != NULL ? lk_logins_start(users, &events->logins, error) : LK_OK;

    if (outcome != LK_OK || events->logins == NULL) {
        return outcome;
    }
    events->decided = event_new(lk_server_loop(server), lk_logins_descriptor(events->logins),
                                EV_READ | EV_PERSIST, on_decided, server);
    events->ends = evtimer_new(lk_server_loop(server), on_end, server);
    if (events->decided == NULL || events->ends == NULL || event_add(events->decided, NULL) != 0) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    await_end(server, events->ends);
    return LK_OK;
}

void lk_login_events_end(struct lk_login_events *events) {
    lk_loop_free_event(events->decided);
    lk_loop_free_event(events->ends);
    lk_logins_stop(events->logins);
}

void lk_login_events_reload(struct lk_login_events *events, struct lk_server *server) {
    if (events->logins == NULL) {
        return;
    }
    check_grants(server);
    await_end(server, events->ends);
}
