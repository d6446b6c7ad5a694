/* SPDX-License-Identifier: Apache-2.0 */
/* What one item at a time (worker.c) and a batch of them (batch_worker.c) share. */
#ifndef LK_CLIENT_WORK_WORKER_H
#define LK_CLIENT_WORK_WORKER_H

#include <limits.h>

#include "client/lease.h"
#include "client/work/pool.h"

/* Until when the end of a claim is retried: while the claim may live. */
int64_t lk_worker_end_until(const lk_lease *lease);

/* Adds the claim to the keep-alive, as a lease on QUEUE/ID, and reports it. */
void lk_worker_begin_claim(struct lk_worker *worker, const lk_claim_info *claim, lk_lease *lease,
                           int64_t sent_us);

/*
 * What a handler of this program returns that has ended the claim itself, or has seen that another
 * process has, and has counted it. Not for others, to whom any status but 0 is a failure.
 */
#define LK_WORK_ENDED INT_MIN

/* Puts the delays of failed items in place of those that are 0. */
void lk_worker_delays_complete(int64_t *min_ms, int64_t *max_ms);

/* What the end of a claim, with this outcome, counts as. */
lk_work_step lk_worker_step_of(const struct lk_finish *finish, const lk_claim_info *claim,
                               uint32_t max_attempts, lk_outcome outcome);

/* Ends the lease and the claim, and reports that. `status` is the handler's. */
void lk_worker_end_claim(struct lk_worker *worker, const lk_claim_info *claim, lk_lease *lease,
                         int status);

/* Reports how a claim that was handled successfully has ended. */
void lk_worker_tell_done(struct lk_worker *worker, const lk_claim_info *claim, lk_outcome outcome);

/* One attempt to end claims in the store. */
typedef lk_outcome lk_worker_attempt(struct lk_worker *worker, void *context,
                                     const struct lk_patience *patience, lk_error *error);

/*
 * Makes attempts until the store has answered. A store that does not answer is retried until the
 * claim would have perished; by a worker that has to stop, for LK_CLOSE_BUDGET_US. Returns the
 * outcome of the last attempt.
 */
lk_outcome lk_worker_insist(struct lk_worker *worker, lk_worker_attempt *attempt, void *context,
                            int64_t until_us, lk_error *error);

/* The worker cannot go on. */
void lk_worker_fail(struct lk_worker *worker, lk_outcome outcome, const char *text);

/* lk_worker_run() of a pool with batches. */
void lk_worker_run_batches(struct lk_worker *worker);

#endif
