/* SPDX-License-Identifier: Apache-2.0 */
/* The steps about events (R21) and bounds (R22). */
#ifndef CONFORMANCE_WATCH_H
#define CONFORMANCE_WATCH_H

#include "playback.h"

/* Makes the step; false with a complaint when something is not as the step says. */
bool watch_play(struct playback *playback, const struct step *step, struct complaint *complaint);

/* Ends the watch, if there is one; `watch again` goes on where it was. Before stores are closed. */
void watch_stop(struct playback *playback);

#endif
