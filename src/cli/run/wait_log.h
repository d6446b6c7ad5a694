/* SPDX-License-Identifier: Apache-2.0 */
/* While lk waits in the queue: prints its blockers, and how long they hold (R20). */
#ifndef LK_CLI_RUN_WAIT_LOG_H
#define LK_CLI_RUN_WAIT_LOG_H

#include "lockkeeper/lockkeeper.h"

struct lk_run_wait_log;

/*
 * Starts a thread that prints this on stderr, soon after the start and whenever it changes. Borrows
 * the request, which names its owner, and the store. NULL when the system lacks resources: then
 * nothing is printed.
 */
struct lk_run_wait_log *lk_run_wait_log_start(lk_store *store, const lk_request *request);

/* From here on it prints nothing. Does not block; accepts NULL. */
void lk_run_wait_log_silence(struct lk_run_wait_log *wait_log);

/* Ends it. Blocks while it reads the store. Accepts NULL. */
void lk_run_wait_log_end(struct lk_run_wait_log *wait_log);

#endif
