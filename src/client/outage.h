/* SPDX-License-Identifier: Apache-2.0 */
/* A store that does not answer: since when, and how long until it is tried again. */
#ifndef LK_CLIENT_OUTAGE_H
#define LK_CLIENT_OUTAGE_H

#include "base/waker.h"
#include "engine/engine.h"

#define LK_CLOSE_BUDGET_US                                                                         \
    INT64_C(1000000) /* for the last calls of a client that closes, to a store that may be away */

struct lk_outage {
    struct lk_engine *engine;
    bool has_answered;
    int64_t since_us; /* the first call that was not answered; LK_NEVER: the store is there */
    uint32_t retries; /* since then */
};

struct lk_outage lk_outage_new(struct lk_engine *engine);

/* The store has answered. */
void lk_outage_end(struct lk_outage *outage);

/*
 * A call that was sent at `sent_us` was not answered: sleeps a while, longer each time. Returns
 * whether the store is to be tried again: not when `end_us` has come, when it has been away for
 * `patience_ms` (0: for as long as there is time), when it is away for good, and when it has not
 * answered yet and can only be read.
 */
bool lk_outage_outlast(struct lk_outage *outage, int64_t sent_us, int64_t end_us,
                       int64_t patience_ms, struct lk_waker *waker);

#endif
