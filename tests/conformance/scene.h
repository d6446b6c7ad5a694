/* SPDX-License-Identifier: Apache-2.0 */
/* One playing of a scenario, as play.c, work.c and follow.c share it. */
#ifndef CONFORMANCE_SCENE_H
#define CONFORMANCE_SCENE_H

#include <stdio.h>

#include "scenario.h"
#include "stage.h"
#include "witness.h"

enum { SCENE_TTL_DEFAULT_MS = 60000 }; /* R11 */

struct scene {
    const struct scenario *scenario;
    struct stage stage;
    struct witness witness;
    int64_t stretch;
    int64_t now_ms;      /* the scenario's clock, already stretched */
    lk_watch *watch;     /* NULL: none */
    uint64_t watched_to; /* by the one before */
    FILE *report;
};

/* The machine's clock. */
int64_t scene_now_us(void);

/* An owner that was kept by name, or the name itself. */
const char *scene_owner(const struct scene *scene, const char *name);

/* A token that was kept by name; 0 for NULL. False with a complaint when there is none. */
bool scene_token(const struct scene *scene, const char *name, uint64_t *ret_token,
                 struct complaint *complaint);

/* Compares what came of a step with what it expects; remembers draws, and reports what is wrong. */
bool scene_judge(struct scene *scene, const struct step *step, const struct sight *sight,
                 struct complaint *complaint);

#endif
