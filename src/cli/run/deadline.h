/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a command is asked to end and when it is killed, so that it never outlives the deadline its
 * store last promised. Plans are pure arithmetic on instants of lk_clock_now_us(), and read no
 * clock, lease or process.
 */
#ifndef LK_CLI_RUN_DEADLINE_H
#define LK_CLI_RUN_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "lockkeeper/lockkeeper.h"

#define LK_RUN_NEVER_US INT64_MAX

enum {
    LK_RUN_TERMINATE_MARGIN_MAX_MS = 10000, /* SIGTERM at most this long before the deadline */
    LK_RUN_KILL_MARGIN_MIN_MS = 20,         /* SIGKILL at least ... */
    LK_RUN_KILL_MARGIN_MAX_MS = 1000,       /* ... and at most this long before it */
    LK_RUN_GRACE_MIN_MS = 1000,             /* SIGTERM to SIGKILL where no deadline presses */
};

/* The two instants at which a command is ended. terminate_us <= kill_us. */
struct lk_run_plan {
    int64_t terminate_us;
    int64_t kill_us;
};

/* What a plan asks for at an instant. */
enum lk_run_step { LK_RUN_GO_ON = 0, LK_RUN_TERMINATE = 1, LK_RUN_KILL = 2 };

/* The plan that never ends anything. */
struct lk_run_plan lk_run_plan_none(void);

/* If no renewal succeeds any more: SIGTERM and SIGKILL shortly before the deadline. */
struct lk_run_plan lk_run_plan_deadline(int64_t ttl_ms, int64_t deadline_us);

/*
 * The store answered at `lost_us` that the lease is lost: SIGTERM at once; SIGKILL when the plan of
 * the deadline last promised has it, or after LK_RUN_GRACE_MIN_MS if that has passed; after a ttl
 * at the latest.
 */
struct lk_run_plan lk_run_plan_lost(int64_t ttl_ms, int64_t deadline_us, int64_t lost_us);

/* --max-time is up at `due_us`; the lease lives on, so that the grace need not be shorter than
 * LK_RUN_GRACE_MIN_MS. */
struct lk_run_plan lk_run_plan_max_time(int64_t ttl_ms, int64_t due_us);

/* The earlier of two plans, for each of the two instants. */
struct lk_run_plan lk_run_plan_sooner(struct lk_run_plan a, struct lk_run_plan b);

enum lk_run_step lk_run_plan_step(struct lk_run_plan plan, int64_t now_us);

/*
 * When to check the deadline again: at the next instant of the plan, or a sixth of the ttl from
 * now, so that the guard, which acts in lk's place (guard.h), never has a deadline that is much too
 * old. ttl_ms 0: there is no lease, only the plan counts.
 */
int64_t lk_run_plan_look_us(struct lk_run_plan plan, int64_t ttl_ms, int64_t now_us);

/* ---- the leases ------------------------------------------------------------------------------ */

/* The leases that CMD runs under, each of which it needs, until it has ended it itself. */

enum lk_run_lease_state {
    LK_RUN_LEASE_HELD,
    LK_RUN_LEASE_DOUBTED, /* it was refused; whether CMD has ended it itself is being asked */
    LK_RUN_LEASE_ENDED,   /* CMD does not need it any more */
    LK_RUN_LEASE_LOST,
};

struct lk_run_leases {
    lk_lease *const *all; /* borrowed, as the leases are */
    size_t count;
    const _Atomic unsigned char *states; /* enum lk_run_lease_state of each; NULL: all are held */
};

/*
 * One that is lost, else the one whose deadline is nearest; NULL: there is none, or some are
 * doubted and the others have ended.
 */
const lk_lease *lk_run_leases_weakest(const struct lk_run_leases *leases);

/* Whether CMD has ended all of them. */
bool lk_run_leases_have_ended(const struct lk_run_leases *leases);

#endif
