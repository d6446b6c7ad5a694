/* SPDX-License-Identifier: Apache-2.0 */
/* Plays one scenario on one store. */
#ifndef CONFORMANCE_PLAY_H
#define CONFORMANCE_PLAY_H

#include <stdio.h>

#include "scenario.h"

enum verdict {
    VERDICT_PASSED,
    VERDICT_FAILED,
    VERDICT_TOO_SLOW, /* a deadline passed between two steps: nothing can be said; stretch more */
    VERDICT_UNSUPPORTED,
};

/*
 * Plays `scenario` on a fresh store at `url`. Short durations are multiplied by `stretch`.
 * `persistent`: the store outlives its handles. What fails goes to `report`.
 */
enum verdict scenario_play(const struct scenario *scenario, const char *url, bool persistent,
                           int64_t stretch, FILE *report);

#endif
