/* SPDX-License-Identifier: Apache-2.0 */
/* What a store tells of a step of a random history, beside what the model does (R21). */
#ifndef LK_TESTS_SQLITE_TOLD_H
#define LK_TESTS_SQLITE_TOLD_H

#include "play.h"

/* How far events of one step have an order. What one break ends has none, whatever is said here. */
enum told_order {
    TOLD_IN_ORDER,
    TOLD_IN_ANY_ORDER, /* several roots, each of which perishes by itself (R11) */
};

/*
 * Asks some store of the play what has happened since it was asked last: what differs from the
 * model's step, in words, or NULL. `is_lazy` is that of compare.h.
 */
const char *told_differs(struct play *play, const struct lk_effects *effects, bool is_lazy,
                         enum told_order order);

#endif
