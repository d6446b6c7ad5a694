/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting lines (R7b): who waits at a node and below it, each list in the order of tickets. */
#ifndef LK_MODEL_LINES_H
#define LK_MODEL_LINES_H

#include "model/state.h"

/* Makes room for one more stake at `node` to stand in line. false: memory is exhausted. */
bool lk_line_reserve(struct lk_model *model, lk_id node);

/* Puts a stake of a waiting request into the lines of its node and of all parents; and back. */
void lk_line_stand(struct lk_model *model, lk_id stake);
void lk_line_leave(struct lk_model *model, lk_id stake);

/* Units waiting at this node with tickets smaller than `ticket` (R7c). pass: see settle.c; or 0 */
uint64_t lk_line_units_ahead(const struct lk_model *model, lk_id node, uint64_t ticket,
                             uint32_t pass);

/* The request whose stake stands there. */
static inline lk_id lk_place_request(const struct lk_model *model, const struct lk_place *place) {
    return lk_stake_at(model, place->stake)->request;
}

static inline uint64_t lk_place_ticket(const struct lk_model *model, const struct lk_place *place) {
    return lk_request_at(model, lk_place_request(model, place))->ticket;
}

#endif
