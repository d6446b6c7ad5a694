/* SPDX-License-Identifier: Apache-2.0 */
/* The steps that change nothing: expect, list, show, audit. */
#ifndef CONFORMANCE_LOOK_H
#define CONFORMANCE_LOOK_H

#include <stdio.h>

#include "judge.h"
#include "scenario.h"
#include "witness.h"

/* What a look needs to know of the scene. */
struct look {
    lk_store *store;
    struct witness *witness;
    const char *owner; /* of the step, kept names resolved; NULL: none */
    int64_t stretch;
};

/* Makes the step; false with a complaint when something is not as the step says. */
bool look_play(const struct look *look, const struct step *step, struct complaint *complaint);

/* Whether the owner has a live request for exactly the step's paths. */
bool look_is_there(const struct look *look, const struct step *step);

/* Writes every live request, for a report. */
void look_report(lk_store *store, FILE *report);

#endif
