/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the runner has observed so far in a scenario, and checks of every answer that need no
 * expectation: draws rise (R4), a grant has a token and no blockers, and no deadline passed
 * unnoticed, because then the machine was too slow for a verdict. Below: observations compared with
 * what a scenario expects.
 */
#ifndef CONFORMANCE_OBSERVED_H
#define CONFORMANCE_OBSERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lockkeeper/lockkeeper.h"
#include "scenario.h"
#include "words.h"

enum { OBSERVED_MAX = 256 };

/* An answer, or a request in a listing, made uniform. Borrows everything. */
struct observation {
    lk_outcome outcome;
    const char *error; /* NULL: none */
    const char *owner; /* NULL: unknown */
    char *const *paths;
    size_t path_count;
    uint64_t ticket;
    uint64_t token;
    int64_t ttl_ms;
    int64_t expires_in_ms;
    int64_t age_ms;
    uint64_t in_use;
    size_t position;
    bool created;
    bool blocked; /* the call may have waited: its ticket is older than its answer */
    bool fixed;
    bool revoked;
    bool blockers_asked; /* position and blockers mean something */
    const char *note;
    const lk_blocker_info *blockers;
    size_t blocker_count;
    char *const *cycle;
    size_t cycle_count;
    size_t count;        /* break; calls about several items */
    const char *reason;  /* audit, an event */
    const char *breaker; /* an event */
    const char *value;   /* NULL: none */
    size_t value_size;
    bool in_doubt;
    const lk_part_value *values;
    size_t value_count;
    bool added;                   /* push */
    bool changed;                 /* push */
    const char *was;              /* push; NULL: added */
    const char *item;             /* claim */
    lk_claim_info *const *claims; /* claim, of several */
    size_t claim_count;
    uint32_t attempt; /* claim; of an item: how many there were */
    bool stolen;
    char *const *needs; /* item */
    size_t need_count;
    int64_t due_in_ms;
    int32_t priority; /* item */
    bool has_exit;
    int32_t exit_code;
    const char *last_error;      /* NULL: none */
    const char *progress;        /* the same */
    const lk_queue_stats *stats; /* NULL: none */
};

/* What was last seen of one owner's request for a set of paths. */
struct observed_record {
    const char *key;
    uint64_t ticket;
    uint64_t token;
    /* The deadline, on the scenario's own clock and at its earliest on the machine's; -1: none. */
    int64_t deadline_ms;
    int64_t earliest_us;
    int64_t ttl_ms;
    bool fixed;
};

struct observed_draw {
    const char *root;
    uint64_t greatest;
};

struct observed_name {
    const char *name;
    const char *text;
    uint64_t token;
};

struct observed {
    struct arena arena;
    struct observed_record records[OBSERVED_MAX];
    size_t record_count;
    struct observed_draw draws[OBSERVED_MAX];
    size_t draw_count;
    struct observed_name names[OBSERVED_MAX];
    size_t name_count;
};

void observed_free(struct observed *observed);

/* The record of this owner and these paths (modes are ignored); made when there is none. */
struct observed_record *observed_find(struct observed *observed, const char *owner,
                                      const char *const *parts, size_t part_count);

/* The greatest ticket or token seen so far at any of the paths' roots. */
uint64_t observed_greatest(const struct observed *observed, char *const *paths, size_t path_count);

/* What holds for the answer to every ask, whatever the scenario expects. */
bool observed_check_rules(struct observed *observed, const struct observation *observation,
                          struct complaint *complaint);

/* Remembers ticket and token. */
void observed_remember(struct observed *observed, const struct observation *observation);

/* Names of the scenario's own for tokens and owners. */
void observed_keep(struct observed *observed, const char *name, const char *text, uint64_t token);
const struct observed_name *observed_kept(const struct observed *observed, const char *name);

/* A deadline was promised: `ttl_ms` after `now_ms` of the scenario, not before `earliest_us`. */
void observed_promise(struct observed_record *record, int64_t now_ms, int64_t ttl_ms,
                      int64_t earliest_us);
void observed_forget_promise(struct observed_record *record);

/* A call has blocked: requests that may have expired meanwhile are no longer checked. */
void observed_let_pass(struct observed *observed, int64_t now_us);

/* When the first deadline that lies ahead for the scenario passes on the machine's clock, at the
 * earliest; INT64_MAX: there is none. */
int64_t observed_first_promise(const struct observed *observed, int64_t now_ms);

/* Whether a deadline that lies ahead for the scenario may have passed on the machine's clock. */
bool observed_overrun(const struct observed *observed, int64_t now_ms, int64_t now_us);

/* Whether the scenario is too close to a deadline for the result of its next step to count. */
bool observed_in_doubt(const struct observed *observed, int64_t now_ms);

/* ---- compared with what a scenario expects --------------------------------------------------- */

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
