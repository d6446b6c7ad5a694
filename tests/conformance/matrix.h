/* SPDX-License-Identifier: Apache-2.0 */
/* The table of stores by rules and capabilities that comes out of a run. */
#ifndef CONFORMANCE_MATRIX_H
#define CONFORMANCE_MATRIX_H

#include <stdio.h>

#include "play.h"
#include "scenario.h"

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
