/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The neighbourhood of an event: as much of the store as the model needs to decide it as if it had
 * all of it. Why that is enough is argued in neighbourhood.c, and tested against whole stores.
 */
#ifndef LK_ENGINE_SQLITE_NEIGHBOURHOOD_H
#define LK_ENGINE_SQLITE_NEIGHBOURHOOD_H

#include "engine/sqlite/set.h"
#include "engine/sqlite/store.h"

struct lk_neighbourhood {
    struct lk_sqlite *store;
    struct lk_model *model;
    int64_t now_us;
    const struct lk_path *broken; /* LK_EVENT_BREAK: what stands at exactly this path may end */
    bool with_owners;             /* LK_EVENT_ASK: owners are followed, for R13 */
    bool with_all;                /* nothing need be followed, for all is there */
    struct lk_set requests;       /* loaded; keys are ids */
    struct lk_set paths;          /* all that is related to these is, or will be, loaded */
    struct lk_set owners;         /* all that waits of theirs is, or will be, loaded */
    struct lk_set roots;          /* last draws loaded */
};

/*
 * Makes a model and loads into it what the event needs; a LK_EVENT_TICK needs everything, unless
 * `prefix` (else NULL) limits what will be asked of the model to what is related to it.
 * Returns SQLite's code. lk_neighbourhood_done() in any case.
 */
int lk_neighbourhood_load(struct lk_neighbourhood *hood, struct lk_sqlite_turn *turn,
                          const struct lk_event *event, const struct lk_path *prefix);
void lk_neighbourhood_done(struct lk_neighbourhood *hood);

/* Whether the file has a request of that id. */
bool lk_neighbourhood_has(const struct lk_neighbourhood *hood, uint64_t id);

#endif
