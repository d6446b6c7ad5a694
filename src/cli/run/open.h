/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a store, and how long it may take. */
#ifndef LK_CLI_RUN_OPEN_H
#define LK_CLI_RUN_OPEN_H

#include <stdint.h>

#include "lockkeeper/lockkeeper.h"

/* ---- the budget of a wait -------------------------------------------------------------------- */

/*
 * The time that --wait asks for is one budget, from the start of the program: what a store takes to
 * open is not waited for again. So each step of a command asks what is left of it.
 */

/* At the start of the program. */
void lk_budget_begin(void);

/* Milliseconds since then. */
int64_t lk_budget_spent_ms(void);

/*
 * What is left of a wait, in milliseconds. A try (0) and LK_FOREVER stay what they are. A wait
 * whose time is over has a millisecond left: it asks once, and is told TIMEOUT and not BUSY.
 */
int64_t lk_budget_left_ms(int64_t wait_ms);

/* ---- opening a store ------------------------------------------------------------------------- */

/* While signals are blocked: one that ends the call ends the opening. */

/* For how long a request may still wait: how long its store may take to answer depends on it. */
int64_t lk_run_wait_ms(const lk_request *request);

/*
 * As lk_store_open_within(), for a caller that waits so long. LK_CANCELLED: a signal of
 * lk_run_signal_is_end() has come, which is left for the caller to take.
 */
lk_outcome lk_run_open(const char *url, int64_t wait_ms, lk_store **ret_store, lk_error *error);

/* The same as lk_open_if_there(). */
lk_outcome lk_run_open_if_there(const char *url, lk_store **ret_store, lk_error *error);

#endif
