/* SPDX-License-Identifier: Apache-2.0 */
/* While lk waits in the queue: prints its blockers, and how long they hold (R20). */
#ifndef LK_CLI_RUN_WAIT_LOG_H
#define LK_CLI_RUN_WAIT_LOG_H

#include <stdbool.h>

#include "lockkeeper/lockkeeper.h"

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

#endif
