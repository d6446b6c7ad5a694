/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays one scenario on one store; and the table of stores by rules and capabilities that comes out
 * of a run.
 */
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

struct handles; /* playback.h */

/*
 * Plays `scenario` on a fresh store at `url`. Short durations are multiplied by `stretch`.
 * `persistent`: the store outlives its handles. `kept`: its handles, which may be open and stay so;
 * NULL: they are opened and closed here. What fails goes to `report`.
 */
enum verdict scenario_play(const struct scenario *scenario, const char *url, bool persistent,
                           struct handles *kept, int64_t stretch, FILE *report);

/* A store under test. */
struct target {
    const char *name; /* for people */
    const char *url;  /* may hold {fresh} */
    unsigned capabilities;
};

/* One scenario on one store. */
struct played {
    const struct scenario *scenario;
    const struct target *target;
    enum verdict verdict;
};

/* Writes the table in Markdown: what each store declares, and how its scenarios went, by rule. */
void matrix_write(FILE *out, const struct target *targets, size_t target_count,
                  const struct played *played, size_t played_count);

#endif
