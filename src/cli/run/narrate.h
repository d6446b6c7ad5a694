/* SPDX-License-Identifier: Apache-2.0 */
/* While lk waits in line: who is in the way, and for how long, for people (R20). */
#ifndef LK_CLI_RUN_NARRATE_H
#define LK_CLI_RUN_NARRATE_H

#include "lockkeeper/lockkeeper.h"

struct lk_run_narrator;

/*
 * Starts a thread that says so on stderr, soon after the start and whenever it changes. Borrows
 * the request, which names its owner, and the store. NULL when the system has no more of what it
 * needs: then nothing is said.
 */
struct lk_run_narrator *lk_run_narrator_start(lk_store *store, const lk_request *request);

/* From here on it says nothing any more. Does not block; accepts NULL. */
void lk_run_narrator_hush(struct lk_run_narrator *narrator);

/* Ends it; it may be looking into the store at this moment. Accepts NULL. */
void lk_run_narrator_end(struct lk_run_narrator *narrator);

#endif
