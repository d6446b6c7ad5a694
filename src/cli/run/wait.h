/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the store and waiting for the lease, while signals are handled. */
#ifndef LK_CLI_RUN_WAIT_H
#define LK_CLI_RUN_WAIT_H

#include "cli/run/run.h"
#include "cli/run/signals.h"
#include "cli/run/wait_log.h"
#include "cli/store/url.h"

/* What it came to. End with lk_run_wait_done(). */
struct lk_run_wait {
    lk_outcome outcome;
    lk_error error;
    int signal;        /* that ended the wait; 0: none. Nothing is held or queued then */
    lk_store *store;   /* NULL: could not be opened */
    lk_lease *lease;   /* LK_GRANTED only */
    lk_result *result; /* of the ask; NULL: there was none */
    struct lk_own_store own_store;
    struct lk_run_wait_log *wait_log;
};

/*
 * Asks as `request` says, which names its owner and lives until lk_run_wait_done().
 * Blocks until there is an outcome or a signal has ended the wait; another signal
 * later, while the withdrawal is still under way, ends the program at once.
 */
void lk_run_wait(struct lk_run_wait *wait, const struct lk_run_options *options,
                 const lk_request *request, const struct lk_run_signals *signals);

/*
 * Frees all but the lease, which must have been ended before, and closes the store. To be called
 * only before the process ends: what a read that is not answered still uses is left.
 */
void lk_run_wait_done(struct lk_run_wait *wait);

#endif
