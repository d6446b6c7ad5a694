/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small predicates of the rules, on modes and numbers alone. They are used wherever C code
 * decides: in the model, and in the tests that check engines that decide elsewhere.
 */
#ifndef LK_MODEL_RULES_H
#define LK_MODEL_RULES_H

#include "model/part.h"

/* The units of a part determine its mode: 0 is exclusive, one or more is shared (R7c). */
static inline enum lk_mode lk_mode_of_units(uint32_t units) {
    return units == 0 ? LK_EXCLUSIVE : LK_SHARED;
}

/* R6 for parts of different owners whose paths are related: at least one is exclusive. */
static inline bool lk_modes_conflict(enum lk_mode a, enum lk_mode b) {
    return a == LK_EXCLUSIVE || b == LK_EXCLUSIVE;
}

/* R7c: `taken` units count already at the path. Without a limit (0) everything fits. */
static inline bool lk_units_fit(uint32_t limit, uint32_t units, uint64_t taken) {
    return limit == 0 || taken + units <= limit;
}

/* R8: a lease's part covers a part asked for by the same owner. */
static inline bool lk_part_covers(const struct lk_part *held, const struct lk_part *asked) {
    if (!lk_path_contains(&held->path, &asked->path)) {
        return false;
    }
    return held->mode == LK_EXCLUSIVE
           || (held->limit == 0 && asked->mode == LK_SHARED && asked->limit == 0);
}

/* R9: whether `asked` (at the same path) is stronger than `present`. A limit alone never is. */
static inline bool lk_part_is_stronger(const struct lk_part *present, const struct lk_part *asked) {
    if (present->mode == LK_EXCLUSIVE) {
        return false; /* exclusive covers everything already; becoming shared only admits others */
    }
    return asked->mode == LK_EXCLUSIVE || asked->units > present->units;
}

#endif
