/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counts of all workers together, in memory that they share with the process that prints them;
 * and which of them waits for an item. The counts of a worker that dies are kept; nothing here can
 * block.
 */
#ifndef LK_CLI_WORK_COUNTERS_H
#define LK_CLI_WORK_COUNTERS_H

#include <stdatomic.h>
#include <stdio.h>

#include "cli/work/pool.h"
#include "client/work/leader.h"

struct lk_pool_counters {
    atomic_uint_least64_t claims;
    atomic_uint_least64_t steals;
    atomic_uint_least64_t done;
    atomic_uint_least64_t retried;
    atomic_uint_least64_t cancelled; /* by a user, while the worker had it */
    atomic_uint_least64_t parked;
    atomic_uint_least64_t lost; /* or unknown */
    atomic_bool is_failure_said;
    atomic_size_t outage_teller; /* the worker that tells of it: its slot + 1; 0: none */
    atomic_uint_least64_t announced;
    atomic_uint_least64_t skipped;             /* rows, when last announced */
    atomic_uint_least64_t left;                /* in the queue, when last announced */
    atomic_bool is_announcing;                 /* the two are told */
    atomic_bool is_running[LK_POOL_SLOTS_MAX]; /* the worker in this slot works on an item */
    struct lk_pool_leader leader;              /* of the workers; the member is the slot + 1 */
};

/* NULL, with errno, when memory is exhausted. Shared with every child that is forked later. */
struct lk_pool_counters *lk_pool_counters_new(void);
void lk_pool_counters_free(struct lk_pool_counters *counters); /* accepts NULL */

/* Counts a step of the worker of slot `index`. */
void lk_pool_counters_count(struct lk_pool_counters *counters, size_t index,
                            const lk_work_progress *progress);

/* The worker of slot `index` works on its item no more: a user has cancelled it. */
void lk_pool_counters_count_cancelled(struct lk_pool_counters *counters, size_t index);

/* The worker of slot `index` has ended, in whatever state. */
void lk_pool_counters_clear(struct lk_pool_counters *counters, size_t index);

/* Whether this caller is the first to report the pool's failure, and so must print it. */
bool lk_pool_counters_may_say_failure(struct lk_pool_counters *counters);

/*
 * Whether the worker of slot `index`, which finds the store away or back, must print that: the
 * first one to find it away does, until it is back.
 */
bool lk_pool_counters_may_say_outage(struct lk_pool_counters *counters, size_t index, bool is_away);

/* A line of text: "3 running, 12 done, 1 given back". Fills `text`, ended by 0. */
void lk_pool_counters_describe(struct lk_pool_counters *counters, char *text, size_t size);

/* The same when all workers have ended: "12 done, 1 given back". */
void lk_pool_counters_summarise(struct lk_pool_counters *counters, char *text, size_t size);

#endif
