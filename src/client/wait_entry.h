/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a blocked wait knows of its queued request. If the next ask has to make a new one, the
 * former request was either broken or withdrawn (LOST, R10), or lost by the store: for instance by
 * a Redis server that was flushed or restarted without persistence, or by a standby that took over
 * too early.
 */
#ifndef LK_CLIENT_WAIT_ENTRY_H
#define LK_CLIENT_WAIT_ENTRY_H

#include "engine/engine.h"

struct lk_wait_entry {
    uint64_t ticket;
    int64_t until_us;       /* its deadline is not before; 0: nothing is queued */
    uint64_t interruptions; /* of contact with the store, before the last ask that found it */
};

/*
 * From the answer to an ask that was sent at `sent_us`. `interruptions` are those of the engine's
 * status, read before the ask.
 */
static inline struct lk_wait_entry lk_wait_entry_of(const lk_result *result, int64_t sent_us,
                                                    uint64_t interruptions) {
    return (struct lk_wait_entry){.ticket = result->ticket,
                                  .until_us = sent_us + result->expires_in_ms * 1000,
                                  .interruptions = interruptions};
}

/* Whether the request has ended before its deadline: the ask has made a new one. */
bool lk_wait_entry_is_gone(const struct lk_wait_entry *entry, const lk_result *result);

/*
 * Why a request of these parts is gone: true when it was broken or withdrawn, false when the store
 * has lost it. Reads the record of breaks where the store may have lost something.
 */
bool lk_wait_entry_was_ended(const struct lk_wait_entry *entry, struct lk_engine *engine,
                             struct lk_slice owner, const struct lk_part *parts, size_t part_count,
                             const struct lk_patience *patience);

#endif
