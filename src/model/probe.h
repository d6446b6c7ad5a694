/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A probe: the parts that a request wants, to be checked against the state. It may be of a request
 * in the queue, of a conversion, or of an ask that has made no request yet and may never make one.
 */
#ifndef LK_MODEL_PROBE_H
#define LK_MODEL_PROBE_H

#include "model/state.h"

#define LK_TICKET_NEWEST UINT64_MAX  /* after all waiting requests */
#define LK_TICKET_PASSES UINT64_C(0) /* before all waiting requests (R9) */

struct lk_probed_part {
    lk_id node;    /* of the path, or its deepest parent that exists; 0: not even a root */
    uint8_t depth; /* segments that lead to the node */
    bool is_there; /* node is the path's own */
    uint32_t limit;
    uint32_t units; /* 0: exclusive */
};

struct lk_probe {
    lk_id owner;     /* 0: one without any request */
    lk_id self;      /* the request itself: its own units do not count against it; 0: none yet */
    uint64_t ticket; /* requests that wait with a smaller one are ahead */
    uint32_t pass;   /* of grant.c; 0: none */
    bool is_of_item; /* R16: R8 does not apply to it */
    size_t count;
    struct lk_probed_part parts[LK_PARTS_MAX];
};

/* The reason against a grant, if any. */
enum lk_verdict {
    LK_VERDICT_GRANT,
    LK_VERDICT_HELD,  /* R7a */
    LK_VERDICT_AHEAD, /* R7b */
    LK_VERDICT_LIMIT, /* R7c */
};

/* The probe of an ask, its parts looked up. */
void lk_probe_of_ask(const struct lk_model *model, lk_id owner, const struct lk_part *parts,
                     size_t count, struct lk_probe *ret_probe);

/* The probe of a request in its present state. */
void lk_probe_of_request(const struct lk_model *model, lk_id request, struct lk_probe *ret_probe);

/* R7 and R8. *ret_part, which may be NULL, gets the part that it fails at. */
enum lk_verdict lk_probe_check(const struct lk_model *model, const struct lk_probe *probe,
                               size_t *ret_part);

/* R8: each part is covered by leases of the owner. */
bool lk_probe_is_covered(const struct lk_model *model, const struct lk_probe *probe);

/* R7c for one part: what counts already at its path, `self` left out. */
uint64_t lk_probe_units_taken(const struct lk_model *model, const struct lk_probe *probe,
                              const struct lk_probed_part *part);

#endif
