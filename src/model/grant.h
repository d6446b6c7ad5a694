/* SPDX-License-Identifier: Apache-2.0 */
/* Grants waiting requests (R7, R8, R12): whenever a request ends or weakens, and after a grant. */
#ifndef LK_MODEL_GRANT_H
#define LK_MODEL_GRANT_H

#include "model/requests.h"

/* The nodes at which requests ended or weakened; and an owner that gained a lease, 0: none. */
struct lk_released_nodes {
    lk_id nodes[LK_PARTS_MAX];
    size_t count;
    lk_id owner;
};

/* The nodes of a request's part entries. */
void lk_released_nodes_of(const struct lk_model *model, lk_id request,
                          struct lk_released_nodes *ret_released);

/*
 * Grants, in the order of tickets, every waiting request that has become grantable (R7, R8). Checks
 * only requests that are related to the released nodes, and of them only those for which the
 * release can make a difference. The grants happen at `times.now_us`. Room for the changes has been
 * reserved.
 */
void lk_grant_waiters(struct lk_model *model, const struct lk_released_nodes *released,
                      struct lk_times times);

/* By ticket, and by id where claims share one (R16). */
void lk_sort_by_ticket(const struct lk_model *model, lk_ref *refs, size_t count);

/* The same for all waiting requests. lk_grant_reserve() must have succeeded. */
void lk_grant_all_waiters(struct lk_model *model, struct lk_times times);
bool lk_grant_reserve(struct lk_model *model, size_t extra); /* room for that many more */

#endif
