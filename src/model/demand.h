/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A demand: what a request wants, put to the state as a question. It may stand for a request in
 * line, for a conversion, or for an ask that is not there yet and perhaps never will be.
 */
#ifndef LK_MODEL_DEMAND_H
#define LK_MODEL_DEMAND_H

#include "model/state.h"

#define LK_TICKET_NEWEST UINT64_MAX  /* comes after everybody who waits */
#define LK_TICKET_PASSES UINT64_C(0) /* comes before everybody who waits (R9) */

struct lk_demanded {
    lk_id node;    /* of the path, or its deepest parent that exists; 0: not even a root */
    uint8_t depth; /* segments that lead to the node */
    bool is_there; /* node is the path's own */
    uint32_t limit;
    uint32_t units; /* 0: exclusive */
};

struct lk_demand {
    lk_id owner;     /* 0: one without any request */
    lk_id self;      /* the request itself: its own units do not count against it; 0: none yet */
    uint64_t ticket; /* who waits with a smaller one is ahead */
    uint32_t pass;   /* of settle.c; 0: none */
    bool is_of_item; /* R16: R8 does not apply to it */
    size_t count;
    struct lk_demanded parts[LK_PARTS_MAX];
};

/* What stands against a grant, if anything. */
enum lk_verdict {
    LK_VERDICT_GRANT,
    LK_VERDICT_HELD,  /* R7a */
    LK_VERDICT_AHEAD, /* R7b */
    LK_VERDICT_LIMIT, /* R7c */
};

/* The demand of an ask, its parts looked up. */
void lk_demand_of_ask(const struct lk_model *model, lk_id owner, const struct lk_part *parts,
                      size_t count, struct lk_demand *ret_demand);

/* The demand of a request as it stands. */
void lk_demand_of_request(const struct lk_model *model, lk_id request,
                          struct lk_demand *ret_demand);

/* R7 and R8. *ret_part, which may be NULL, gets the part that it fails at. */
enum lk_verdict lk_demand_judge(const struct lk_model *model, const struct lk_demand *demand,
                                size_t *ret_part);

/* R8: each part is covered by leases of the owner. */
bool lk_demand_is_covered(const struct lk_model *model, const struct lk_demand *demand);

/* R7c for one part: what counts already at its path, `self` left out. */
uint64_t lk_demand_units_taken(const struct lk_model *model, const struct lk_demand *demand,
                               const struct lk_demanded *part);

#endif
