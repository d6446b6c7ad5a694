/* SPDX-License-Identifier: Apache-2.0 */
/* When events are kept, the readers of the ring, and the audit of breaks. */
#include "server/core/event_log.h"

#include "engine/reply/reply.h"
#include "server/core/core_internal.h"

/* How long events that were kept for followers stay after the last follower has gone. */
#define LINGER_US INT64_C(300000000)

static size_t bound_of(const struct lk_event_log *event_log) {
    return event_log->kept_max > 0 ? event_log->kept_max : LK_WATCHED_EVENTS_MAX;
}

/* ---- whether to keep ------------------------------------------------------------------------- */

static bool is_keeping(const struct lk_core *core) {
    const struct lk_event_log *event_log = &core->event_log;

    return event_log->kept_max > 0 || event_log->followed > 0
           || event_log->watched_until_us > core->times.now_us;
}

/* Also writes the mark to the store, so that a later load may rely on it. */
static void mark(struct lk_core *core, bool is_marked) {
    core->event_log.is_marked = is_marked;
    if (!core->config.is_ephemeral) {
        lk_collect_mark(&core->collection, is_marked ? core->times.now_us + LK_WATCHED_US : 0);
    }
}

/* Begins to keep events. */
static void begin(struct lk_core *core) {
    struct lk_event_log *event_log = &core->event_log;

    if (event_log->last == 0 && core->config.is_ephemeral) {
        /* Numbers increase across starts, so that a number of an earlier run is lower. */
        event_log->last = (uint64_t)core->times.wall_us;
    }
    if (event_log->has_missed) {
        event_log->has_missed = false;
        event_log->last++;
    }
    if (!event_log->is_marked) {
        mark(core, true);
    }
}

void lk_event_log_follow(struct lk_core *core, bool stays) {
    core->event_log.watched_until_us = core->times.now_us + LK_WATCHED_US;
    if (core->model != NULL) {
        begin(core);
    }
    core->event_log.followed += stays;
}

void lk_event_log_unfollow(struct lk_core *core) {
    core->event_log.followed--;
    core->event_log.watched_until_us = core->times.now_us + LK_WATCHED_US;
}

/* An event happens without a follower, and is not kept. */
static void miss(struct lk_core *core) {
    struct lk_event_log *event_log = &core->event_log;

    if (!event_log->has_missed) {
        event_log->has_missed = true;
        mark(core, false);
    }
    if (event_log->ring.count > 0 && core->times.now_us - event_log->watched_until_us > LINGER_US) {
        lk_event_ring_drop_oldest(&event_log->ring, 0, 0);
    }
}

static void drop_oldest(struct lk_core *core, size_t kept_max) {
    struct lk_event_ring *ring = &core->event_log.ring;
    size_t count = ring->count;

    lk_event_ring_drop_oldest(ring, kept_max, core->config.event_bytes_max);
    core->tally.events_dropped += count - ring->count;
}

void lk_event_log_bound(struct lk_core *core, size_t kept_max) {
    core->event_log.kept_max = kept_max;
    if (kept_max > 0) {
        begin(core);
    }
    drop_oldest(core, bound_of(&core->event_log));
}

/* ---- keeping --------------------------------------------------------------------------------- */

static bool keep(void *context, const struct lk_event *step_event) {
    struct lk_core *core = context;
    struct lk_event_log *event_log = &core->event_log;
    struct lk_stored_event *kept =
        lk_stored_event_make(step_event, ++event_log->last, core->times.wall_us);

    drop_oldest(core, bound_of(event_log) - 1);
    if (kept != NULL && !core->config.is_ephemeral) {
        kept->batch = core->collecting;
        lk_collect_event(&core->collection, kept);
    }
    /* Without memory the number stays unused, and followers are told of a gap. */
    if (lk_event_ring_add(&event_log->ring, kept)) {
        event_log->is_ready = true;
        core->tally.events++;
    }
    return true;
}

void lk_event_log_add(struct lk_core *core, const struct lk_command *command,
                      const struct lk_effects *effects) {
    lk_outcome outcome = effects->answer.outcome;

    if (is_keeping(core)) {
        begin(core);
        (void)lk_events_of_step(core->model, effects, command, keep, core);
    } else if (effects->change_count > 0 || outcome == LK_BUSY || outcome == LK_DEADLOCK
               || outcome == LK_FULL) {
        miss(core);
    }
}

void lk_event_log_fill(const struct lk_core *core, struct lk_batch_events *ret_events) {
    const struct lk_event_log *event_log = &core->event_log;

    ret_events->last = event_log->last;
    ret_events->forgotten = event_log->ring.count > 0
                                ? lk_event_ring_at(&event_log->ring, 0)->sequence - 1
                                : event_log->last;
}

/* ---- durable and void ------------------------------------------------------------------------ */

static void notify_watchers(struct lk_event_log *event_log) {
    struct lk_watcher *watcher;

    LIST_FOREACH(watcher, &event_log->watchers, list) {
        watcher->ready(watcher);
    }
}

void lk_event_log_serve(struct lk_core *core) {
    struct lk_event_log *event_log = &core->event_log;

    if (!event_log->is_ready) {
        return;
    }
    event_log->is_ready = false;
    if (core->config.is_ephemeral) {
        notify_watchers(event_log);
    }
    lk_followers_drain(core);
}

void lk_event_log_durable(struct lk_core *core, uint64_t batch) {
    struct lk_event_log *event_log = &core->event_log;
    const struct lk_stored_event *newest = lk_event_ring_newest(&event_log->ring);
    bool has_more = newest != NULL && newest->batch > event_log->durable;

    event_log->durable = batch;
    if (has_more) {
        notify_watchers(event_log);
    }
}

void lk_event_log_void(struct lk_core *core) {
    struct lk_event_ring *ring = &core->event_log.ring;
    const struct lk_stored_event *newest;

    while ((newest = lk_event_ring_newest(ring)) != NULL
           && newest->batch > core->event_log.durable) {
        lk_event_ring_drop_newest(ring);
    }
}

void lk_event_log_restore(struct lk_core *core, struct lk_event_log_snapshot *snapshot) {
    struct lk_event_log *event_log = &core->event_log;

    lk_event_ring_drop_oldest(&event_log->ring, 0, 0);
    event_log->last = snapshot->last;
    event_log->kept_max = snapshot->kept_max;
    event_log->has_missed = !snapshot->is_continuous;
    event_log->is_marked = snapshot->is_continuous;
    event_log->watched_until_us = snapshot->is_continuous ? core->times.now_us + LK_WATCHED_US : 0;
    event_log->ring = snapshot->ring;
    snapshot->ring = (struct lk_event_ring){.count = 0};
}

void lk_event_log_stop(struct lk_core *core) {
    if (core->model != NULL && is_keeping(core)) {
        mark(core, true); /* a follower that comes back within that time misses nothing */
    }
}

void lk_event_log_done(struct lk_event_log *event_log) {
    lk_event_ring_drop_oldest(&event_log->ring, 0, 0);
    lk_watch_event_done(&event_log->returned);
}

/* ---- queries --------------------------------------------------------------------------------- */

bool lk_event_log_has(const struct lk_core *core, const struct lk_event_query *query,
                      uint64_t *looked) {
    const struct lk_event_log *event_log = &core->event_log;
    size_t i = lk_event_ring_first_after(&event_log->ring, *looked);
    bool has_any =
        *looked > event_log->last || (i == event_log->ring.count && *looked != event_log->last);

    for (; i < event_log->ring.count && !has_any; i++) {
        const struct lk_stored_event *kept = lk_event_ring_at(&event_log->ring, i);
        has_any = kept->sequence != *looked + 1 || query->prefix == NULL
                  || lk_stored_event_is_below(kept, query->prefix);
        *looked = has_any ? *looked : kept->sequence;
    }
    return has_any;
}

struct lk_event_page *lk_event_log_ask(const struct lk_core *core,
                                       const struct lk_event_query *query) {
    return lk_event_ring_ask(&core->event_log.ring, query, core->event_log.last,
                             core->times.wall_us / 1000);
}

/* ---- watchers -------------------------------------------------------------------------------- */

void lk_watcher_begin(struct lk_core *core, struct lk_watcher *watcher,
                      const struct lk_path *prefix, uint64_t after, const struct lk_times *times) {
    core->times = *times;
    lk_event_log_follow(core, true);
    watcher->prefix = (struct lk_path){.depth = 0};
    if (prefix != NULL) {
        watcher->prefix = *prefix;
        memcpy(watcher->text, prefix->bytes, prefix->size);
        watcher->prefix.bytes = watcher->text;
    }
    watcher->after = after != 0 ? after : core->event_log.last;
    LIST_INSERT_HEAD(&core->event_log.watchers, watcher, list);
}

void lk_watcher_end(struct lk_core *core, struct lk_watcher *watcher,
                    const struct lk_times *times) {
    core->times = *times;
    LIST_REMOVE(watcher, list);
    lk_event_log_unfollow(core);
}

void lk_event_log_end_watchers(struct lk_core *core) {
    struct lk_watcher *watcher;

    LIST_FOREACH(watcher, &core->event_log.watchers, list) {
        watcher->ended(watcher);
    }
}

static const lk_watch_event *return_gap(struct lk_core *core, struct lk_watcher *watcher,
                                        uint64_t sequence, const struct lk_times *times) {
    struct lk_event_log *event_log = &core->event_log;

    core->tally.event_gaps++;
    watcher->after = sequence;
    event_log->returned = (lk_watch_event){
        .kind = LK_WATCH_GAP, .sequence = sequence, .at_unix_ms = times->wall_us / 1000};
    return &event_log->returned;
}

const lk_watch_event *lk_watcher_next(struct lk_core *core, struct lk_watcher *watcher,
                                      const struct lk_times *times) {
    struct lk_event_log *event_log = &core->event_log;

    lk_watch_event_done(&event_log->returned);
    if (core->model == NULL) {
        return NULL;
    }
    if (watcher->after > event_log->last) {
        return return_gap(core, watcher, event_log->last, times);
    }
    for (size_t i = lk_event_ring_first_after(&event_log->ring, watcher->after);
         i < event_log->ring.count; i++) {
        const struct lk_stored_event *kept = lk_event_ring_at(&event_log->ring, i);
        if (kept->batch > event_log->durable) {
            return NULL;
        }
        if (kept->sequence != watcher->after + 1) {
            return return_gap(core, watcher, kept->sequence - 1, times);
        }
        watcher->after = kept->sequence;
        if (lk_stored_event_is_below(kept, &watcher->prefix)
            && lk_stored_event_open(kept, &event_log->returned)) {
            return &event_log->returned;
        }
    }
    return watcher->after != event_log->last ? return_gap(core, watcher, event_log->last, times)
                                             : NULL;
}

/* ---- the audit of breaks (R12) --------------------------------------------------------------- */

void lk_core_audit_break(struct lk_core *core, const struct lk_break *broken,
                         const struct lk_effects *effects) {
    for (size_t i = 0; i < effects->change_count; i++) {
        const struct lk_change *change = &effects->changes[i];
        struct lk_record *record = &core->record;
        struct lk_audit_row row;

        if (!lk_audit_row_of(core->model, effects, change, broken, core->times.wall_us, record,
                             &row)) {
            continue;
        }
        if (core->audit->count >= LK_AUDITS_MAX + LK_CORE_AUDIT_SPARE) {
            lk_audit_drop_oldest(core->audit, LK_CORE_AUDIT_SPARE);
            core->audit_first += LK_CORE_AUDIT_SPARE;
        }
        core->has_broken = true;
        if (!lk_audit_add(core->audit, &row)) {
            core->collection.is_incomplete = true;
        }
        if (!core->config.is_ephemeral) {
            lk_collect_audit(&core->collection, &row);
        }
    }
}
