/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a store while signals are blocked: one that ends the call ends the opening. */
#ifndef LK_CLI_RUN_OPEN_H
#define LK_CLI_RUN_OPEN_H

#include "lockkeeper/lockkeeper.h"

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
