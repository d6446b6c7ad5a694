/* SPDX-License-Identifier: Apache-2.0 */
/* The core's counters, and its numbers of this moment. */
#include "server/core/tally.h"

#include "base/minmax.h"
#include "server/core/core_internal.h"

/* Waits last from an instant to hours, hand-offs as long as a disk takes. */
static const int64_t wait_bounds_us[] = {
    1000,     10000,    100000,    500000,    1000000,    5000000,
    15000000, 60000000, 300000000, 900000000, 3600000000, 14400000000,
};
static const int64_t handoff_bounds_us[] = {
    250,   500,    1000,   2500,   5000,    10000,   25000,
    50000, 100000, 250000, 500000, 1000000, 2500000, 10000000,
};

_Static_assert(sizeof wait_bounds_us / sizeof wait_bounds_us[0] <= LK_BUCKETS_MAX
                   && sizeof handoff_bounds_us / sizeof handoff_bounds_us[0] <= LK_BUCKETS_MAX,
               "every bound has its bucket");

void lk_tally_begin(struct lk_tally *tally) {
    tally->waited.bounds_us = wait_bounds_us;
    tally->waited.count = sizeof wait_bounds_us / sizeof wait_bounds_us[0];
    tally->handed_off.bounds_us = handoff_bounds_us;
    tally->handed_off.count = sizeof handoff_bounds_us / sizeof handoff_bounds_us[0];
}

/* ---- hand-offs ------------------------------------------------------------------------------- */

static void add_handoff(struct lk_core *core) {
    struct lk_handoff_batch *batch = &core->tally.collecting;
    int64_t now_us = core->times.now_us;
    bool is_new = batch->count == 0 || batch->at[batch->count - 1].at_us != now_us;

    if (core->config.is_ephemeral) {
        lk_buckets_add(&core->tally.handed_off, 0, 1);
        return;
    }
    if (is_new && batch->count < LK_HANDOFFS_MAX) {
        batch->at[batch->count++] = (struct lk_handoffs){.at_us = now_us};
    }
    batch->at[batch->count - 1].count++;
}

void lk_tally_batch_taken(struct lk_tally *tally) {
    tally->writing = tally->collecting;
    tally->collecting.count = 0;
}

void lk_tally_batch_durable(struct lk_core *core) {
    struct lk_handoff_batch *batch = &core->tally.writing;

    for (size_t i = 0; i < batch->count; i++) {
        lk_buckets_add(&core->tally.handed_off, core->times.now_us - batch->at[i].at_us,
                       batch->at[i].count);
    }
    batch->count = 0;
}

void lk_tally_void(struct lk_core *core) {
    core->tally.collecting.count = 0;
    core->tally.writing.count = 0;
    lk_contention_clear(&core->contention);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void end_wait(struct lk_core *core, const struct lk_change *change) {
    int64_t since_us = lk_contention_remove(&core->contention, change->request);

    if (since_us == LK_NEVER) {
        return;
    }
    if (change->kind == LK_CHANGE_GRANTED) {
        lk_buckets_add(&core->tally.waited, core->times.now_us - since_us, 1);
        add_handoff(core);
    } else if (change->kind == LK_CHANGE_PERISHED) {
        core->tally.perished_waiting++;
    }
}

void lk_tally_step(struct lk_core *core, const struct lk_effects *effects) {
    for (size_t i = 0; i < effects->change_count; i++) {
        const struct lk_change *change = &effects->changes[i];

        core->tally.changes[change->kind]++;
        switch (change->kind) {
        case LK_CHANGE_QUEUED:
            lk_contention_add(&core->contention, core->model, change->request, core->times.now_us);
            break;
        case LK_CHANGE_CONVERTED:
            lk_contention_convert(&core->contention, core->model, change->request,
                                  core->times.now_us);
            break;
        case LK_CHANGE_GRANTED:
        case LK_CHANGE_RELEASED:
        case LK_CHANGE_WITHDRAWN:
        case LK_CHANGE_PERISHED:
        case LK_CHANGE_BROKEN:
            end_wait(core, change);
            break;
        default:
            break;
        }
    }
}

/* ---- loading --------------------------------------------------------------------------------- */

struct restoring {
    struct lk_core *core;
    uint64_t left; /* waiting requests not found yet */
};

/* A ticket is the wall clock's time at which it was drawn (R4), or shortly after it. */
static bool restore_one(void *context, lk_ref request) {
    struct restoring *restoring = context;
    struct lk_core *core = restoring->core;

    if (lk_model_state(core->model, request) == LK_STATE_WAITING) {
        int64_t ticket = (int64_t)lk_model_standing(core->model, request).ticket;
        int64_t age_us = lk_max(core->times.wall_us - ticket, 0);

        lk_contention_add(&core->contention, core->model, request, core->times.now_us - age_us);
        restoring->left--;
    }
    return restoring->left > 0;
}

void lk_tally_restore(struct lk_core *core) {
    struct restoring restoring = {.core = core};
    struct lk_model_stats stats;

    lk_contention_clear(&core->contention);
    lk_model_stats(core->model, &stats);
    restoring.left = stats.waiting;
    if (restoring.left > 0) {
        lk_model_each(core->model, restore_one, &restoring);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

const struct lk_tally *lk_core_tally(const struct lk_core *core) {
    return &core->tally;
}

void lk_core_contention(const struct lk_core *core, struct lk_contention_top *ret_top) {
    lk_contention_read(&core->contention, ret_top);
}

void lk_core_stats(const struct lk_core *core, struct lk_core_stats *ret_stats) {
    *ret_stats = core->stats;
    ret_stats->followers = core->event_log.followed;
    ret_stats->events = core->event_log.ring.count;
    ret_stats->event_bytes = core->event_log.ring.bytes;
    ret_stats->events_max = core->event_log.kept_max;
    ret_stats->quotas = lk_quotas_over(&core->config.quotas, &core->quotas);
    ret_stats->bytes = sizeof *core + core->binding_capacity * sizeof(*core->bindings)
                       + core->collection.dirty_at_capacity * sizeof *core->collection.dirty_at
                       + core->timer_capacity * sizeof(*core->timers)
                       + lk_contention_bytes(&core->contention);
    if (core->model != NULL) {
        struct lk_model_stats stats;
        lk_model_stats(core->model, &stats);
        ret_stats->bytes += stats.bytes;
    }
}
