/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all workers have done together, in memory that they share with the process that tells it.
 * Who dies has counted what it did; nothing here can block or be lost.
 */
#ifndef LK_CLI_POOL_TALLY_H
#define LK_CLI_POOL_TALLY_H

#include <stdatomic.h>
#include <stdio.h>

#include "cli/pool/pool.h"

struct lk_pool_tally {
    atomic_uint_least64_t claims;
    atomic_uint_least64_t steals;
    atomic_uint_least64_t done;
    atomic_uint_least64_t retried;
    atomic_uint_least64_t parked;
    atomic_uint_least64_t lost; /* or unknown */
    atomic_bool is_failure_said;
    atomic_uint_least64_t announced;
    atomic_uint_least64_t left;                 /* in the queue, when last announced */
    atomic_bool is_announcing;                  /* the two are told */
    atomic_bool is_running[LK_POOL_PLACES_MAX]; /* the worker in this place works on an item */
};

/* NULL, with errno, when memory is exhausted. Shared with every child that is forked later. */
struct lk_pool_tally *lk_pool_tally_new(void);
void lk_pool_tally_free(struct lk_pool_tally *tally); /* accepts NULL */

/* Counts a step of the worker in `place`. */
void lk_pool_tally_count(struct lk_pool_tally *tally, size_t place,
                         const lk_work_progress *progress);

/* The worker in `place` is gone, whatever it was doing. */
void lk_pool_tally_clear(struct lk_pool_tally *tally, size_t place);

/* Whether this caller is the first to say that the pool fails, and so the one to say it. */
bool lk_pool_tally_may_say_failure(struct lk_pool_tally *tally);

/* A line for people: "12 done, 3 running, 1 given back". Fills `text`, ended by 0. */
void lk_pool_tally_describe(struct lk_pool_tally *tally, char *text, size_t size);

#endif
