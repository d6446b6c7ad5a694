/* SPDX-License-Identifier: Apache-2.0 */
/* The steps about values (R15) and work (R16). */
#ifndef CONFORMANCE_WORK_H
#define CONFORMANCE_WORK_H

#include "playback.h"

/* Makes the step; false with a complaint when something is not as the step says. */
bool work_play(struct playback *playback, const struct step *step, struct complaint *complaint);

#endif
