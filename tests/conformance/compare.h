/* SPDX-License-Identifier: Apache-2.0 */
/* Compares an observation with what a scenario expects. */
#ifndef CONFORMANCE_COMPARE_H
#define CONFORMANCE_COMPARE_H

#include "observed.h"
#include "scenario.h"

/* One comparison, with what it may need to know. */
struct comparison {
    struct observed *observed;
    uint64_t greatest_before;      /* the greatest draw at the roots before this observation */
    struct observed_record before; /* what was known of the request */
    int64_t stretch;               /* by which the scenario's short durations are multiplied */
};

/* False with a complaint when one of the checks does not hold. Keeps what the checks keep. */
bool compare(const struct comparison *comparison, const struct observation *observation,
             const struct check *checks, size_t check_count, struct complaint *complaint);

/* What was seen, in words, for a report. Returns `buffer`. */
const char *observation_describe(const struct observation *observation, char *buffer, size_t size);

/* The part of a listing in the words of a scenario: db/t1, t?shared, pool?limit=10&units=2. */
const char *entry_part(const lk_entry *entry, char *buffer, size_t size);

/*
 * Durations that the pace of the machine must not spoil are stretched; others are exact: shorter
 * ones are about the bounds of R11, longer ones are nothing that a scenario waits for.
 */
enum { STRETCHED_FROM_MS = 100, STRETCHED_TO_MS = 10000 };
bool is_stretched(int64_t duration_ms);
int64_t stretched(int64_t duration_ms, int64_t stretch);

#endif
