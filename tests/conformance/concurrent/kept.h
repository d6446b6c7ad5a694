/* SPDX-License-Identifier: Apache-2.0 */
/* What was kept by locks: whether any of it is lost, and whether all goes on behind the faults. */
#ifndef CONFORMANCE_KEPT_H
#define CONFORMANCE_KEPT_H

#include "evidence.h"

struct kept {
    /* violations */
    size_t value;    /* R15: an acknowledged value is missing, or one is there that was refused */
    size_t fence;    /* R4: a token lets one in where another holds the lease */
    size_t work;     /* R16: an item is lost, or claimed where it is claimed or done */
    size_t progress; /* behind the faults nothing is granted at a root, or work is left */
    size_t defect;   /* R23: INTERNAL */
    /* checked */
    size_t values;
    size_t touches;
    size_t refused; /* of the touches: the resource had seen a greater token */
    size_t items;
    size_t claims;
};

/* Prints the first violations of each kind. The evidence is derived. */
void kept_check(const struct evidence *evidence, struct kept *ret_kept);

#endif
