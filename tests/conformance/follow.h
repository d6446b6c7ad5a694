/* SPDX-License-Identifier: Apache-2.0 */
/* The steps about events (R21) and bounds (R22). */
#ifndef CONFORMANCE_FOLLOW_H
#define CONFORMANCE_FOLLOW_H

#include "scene.h"

/* Makes the step; false with a complaint when something is not as the step says. */
bool follow_play(struct scene *scene, const struct step *step, struct complaint *complaint);

/* Ends the watch, if there is one; `watch again` goes on where it was. Before stores are closed. */
void follow_stop(struct scene *scene);

#endif
