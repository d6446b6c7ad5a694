/* SPDX-License-Identifier: Apache-2.0 */
/* How long to wait before a try that failed is repeated. */
#ifndef LK_BASE_BACKOFF_H
#define LK_BASE_BACKOFF_H

#include <stdint.h>

/*
 * The delay after `retries` retries (0 before the first), in the unit of `first` and `max`, which
 * are positive. It doubles from `first` with each retry up to `max`, and is cut at random by up to
 * a half, so that callers that failed together do not come back together. Does not sleep.
 */
int64_t lk_backoff_delay(int64_t first, int64_t max, uint32_t retries);

#endif
