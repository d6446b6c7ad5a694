/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often a listener accepts. To accept a connection and to close it again costs the loop as much
 * as a call, so a flood of connections would take all of its time, and clients that have theirs
 * would wait. So after a burst one is accepted in each period; the others wait in the system's
 * backlog.
 */
#ifndef LK_SERVER_PACE_H
#define LK_SERVER_PACE_H

#include <stdint.h>

enum {
    LK_PACE_PERIOD_US = 250,
    LK_PACE_BURST = 64, /* as many are accepted at once, after a time without */
};

/* Zeroed: nothing was accepted yet. */
struct lk_pace {
    int64_t full_us; /* when the whole burst is free again */
};

/* One was accepted. Returns how long it is until the next one may be; 0: at once. */
int64_t lk_pace_note(struct lk_pace *pace, int64_t now_us);

#endif
