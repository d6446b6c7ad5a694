/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that can be told to go away: the engine in memory, behind a switch.
 *
 * What the library does about a store that is away must not depend on why it is, so one way of
 * being away per kind of answer is enough.
 */
#ifndef LK_TESTS_LIBRARY_UNSTEADY_H
#define LK_TESTS_LIBRARY_UNSTEADY_H

#include <stdatomic.h>

#include "engine/engine.h"

enum unsteady_mood {
    STEADY,
    REFUSING, /* LK_UNAVAILABLE at once, nothing done */
    HANGING,  /* LK_UNAVAILABLE when the caller's patience is at its end, nothing done */
    LATE,     /* done at once, but answered when `answer_at_ms` has come */
    DEAF,     /* done, but the answer is lost: LK_UNAVAILABLE */
};

struct unsteady {
    struct lk_engine engine;
    struct lk_engine *inner;
    _Atomic int mood;             /* of enum unsteady_mood */
    _Atomic int64_t answer_at_ms; /* an instant of now_ms() */
    _Atomic int calls;            /* of ask, renew, release, take and finish */
    _Atomic int renewals;         /* of these, those of renew that were answered by LK_OK */
    _Atomic int trip_ms;          /* how long each renewal takes */
    const char *hung;             /* renewals of a lease on this path hang; set before any is */
};

/* A store on a private `mem:` behind a switch; lk_close() ends it. */
lk_store *open_unsteady(struct unsteady **ret_unsteady);

void be(struct unsteady *unsteady, enum unsteady_mood mood);
int calls_of(struct unsteady *unsteady);
void wait_for_calls(struct unsteady *unsteady, int count);
void wait_for_renewals(struct unsteady *unsteady, int count);

#endif
