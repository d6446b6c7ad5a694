/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of events, and who reads it. */
#include "server/history.h"

#include <stdlib.h>

#include "server/inside.h"

/* How long what was kept for followers stays once there are none. */
#define LINGER_US INT64_C(300000000)

enum { ROOM_MIN = 64 };

/* ---- the ring -------------------------------------------------------------------------------- */

static struct lk_kept *kept_at(const struct lk_history *history, size_t index) {
    return history->ring[(history->first + index) % history->room];
}

static void drop_oldest(struct lk_history *history, size_t kept_max) {
    while (history->count > kept_max) {
        free(kept_at(history, 0));
        history->first = (history->first + 1) % history->room;
        history->count--;
    }
    if (history->count == 0) {
        free(history->ring);
        history->ring = NULL;
        history->room = 0;
        history->first = 0;
    }
}

static size_t bound_of(const struct lk_history *history) {
    return history->kept_max > 0 ? history->kept_max : LK_WATCHED_EVENTS_MAX;
}

/* Room for one more; false: memory is exhausted. */
static bool reserve_one(struct lk_history *history) {
    size_t room = history->room == 0 ? ROOM_MIN : history->room * 2;
    struct lk_kept **ring;

    if (history->count < history->room) {
        return true;
    }
    ring = malloc(room * sizeof(*ring));
    if (ring == NULL) {
        return false;
    }
    for (size_t i = 0; i < history->count; i++) {
        ring[i] = kept_at(history, i);
    }
    free(history->ring);
    history->ring = ring;
    history->room = room;
    history->first = 0;
    return true;
}

/* The index of the first event behind `after`: numbers grow, so by halves. */
static size_t first_behind(const struct lk_history *history, uint64_t after) {
    size_t low = 0;
    size_t high = history->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (kept_at(history, middle)->sequence <= after) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* ---- whether to keep ------------------------------------------------------------------------- */

static bool is_keeping(const struct lk_core *core) {
    const struct lk_history *history = &core->history;

    return history->kept_max > 0 || history->followed > 0
           || history->watched_until_us > core->times.now_us;
}

/* The store says so, too: whoever loads it may rely on it. */
static void mark(struct lk_core *core, bool is_marked) {
    core->history.is_marked = is_marked;
    if (!core->config.is_ephemeral) {
        lk_collect_mark(&core->collection, is_marked ? core->times.now_us + LK_WATCHED_US : 0);
    }
}

/* From here on events are kept. */
static void begin(struct lk_core *core) {
    struct lk_history *history = &core->history;

    if (history->last == 0 && core->config.is_ephemeral) {
        /* Numbers rise from one start to the next, so that an old one is known to be old. */
        history->last = (uint64_t)core->times.wall_us;
    }
    if (history->has_missed) {
        history->has_missed = false;
        history->last++;
    }
    if (!history->is_marked) {
        mark(core, true);
    }
}

void lk_history_follow(struct lk_core *core, bool stays) {
    core->history.watched_until_us = core->times.now_us + LK_WATCHED_US;
    if (core->model != NULL) {
        begin(core);
    }
    core->history.followed += stays;
}

void lk_history_unfollow(struct lk_core *core) {
    core->history.followed--;
    core->history.watched_until_us = core->times.now_us + LK_WATCHED_US;
}

/* Something happens, and nobody wants to know. */
static void miss(struct lk_core *core) {
    struct lk_history *history = &core->history;

    if (!history->has_missed) {
        history->has_missed = true;
        mark(core, false);
    }
    if (history->count > 0 && core->times.now_us - history->watched_until_us > LINGER_US) {
        drop_oldest(history, 0);
    }
}

void lk_history_bound(struct lk_core *core, size_t kept_max) {
    core->history.kept_max = kept_max;
    if (kept_max > 0) {
        begin(core);
    }
    drop_oldest(&core->history, bound_of(&core->history));
}

/* ---- keeping --------------------------------------------------------------------------------- */

static bool keep(void *context, const struct lk_happening *happening) {
    struct lk_core *core = context;
    struct lk_history *history = &core->history;
    struct lk_kept *kept = lk_kept_make(happening, ++history->last, core->times.wall_us);

    drop_oldest(history, bound_of(history) - 1);
    if (kept != NULL && !core->config.is_ephemeral) {
        kept->batch = core->collecting;
        lk_collect_event(&core->collection, kept);
    }
    /* Without memory its number stays unused: who follows is told of a gap. */
    if (kept == NULL || !reserve_one(history)) {
        free(kept);
        return true;
    }
    history->ring[(history->first + history->count++) % history->room] = kept;
    history->is_stirred = true;
    return true;
}

void lk_history_tell(struct lk_core *core, const struct lk_event *event,
                     const struct lk_effects *effects) {
    lk_outcome outcome = effects->answer.outcome;

    if (is_keeping(core)) {
        begin(core);
        (void)lk_happenings_of_step(core->model, effects, event, keep, core);
    } else if (effects->change_count > 0 || outcome == LK_BUSY || outcome == LK_DEADLOCK
               || outcome == LK_FULL) {
        miss(core);
    }
}

void lk_history_fill(const struct lk_core *core, struct lk_batch_events *ret_events) {
    const struct lk_history *history = &core->history;

    ret_events->last = history->last;
    ret_events->forgotten = history->count > 0 ? kept_at(history, 0)->sequence - 1 : history->last;
}

/* ---- what becomes of it ---------------------------------------------------------------------- */

static void stir_watchers(struct lk_history *history) {
    struct lk_watcher *watcher;

    LIST_FOREACH(watcher, &history->watchers, list) {
        watcher->stirred(watcher);
    }
}

void lk_history_settle(struct lk_core *core) {
    struct lk_history *history = &core->history;

    if (!history->is_stirred) {
        return;
    }
    history->is_stirred = false;
    if (core->config.is_ephemeral) {
        stir_watchers(history);
    }
    lk_followers_drain(core);
}

void lk_history_durable(struct lk_core *core, uint64_t batch) {
    struct lk_history *history = &core->history;
    bool has_more =
        history->count > 0 && kept_at(history, history->count - 1)->batch > history->durable;

    history->durable = batch;
    if (has_more) {
        stir_watchers(history);
    }
}

void lk_history_void(struct lk_core *core) {
    struct lk_history *history = &core->history;

    while (history->count > 0 && kept_at(history, history->count - 1)->batch > history->durable) {
        free(kept_at(history, history->count - 1));
        history->count--;
    }
}

bool lk_history_restore(struct lk_core *core, struct lk_history_image *image) {
    struct lk_history *history = &core->history;

    drop_oldest(history, 0);
    history->last = image->last;
    history->kept_max = image->kept_max;
    history->has_missed = !image->is_continuous;
    history->is_marked = image->is_continuous;
    history->watched_until_us = image->is_continuous ? core->times.now_us + LK_WATCHED_US : 0;
    for (size_t i = 0; i < image->count; i++) {
        if (!reserve_one(history)) {
            return false;
        }
        history->ring[history->count++] = image->events[i];
        image->events[i] = NULL;
    }
    return true;
}

void lk_history_stop(struct lk_core *core) {
    if (core->model != NULL && is_keeping(core)) {
        mark(core, true); /* who comes back within that time has missed nothing */
    }
}

void lk_history_done(struct lk_history *history) {
    drop_oldest(history, 0);
    lk_watch_event_done(&history->told);
}

/* ---- questions ------------------------------------------------------------------------------- */

bool lk_history_has(const struct lk_core *core, const struct lk_event_query *query,
                    uint64_t *looked) {
    const struct lk_history *history = &core->history;
    size_t i = first_behind(history, *looked);
    bool has_any = *looked > history->last || (i == history->count && *looked != history->last);

    for (; i < history->count && !has_any; i++) {
        const struct lk_kept *kept = kept_at(history, i);
        has_any = kept->sequence != *looked + 1 || query->prefix == NULL
                  || lk_kept_is_below(kept, query->prefix);
        *looked = has_any ? *looked : kept->sequence;
    }
    return has_any;
}

static bool collect_one(const struct lk_kept *kept, const struct lk_event_query *query,
                        struct lk_happenings *happenings) {
    lk_watch_event event;

    if (query->prefix != NULL && !lk_kept_is_below(kept, query->prefix)) {
        return lk_happenings_pass(happenings, kept->sequence, kept->at_unix_us / 1000);
    }
    return lk_kept_open(kept, &event) && lk_happenings_add(happenings, query, &event);
}

struct lk_happenings *lk_history_ask(const struct lk_core *core,
                                     const struct lk_event_query *query) {
    const struct lk_history *history = &core->history;
    struct lk_happenings *happenings = lk_happenings_new(query);
    bool is_whole = happenings != NULL;
    size_t i = first_behind(history, query->after);

    for (; is_whole && i < history->count && !lk_happenings_is_full(happenings, query); i++) {
        is_whole = collect_one(kept_at(history, i), query, happenings);
    }
    if (is_whole && i < history->count) {
        happenings->has_more = true;
    } else {
        is_whole =
            is_whole
            && lk_happenings_end(happenings, query, history->last, core->times.wall_us / 1000);
    }
    if (!is_whole) {
        lk_happenings_free(happenings);
        return NULL;
    }
    return happenings;
}

/* ---- watchers -------------------------------------------------------------------------------- */

void lk_watcher_begin(struct lk_core *core, struct lk_watcher *watcher,
                      const struct lk_path *prefix, uint64_t after, const struct lk_times *times) {
    core->times = *times;
    lk_history_follow(core, true);
    watcher->prefix = (struct lk_path){.depth = 0};
    if (prefix != NULL) {
        watcher->prefix = *prefix;
        memcpy(watcher->text, prefix->bytes, prefix->size);
        watcher->prefix.bytes = watcher->text;
    }
    watcher->after = after != 0 ? after : core->history.last;
    LIST_INSERT_HEAD(&core->history.watchers, watcher, list);
}

void lk_watcher_end(struct lk_core *core, struct lk_watcher *watcher,
                    const struct lk_times *times) {
    core->times = *times;
    LIST_REMOVE(watcher, list);
    lk_history_unfollow(core);
}

static const lk_watch_event *tell_gap(struct lk_history *history, struct lk_watcher *watcher,
                                      uint64_t sequence, const struct lk_times *times) {
    watcher->after = sequence;
    history->told = (lk_watch_event){
        .kind = LK_WATCH_GAP, .sequence = sequence, .at_unix_ms = times->wall_us / 1000};
    return &history->told;
}

const lk_watch_event *lk_watcher_next(struct lk_core *core, struct lk_watcher *watcher,
                                      const struct lk_times *times) {
    struct lk_history *history = &core->history;

    lk_watch_event_done(&history->told);
    if (core->model == NULL) {
        return NULL;
    }
    if (watcher->after > history->last) {
        return tell_gap(history, watcher, history->last, times);
    }
    for (size_t i = first_behind(history, watcher->after); i < history->count; i++) {
        const struct lk_kept *kept = kept_at(history, i);
        if (kept->batch > history->durable) {
            return NULL;
        }
        if (kept->sequence != watcher->after + 1) {
            return tell_gap(history, watcher, kept->sequence - 1, times);
        }
        watcher->after = kept->sequence;
        if (lk_kept_is_below(kept, &watcher->prefix) && lk_kept_open(kept, &history->told)) {
            return &history->told;
        }
    }
    return watcher->after != history->last ? tell_gap(history, watcher, history->last, times)
                                           : NULL;
}

/* ---- images ---------------------------------------------------------------------------------- */

bool lk_history_image_add(struct lk_history_image *image, struct lk_kept *kept) {
    if (kept != NULL && image->count == image->capacity) {
        size_t capacity = image->capacity == 0 ? ROOM_MIN : image->capacity * 2;
        struct lk_kept **events = realloc(image->events, capacity * sizeof(*events));
        if (events == NULL) {
            free(kept);
            return false;
        }
        image->events = events;
        image->capacity = capacity;
    }
    if (kept != NULL) {
        image->events[image->count++] = kept;
    }
    return kept != NULL;
}

void lk_history_image_done(struct lk_history_image *image) {
    for (size_t i = 0; i < image->count; i++) {
        free(image->events[i]);
    }
    free(image->events);
    *image = (struct lk_history_image){.count = 0};
}
