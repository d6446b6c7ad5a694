/* SPDX-License-Identifier: Apache-2.0 */
/* The state of playing one scenario, shared by play.c, work.c and watch.c. */
#ifndef CONFORMANCE_PLAYBACK_H
#define CONFORMANCE_PLAYBACK_H

#include <stdio.h>

#include "handles.h"
#include "observed.h"
#include "scenario.h"

enum { PLAYBACK_TTL_DEFAULT_MS = 60000 }; /* R11 */

struct playback {
    const struct scenario *scenario;
    struct handles handles;
    struct observed observed;
    int64_t stretch;
    int64_t now_ms;      /* the scenario's clock, already stretched */
    bool keeps_alive;    /* a wait in the background has renewed a request with a short ttl */
    lk_watch *watch;     /* NULL: none */
    uint64_t watched_to; /* by the one before */
    FILE *report;
};

/* The machine's clock. */
int64_t playback_now_us(void);

/* An owner that was kept by name, or the name itself. */
const char *playback_owner(const struct playback *playback, const char *name);

/* A token that was kept by name; 0 for NULL. False with a complaint when there is none. */
bool playback_token(const struct playback *playback, const char *name, uint64_t *ret_token,
                    struct complaint *complaint);

/* Compares what came of a step with what it expects; remembers draws, and reports what is wrong. */
bool playback_compare(struct playback *playback, const struct step *step,
                      const struct observation *observation, struct complaint *complaint);

#endif
