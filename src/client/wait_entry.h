/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a blocked wait knows of its request, and what it means when the next ask has to put a new
 * one there: a request was broken or withdrawn (LOST, R10), or the store has lost it, for instance
 * a Redis server that was flushed or restarted without persistence, or a standby that took over too
 * early.
 */
#ifndef LK_CLIENT_WAIT_ENTRY_H
#define LK_CLIENT_WAIT_ENTRY_H

#include "engine/engine.h"

struct lk_wait_entry {
    uint64_t ticket;
    int64_t until_us;       /* no deadline can have ended it by then; 0: nothing stands */
    uint64_t interruptions; /* of contact with the store, before the ask that found it there */
};

/*
 * Takes in the answer to an ask that was sent at `sent_us`. `interruptions` are those of the
 * engine's status, read before that.
 */
static inline struct lk_wait_entry lk_wait_entry_of(const lk_result *result, int64_t sent_us,
                                                    uint64_t interruptions) {
    return (struct lk_wait_entry){.ticket = result->ticket,
                                  .until_us = sent_us + result->expires_in_ms * 1000,
                                  .interruptions = interruptions};
}

/* Whether the request is gone, and not by its deadline: an ask has put a new one there. */
bool lk_wait_entry_is_gone(const struct lk_wait_entry *entry, const lk_result *result);

/*
 * Why a request of these parts is gone: true when it was broken or withdrawn, false when the store
 * has lost it. Looks into the record of breaks where the store may have lost something.
 */
bool lk_wait_entry_was_ended(const struct lk_wait_entry *entry, struct lk_engine *engine,
                             struct lk_slice owner, const struct lk_part *parts, size_t part_count,
                             const struct lk_patience *patience);

#endif
