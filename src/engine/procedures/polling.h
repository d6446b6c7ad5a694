/* SPDX-License-Identifier: Apache-2.0 */
/* When a waiter asks again although no wake-up has come, by the clock of lk_clock_now_us(). */
#ifndef LK_ENGINE_PROCEDURES_POLLING_H
#define LK_ENGINE_PROCEDURES_POLLING_H

#include "base/clock.h"
#include "base/minmax.h"
#include "engine/engine.h"

#define LK_PROCEDURES_POLL_MAX_US INT64_C(1000000)
#define LK_PROCEDURES_POLL_MIN_US INT64_C(2000)    /* after a deadline: it has passed there, too */
#define LK_PROCEDURES_POLL_HELD_US INT64_C(100000) /* items are behind locks, which may end... */
#define LK_PROCEDURES_POLL_HELD_MAX_US INT64_C(2000000)
#define LK_PROCEDURES_REVOKED_US INT64_C(1000000) /* between looks for revoked leases (R12) */
#define LK_PROCEDURES_REST 9 /* ...a worker rests so many times as long as it has looked for one */

/* In `longest_us` at the latest, or soon after the earliest deadline of what is in the way. */
static inline int64_t lk_procedures_poll_us(const struct lk_wait_cursor *cursor,
                                            int64_t longest_us) {
    int64_t poll_us = lk_clock_now_us() + longest_us;

    return cursor->due_us > LK_NEVER / 2
               ? poll_us
               : lk_min(poll_us, cursor->due_us + LK_PROCEDURES_POLL_MIN_US);
}

static inline int64_t lk_procedures_grant_poll_us(const struct lk_wait_cursor *cursor) {
    return lk_procedures_poll_us(cursor, LK_PROCEDURES_POLL_MAX_US);
}

/* A take passes over the items that are behind locks: the more there are, the longer it takes. */
static inline int64_t lk_procedures_rest_us(const struct lk_wait_cursor *cursor) {
    int64_t rest_us = lk_min(cursor->took_us, LK_PROCEDURES_POLL_HELD_MAX_US) * LK_PROCEDURES_REST;

    return lk_min(lk_max(rest_us, LK_PROCEDURES_POLL_HELD_US), LK_PROCEDURES_POLL_HELD_MAX_US);
}

static inline int64_t lk_procedures_claim_poll_us(const struct lk_wait_cursor *cursor) {
    return lk_procedures_poll_us(cursor, cursor->in_the_way != 0 ? lk_procedures_rest_us(cursor)
                                                                 : LK_PROCEDURES_POLL_MAX_US);
}

#endif
