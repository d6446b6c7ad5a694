/* SPDX-License-Identifier: Apache-2.0 */
/* One decision inside a turn: load the neighbourhood, step, write what changed. */
#ifndef LK_ENGINE_SQLITE_DECIDE_H
#define LK_ENGINE_SQLITE_DECIDE_H

#include "engine/sqlite/neighbourhood.h"

/*
 * Loads, decides and writes. *ret_effects is the neighbourhood's model's. Returns SQLite's code;
 * lk_neighbourhood_done() in any case.
 */
int lk_sqlite_decide(struct lk_sqlite_turn *turn, struct lk_event *event,
                     struct lk_neighbourhood *hood, const struct lk_effects **ret_effects);

/* The last of these three alone: everything that a step of this event changed. */
int lk_sqlite_write(struct lk_sqlite_turn *turn, const struct lk_event *event,
                    const struct lk_neighbourhood *hood, const struct lk_effects *effects);

/*
 * Lets take effect what is overdue: of a queue's claims all (NULL: of none), elsewhere some.
 * Returns SQLite's code.
 */
int lk_sqlite_sweep(struct lk_sqlite_turn *turn, const struct lk_path *queue);

#endif
