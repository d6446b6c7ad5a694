/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claimed items by owner and ask number (R3), so that a repeated take finds its item however many
 * leases its owner holds.
 */
#ifndef LK_MODEL_CLAIMS_H
#define LK_MODEL_CLAIMS_H

#include "model/state.h"

/* The item of this queue that an ask of this owner has claimed, 0: none. */
lk_id lk_claims_find(const struct lk_model *model, lk_id work, lk_id owner, uint64_t ask_number);

/* Makes room for one more. false: memory is exhausted. */
bool lk_claims_reserve(struct lk_model *model);

/* The item has its claim and ask number now; and it is about to lose them. */
void lk_claims_add(struct lk_model *model, lk_id item);
void lk_claims_remove(struct lk_model *model, lk_id item);

#endif
