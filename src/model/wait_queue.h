/* SPDX-License-Identifier: Apache-2.0 */
/* Wait queues (R7b): the requests that wait at a node and below it, each list by ticket. */
#ifndef LK_MODEL_WAIT_QUEUE_H
#define LK_MODEL_WAIT_QUEUE_H

#include "model/state.h"

/* Reserves room for one more waiting part entry at `node`. false: memory is exhausted. */
bool lk_wait_queue_reserve(struct lk_model *model, lk_id node);

/*
 * Adds a part entry of a waiting request to the wait queues of its node and of all parents; removes
 * it.
 */
void lk_wait_queue_enter(struct lk_model *model, lk_id entry);
void lk_wait_queue_leave(struct lk_model *model, lk_id entry);

/* Units waiting at this node with tickets smaller than `ticket` (R7c). pass: see grant.c; or 0 */
uint64_t lk_wait_queue_units_ahead(const struct lk_model *model, lk_id node, uint64_t ticket,
                                   uint32_t pass);

/* The request of the queue entry. */
static inline lk_id lk_queue_entry_request(const struct lk_model *model,
                                           const struct lk_queue_entry *queue_entry) {
    return lk_part_entry_at(model, queue_entry->entry)->request;
}

static inline uint64_t lk_queue_entry_ticket(const struct lk_model *model,
                                             const struct lk_queue_entry *queue_entry) {
    return lk_request_at(model, lk_queue_entry_request(model, queue_entry))->ticket;
}

#endif
