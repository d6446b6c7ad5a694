/* SPDX-License-Identifier: Apache-2.0 */
/* The event that steps of handshakes are computed. */
#include "server/handshake_events.h"

#include <event2/event.h>

#include "base/error.h"
#include "server/loop.h"

static void on_stepped(evutil_socket_t descriptor, short what, void *context) {
    struct lk_handshake_events *events = context;

    (void)descriptor;
    (void)what;
    lk_handshake_thread_fetch(events->thread);
}

lk_outcome lk_handshake_events_begin(struct lk_handshake_events *events, struct lk_server *server,
                                     lk_error *error) {
    lk_outcome outcome = lk_server_options_of(server)->tls != NULL
                             ? lk_handshake_thread_start(&events->thread, error)
                             : LK_OK;

    if (outcome != LK_OK || events->thread == NULL) {
        return outcome;
    }
    events->stepped =
        event_new(lk_server_loop(server), lk_handshake_thread_descriptor(events->thread),
                  EV_READ | EV_PERSIST, on_stepped, events);
    if (events->stepped == NULL || event_add(events->stepped, NULL) != 0) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    return LK_OK;
}

void lk_handshake_events_end(struct lk_handshake_events *events) {
    lk_loop_free_event(events->stepped);
    lk_handshake_thread_stop(events->thread);
}
