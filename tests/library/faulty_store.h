/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that fails on request: the engine in memory, wrapped in one that injects faults.
 *
 * The library must not depend on why a store is unavailable, so one fault for each kind of answer
 * is enough.
 */
#ifndef LK_TESTS_LIBRARY_FAULTY_STORE_H
#define LK_TESTS_LIBRARY_FAULTY_STORE_H

#include <stdatomic.h>

#include "engine/engine.h"

enum fault {
    NO_FAULT,
    REFUSING,            /* LK_UNAVAILABLE at once, nothing done */
    DISTANT,             /* done, after some milliseconds of the caller's time budget */
    HANGING,             /* LK_UNAVAILABLE when the caller's time budget is over, nothing done */
    LATE,                /* done at once, but answered when `answer_at_ms` has come */
    ANSWER_LOST,         /* done, but the answer is lost: LK_UNAVAILABLE */
    LOST_AFAR,           /* as DISTANT, and then as ANSWER_LOST */
    LOST_AFAR_THEN_AWAY, /* the same once, then REFUSING */
};

struct faulty {
    struct lk_engine engine;
    struct lk_engine *inner;
    _Atomic int fault;            /* of enum fault */
    _Atomic int64_t answer_at_ms; /* an instant of now_ms() */
    _Atomic int calls;            /* of ask, renew, release, take and finish */
    _Atomic int renewals;         /* of these, those of renew that were answered by LK_OK */
    _Atomic int trip_ms;          /* how long each renewal takes */
    _Atomic int64_t release_us;   /* the time budget of the last release */
    atomic_bool says_sent;        /* an ask whose answer is lost is known to have been sent */
    const char *hung;             /* renewals of a lease on this path hang; set before any is */
};

/* Opens a store on a private `mem:` with faults; lk_close() closes it. */
lk_store *open_faulty(struct faulty **ret_faulty);

void set_fault(struct faulty *faulty, enum fault fault);
int calls_of(struct faulty *faulty);
void wait_for_calls(struct faulty *faulty, int count);
void wait_for_renewals(struct faulty *faulty, int count);

#endif
