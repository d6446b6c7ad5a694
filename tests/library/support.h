/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the library share: a fresh store for each test, short ways to ask, and waiting
 * for conditions with a bound; and a store that fails on request.
 *
 * A test program is run once for each engine, which its first argument names.
 */
#ifndef LK_TESTS_LIBRARY_SUPPORT_H
#define LK_TESTS_LIBRARY_SUPPORT_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"

/* cmocka.h needs those four before it. */
#include <cmocka.h>

#include "lockkeeper/lockkeeper.h"

/* This time by $LK_TEST_STRETCH, which is more than 1 after a failure on a busy machine. */
int stretched(int duration_ms);

#define BOUND_MS stretched(60000) /* no condition takes longer, however busy the machine */

struct fixture {
    char directory[96];
    char url[128];
    lk_store *store;
};

/* "mem" or "sqlite". Fails the program when it is neither. */
void choose_scheme(int argc, char **argv);

/* cmocka's set-up and tear-down of one test: *state is a struct fixture. */
int open_fixture(void **state);
int close_fixture(void **state);

/* The same store once more. */
lk_store *open_again(const struct fixture *fixture);

/* ---- short ways to ask ----------------------------------------------------------------------- */

/* A request of one part that does not wait: LK_TRY. *part stays borrowed. */
lk_request request_of(const char *owner, const char *const *part);

lk_outcome try_part(lk_store *store, const char *owner, const char *part);
lk_outcome queue_part(lk_store *store, const char *owner, const char *part);
lk_outcome release_part(lk_store *store, const char *owner, const char *part);
lk_outcome renew_part(lk_store *store, const char *owner, const char *part);
size_t break_path(lk_store *store, const char *path, bool at_once);

/* How many requests are live in the store, and how many of them wait. */
size_t count_live(lk_store *store);
size_t count_waiting(lk_store *store);

/* ---- waiting --------------------------------------------------------------------------------- */

int64_t now_ms(void);

/* Looks again and again, a few milliseconds apart; fails the test after BOUND_MS. */
void wait_until_waiting(lk_store *store, size_t count);
void wait_until_ms(int64_t instant_ms);

/* A part of `count` by $LK_TEST_SCALE percent; at least 1. */
int scaled(int count);

/* A thread that waits for a lock in the queue, and what became of it. */
struct waiter {
    lk_store *store;
    lk_request request; /* points to the waiter itself: do not move it */
    const char *part;
    lk_outcome outcome;
    lk_result *result;
    lk_error error;
    pthread_t thread;
};

/* Sets the waiter up with an LK_WAIT for ever; the request may be changed before the start. */
void waiter_prepare(struct waiter *waiter, lk_store *store, const char *owner, const char *part);
void waiter_start(struct waiter *waiter);

/* Waits for its end, and returns the outcome. Ends the waiter with waiter_done(). */
lk_outcome waiter_join(struct waiter *waiter);
void waiter_done(struct waiter *waiter);

/* ---- a store that fails on request ----------------------------------------------------------- */

/*
 * The engine in memory, wrapped in one that injects faults. The library must not depend on why a
 * store is unavailable, so one fault for each kind of answer is enough.
 */
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
