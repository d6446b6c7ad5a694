/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the store and waiting for the lease, while signals are handled and blockers printed. */
#ifndef LK_CLI_RUN_WAIT_H
#define LK_CLI_RUN_WAIT_H

#include <stdbool.h>

#include "cli/run/run.h"
#include "cli/run/signals.h"
#include "cli/store/url.h"
#include "lockkeeper/lockkeeper.h"

/* ---- the log of a wait ----------------------------------------------------------------------- */

/* While lk waits in the queue: prints its blockers, and how long they hold (R20). */

struct lk_run_wait_log;

/*
 * Starts a thread that prints this on stderr: on a terminal, or if it `is_verbose`, soon after the
 * start, whenever it changes and each half minute; elsewhere, in the log of a job, after some
 * seconds and then each minute. Borrows the store; the request
 * names its owner. `own_url` is the store's if it is this user's
 * alone, which the first line says; NULL: it is not. NULL when the system lacks resources: then
 * nothing is printed.
 */
struct lk_run_wait_log *lk_run_wait_log_start(lk_store *store, const lk_request *request,
                                              const char *own_url, bool is_verbose);

/* The same for a wait for work: prints the counts of the queue. */
struct lk_run_wait_log *lk_run_wait_log_start_at_queue(lk_store *store, const char *queue,
                                                       bool is_verbose);

/* From here on it prints nothing. Does not block; accepts NULL. */
void lk_run_wait_log_silence(struct lk_run_wait_log *wait_log);

/*
 * Ends it; accepts NULL. Returns whether it has ended: not, if it reads the store at the moment and
 * gets no answer. Then it goes on using the store and what it borrows.
 */
bool lk_run_wait_log_end(struct lk_run_wait_log *wait_log);

/* Whether one could not be ended: the store that it uses must not be closed. */
bool lk_run_wait_log_is_left(void);

/* ---- the wait -------------------------------------------------------------------------------- */

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
