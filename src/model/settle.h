/* SPDX-License-Identifier: Apache-2.0 */
/* Letting the next ones in (R7, R8, R12): whenever something ends or weakens, and after a grant. */
#ifndef LK_MODEL_SETTLE_H
#define LK_MODEL_SETTLE_H

#include "model/requests.h"

/* Where something ended or weakened; and an owner who got something, 0: none. */
struct lk_touched {
    lk_id nodes[LK_PARTS_MAX];
    size_t count;
    lk_id owner;
};

/* The nodes of a request's stakes. */
void lk_touched_by(const struct lk_model *model, lk_id request, struct lk_touched *ret_touched);

/*
 * Grants, in the order of tickets, every waiting request that may go now (R7, R8). Only those
 * related to what was touched are looked at, and of them only as many as can make a difference.
 * The grants happen at `times.now_us`. Room for the changes has been reserved.
 */
void lk_settle(struct lk_model *model, const struct lk_touched *touched, struct lk_times times);

/* The same for all that wait, wherever; lk_settle_reserve() has succeeded. */
void lk_settle_all(struct lk_model *model, struct lk_times times);
bool lk_settle_reserve(struct lk_model *model, size_t extra); /* room for that many more */

#endif
