/* SPDX-License-Identifier: Apache-2.0 */
/* The predicates of the rules on parts. */
#include "model/rules.h"

bool lk_part_covers(const struct lk_part *held, const struct lk_part *asked) {
    if (!lk_path_contains(&held->path, &asked->path)) {
        return false;
    }
    return held->mode == LK_EXCLUSIVE
           || (held->limit == 0 && asked->mode == LK_SHARED && asked->limit == 0);
}

bool lk_part_is_stronger(const struct lk_part *present, const struct lk_part *asked) {
    if (present->mode == LK_EXCLUSIVE) {
        return false; /* exclusive covers everything already; becoming shared only admits others */
    }
    return asked->mode == LK_EXCLUSIVE || asked->units > present->units;
}
