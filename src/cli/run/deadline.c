/* SPDX-License-Identifier: Apache-2.0 */
/* Margins before a deadline, the plans made of them, and the lease that decides. */
#include "cli/run/deadline.h"

#include <stdatomic.h>

#include "base/minmax.h"

static int64_t greater(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* A twentieth of the ttl, within bounds. */
static int64_t kill_margin_us(int64_t ttl_ms) {
    int64_t margin_us = lk_min(ttl_ms * 1000 / 20, LK_RUN_KILL_MARGIN_MAX_MS * 1000LL);

    return greater(margin_us, LK_RUN_KILL_MARGIN_MIN_MS * 1000LL);
}

/* A sixth of the ttl; of a very short ttl, no less than the margin of SIGKILL. */
static int64_t terminate_margin_us(int64_t ttl_ms) {
    int64_t margin_us = lk_min(ttl_ms * 1000 / 6, LK_RUN_TERMINATE_MARGIN_MAX_MS * 1000LL);

    return greater(margin_us, kill_margin_us(ttl_ms));
}

struct lk_run_plan lk_run_plan_none(void) {
    return (struct lk_run_plan){.terminate_us = LK_RUN_NEVER_US, .kill_us = LK_RUN_NEVER_US};
}

struct lk_run_plan lk_run_plan_deadline(int64_t ttl_ms, int64_t deadline_us) {
    return (struct lk_run_plan){
        .terminate_us = deadline_us - terminate_margin_us(ttl_ms),
        .kill_us = deadline_us - kill_margin_us(ttl_ms),
    };
}

struct lk_run_plan lk_run_plan_lost(int64_t ttl_ms, int64_t deadline_us, int64_t lost_us) {
    struct lk_run_plan plan = lk_run_plan_deadline(ttl_ms, deadline_us);

    if (plan.kill_us <= lost_us) {
        plan.kill_us = lost_us + LK_RUN_GRACE_MIN_MS * 1000LL;
    }
    /* More than a ttl is left where the store confirmed a longer time than to the next renewal, as
     * shm: does. Once the lease is lost, other owners need not wait for that time. */
    plan.kill_us =
        lk_min(plan.kill_us, lost_us + greater(ttl_ms * 1000, LK_RUN_GRACE_MIN_MS * 1000LL));
    plan.terminate_us = lost_us;
    return plan;
}

struct lk_run_plan lk_run_plan_max_time(int64_t ttl_ms, int64_t due_us) {
    int64_t grace_us = greater(terminate_margin_us(ttl_ms), LK_RUN_GRACE_MIN_MS * 1000LL);

    return (struct lk_run_plan){.terminate_us = due_us, .kill_us = due_us + grace_us};
}

struct lk_run_plan lk_run_plan_sooner(struct lk_run_plan a, struct lk_run_plan b) {
    return (struct lk_run_plan){
        .terminate_us = lk_min(a.terminate_us, b.terminate_us),
        .kill_us = lk_min(a.kill_us, b.kill_us),
    };
}

enum lk_run_step lk_run_plan_step(struct lk_run_plan plan, int64_t now_us) {
    if (now_us >= plan.kill_us) {
        return LK_RUN_KILL;
    }
    return now_us >= plan.terminate_us ? LK_RUN_TERMINATE : LK_RUN_GO_ON;
}

int64_t lk_run_plan_look_us(struct lk_run_plan plan, int64_t ttl_ms, int64_t now_us) {
    int64_t next_us = now_us < plan.terminate_us ? plan.terminate_us : plan.kill_us;

    return ttl_ms > 0 ? lk_min(next_us, now_us + ttl_ms * 1000 / 6) : next_us;
}

/* ---- the leases ------------------------------------------------------------------------------ */

const lk_lease *lk_run_leases_weakest(const struct lk_run_leases *leases) {
    const lk_lease *weakest = NULL;
    int64_t least_ms = INT64_MAX;

    for (size_t i = 0; i < leases->count; i++) {
        const lk_lease *lease = leases->all[i];
        int64_t remaining_ms = lk_lease_remaining_ms(lease);
        bool is_lost = lk_lease_is_lost(lease);

        if (leases->states != NULL) {
            unsigned char state = atomic_load(&leases->states[i]);
            if (state == LK_RUN_LEASE_ENDED || (is_lost && state != LK_RUN_LEASE_LOST)) {
                continue;
            }
        }
        if (is_lost) {
            return lease;
        }
        if (weakest == NULL || remaining_ms < least_ms) {
            weakest = lease;
            least_ms = remaining_ms;
        }
    }
    return weakest;
}

bool lk_run_leases_have_ended(const struct lk_run_leases *leases) {
    size_t ended = 0;

    for (size_t i = 0; leases->states != NULL && i < leases->count; i++) {
        ended += atomic_load(&leases->states[i]) == LK_RUN_LEASE_ENDED;
    }
    return ended == leases->count;
}
