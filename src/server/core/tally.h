/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a core has decided since it was made, for monitoring: counters and times. Counting takes
 * constant time, and nothing here grows. A decision counts when it is made, also if its batch is
 * not written afterwards.
 */
#ifndef LK_SERVER_CORE_TALLY_H
#define LK_SERVER_CORE_TALLY_H

#include "base/buckets.h"
#include "server/core/contention.h"

enum { LK_CHANGE_KINDS = LK_CHANGE_QUEUE_FORGOTTEN + 1, LK_HANDOFFS_MAX = 64 };

/* Grants to waiting requests that were decided at one time, and are not durable yet. */
struct lk_handoffs {
    int64_t at_us;
    uint64_t count;
};

/* Those of one batch. When there is no room, later ones count with the last time in it. */
struct lk_handoff_batch {
    struct lk_handoffs at[LK_HANDOFFS_MAX];
    size_t count;
};

struct lk_tally {
    uint64_t answers[LK_OUTCOME_COUNT]; /* calls answered, by outcome */
    uint64_t changes[LK_CHANGE_KINDS];
    uint64_t perished_waiting; /* of the LK_CHANGE_PERISHED: in the queue */
    uint64_t events;           /* kept (R21) */
    uint64_t events_dropped;   /* ... and dropped later because of a bound */
    uint64_t event_gaps;       /* reported to watchers */
    struct lk_buckets waited;  /* granted requests, from the queue to the grant */
    /* From the decision that let a waiting request in to the moment at which its answer may leave.
     * The lease is free and granted again in one step, so that no time passes between the two. */
    struct lk_buckets handed_off;
    struct lk_handoff_batch collecting;
    struct lk_handoff_batch writing;
};

struct lk_core;

/* Counts a step's changes, and keeps the core's contention. */
void lk_tally_step(struct lk_core *core, const struct lk_effects *effects);
void lk_tally_begin(struct lk_tally *tally);

/* The open batch is handed over; it is durable; it and all later decisions are void. */
void lk_tally_batch_taken(struct lk_tally *tally);
void lk_tally_batch_durable(struct lk_core *core);
void lk_tally_void(struct lk_core *core);

/* A model was loaded: finds what waits in it. */
void lk_tally_restore(struct lk_core *core);

#endif
