/* SPDX-License-Identifier: Apache-2.0 */
/* The steps that change nothing: expect, list, show, audit. */
#ifndef CONFORMANCE_LISTING_H
#define CONFORMANCE_LISTING_H

#include <stdio.h>

#include "compare.h"
#include "observed.h"
#include "scenario.h"

/* What these steps need of the playback. */
struct listing_context {
    lk_store *store;
    struct observed *observed;
    const char *owner; /* of the step, kept names resolved; NULL: none */
    int64_t stretch;
};

/* Makes the step; false with a complaint when something is not as the step says. */
bool listing_play(const struct listing_context *context, const struct step *step,
                  struct complaint *complaint);

/* Whether the owner has a live request for exactly the step's paths. */
bool listing_is_there(const struct listing_context *context, const struct step *step);

/* Writes every live request, for a report. */
void listing_report(lk_store *store, FILE *report);

#endif
