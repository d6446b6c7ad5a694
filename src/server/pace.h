/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often the service accepts. To accept a connection and to close it again costs the loop as
 * much as two calls. So a flood of connections would take all of its time, and clients that have
 * theirs would wait. Behind a burst one connection is accepted in each period, at whichever
 * listener; the others wait in the system's backlog. A connection counts until it has made a call
 * that it may make: so short connections of honest clients are accepted as they come.
 *
 * A listener rests behind a connection of its own. One that has not accepted for a while does not,
 * whatever the others accept: a flood at a port does not close the Unix socket.
 */
#ifndef LK_SERVER_PACE_H
#define LK_SERVER_PACE_H

#include <stdint.h>

enum {
    LK_PACE_PERIOD_US = 500,
    LK_PACE_BURST = 64, /* as many are accepted at once, after a time without */
};

/* Zeroed: nothing was accepted yet. */
struct lk_pace {
    int64_t full_us; /* when the whole burst is free again */
};

/* One was accepted. Returns how long it is until the next one may be; 0: at once. */
int64_t lk_pace_note(struct lk_pace *pace, int64_t now_us);

/* A connection that was accepted does not count any more. */
void lk_pace_forget(struct lk_pace *pace);

#endif
