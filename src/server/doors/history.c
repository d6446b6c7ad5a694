/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring of events. Sequences begin at the wall clock's microseconds, so that they rise from one
 * start of the service to the next and an old one is known to be old.
 */
#include "server/doors/history.h"

#include <stdlib.h>

#include "base/error.h"
#include "engine/happening.h"

struct lk_history_event {
    lk_watch_event event;
    uint64_t batch;
};

static struct lk_history_event *at(const struct lk_history *history, uint64_t sequence) {
    return &history->ring[sequence % LK_HISTORY_EVENTS_MAX];
}

/* The first that is kept. */
static uint64_t first(const struct lk_history *history) {
    return history->next - history->count;
}

static void drop_first(struct lk_history *history) {
    lk_watch_event_done(&at(history, first(history))->event);
    history->count--;
}

static void stir_all(struct lk_history *history) {
    struct lk_watcher *watcher;

    LIST_FOREACH(watcher, &history->watchers, list) {
        watcher->stirred(watcher);
    }
}

/* ---- from the core --------------------------------------------------------------------------- */

static void answer(void *peer, uint64_t tag, uint64_t batch, const struct lk_reply *reply) {
    (void)peer;
    (void)tag;
    (void)batch;
    (void)reply;
}

/* Without memory for an event all that is kept is given up: whoever reads on is told of a gap. */
static void notify(void *peer, uint64_t batch, const struct lk_notice *notice) {
    struct lk_history *history = peer;
    struct lk_history_event kept = {.batch = batch};
    int64_t now_us = notice->times->now_us;

    if (history->alone_since_us != 0 && now_us - history->alone_since_us > LK_HISTORY_REST_US) {
        history->wants_rest = true;
    }
    if (history->count == LK_HISTORY_EVENTS_MAX) {
        drop_first(history);
    }
    if (lk_watch_event_make(notice->happening, history->next, notice->times->wall_us / 1000,
                            &kept.event)) {
        *at(history, history->next) = kept;
        history->count++;
    } else {
        while (history->count > 0) {
            drop_first(history);
        }
    }
    history->next++;
    if (batch <= history->durable) {
        stir_all(history);
    }
}

static void durable(void *peer, uint64_t batch) {
    struct lk_history *history = peer;

    history->durable = batch;
    stir_all(history);
}

/* What was not written has not happened. */
static void failed(void *peer, const char *why) {
    struct lk_history *history = peer;

    (void)why;
    while (history->count > 0 && at(history, history->next - 1)->batch > history->durable) {
        history->next--;
        history->count--;
        lk_watch_event_done(&at(history, history->next)->event);
    }
}

static const struct lk_session_ops session_ops = {
    .answer = answer,
    .notify = notify,
    .durable = durable,
    .failed = failed,
};

/* ---- waking and resting ---------------------------------------------------------------------- */

void lk_history_init(struct lk_history *history, struct lk_server *server) {
    *history = (struct lk_history){.server = server};
    LIST_INIT(&history->watchers);
    history->next = (uint64_t)lk_server_times(server).wall_us;
}

static void rest(struct lk_history *history) {
    struct lk_times times = lk_server_times(history->server);

    while (history->count > 0) {
        drop_first(history);
    }
    if (history->session != NULL) {
        lk_core_session_close(lk_server_core(history->server), history->session, &times);
    }
    free(history->ring);
    history->ring = NULL;
    history->session = NULL;
    history->wants_rest = false;
    history->durable = 0;
    history->next++; /* who was here before has missed something */
}

void lk_history_done(struct lk_history *history) {
    rest(history);
}

void lk_history_end_turn(struct lk_history *history) {
    if (history->wants_rest) {
        history->wants_rest = false;
        if (LIST_EMPTY(&history->watchers)) {
            rest(history);
        }
    }
}

static lk_outcome wake(struct lk_history *history, lk_error *error) {
    const struct lk_call call = {.kind = LK_CALL_WATCH, .has_path = false};
    struct lk_core *core = lk_server_core(history->server);
    struct lk_times times = lk_server_times(history->server);
    lk_outcome outcome;

    history->ring = calloc(LK_HISTORY_EVENTS_MAX, sizeof *history->ring);
    if (history->ring == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for events");
    }
    outcome = lk_core_session_open(core, &session_ops, history, &history->session, error);
    if (outcome != LK_OK) {
        history->session = NULL;
        free(history->ring);
        history->ring = NULL;
        return outcome;
    }
    lk_core_call(core, history->session, &call, &times);
    return LK_OK;
}

/* ---- watchers -------------------------------------------------------------------------------- */

lk_outcome lk_history_watch(struct lk_history *history, struct lk_watcher *watcher,
                            const struct lk_path *prefix, uint64_t after, lk_error *error) {
    lk_outcome outcome = history->session != NULL ? LK_OK : wake(history, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    watcher->prefix = (struct lk_path){.depth = 0};
    if (prefix != NULL) {
        watcher->prefix = *prefix;
        memcpy(watcher->text, prefix->bytes, prefix->size);
        watcher->prefix.bytes = watcher->text;
    }
    watcher->after = after != 0 ? after : history->next - 1;
    LIST_INSERT_HEAD(&history->watchers, watcher, list);
    history->alone_since_us = 0;
    return LK_OK;
}

void lk_history_unwatch(struct lk_history *history, struct lk_watcher *watcher) {
    LIST_REMOVE(watcher, list);
    if (LIST_EMPTY(&history->watchers)) {
        history->alone_since_us = lk_server_times(history->server).now_us;
    }
}

static bool is_wanted(const struct lk_watcher *watcher, const lk_watch_event *event) {
    struct lk_path path;

    if (watcher->prefix.depth == 0) {
        return true;
    }
    for (size_t i = 0; i < event->part_count; i++) {
        if (lk_path_parse(lk_slice_of(event->paths[i]), &path, NULL) == LK_OK
            && lk_path_contains(&watcher->prefix, &path)) {
            return true;
        }
    }
    return false;
}

const lk_watch_event *lk_history_next(struct lk_history *history, struct lk_watcher *watcher) {
    if (watcher->after + 1 < first(history) || watcher->after >= history->next) {
        watcher->after = first(history) - 1;
        history->gap = (lk_watch_event){
            .kind = LK_WATCH_GAP,
            .sequence = watcher->after,
            .at_unix_ms = lk_server_times(history->server).wall_us / 1000,
        };
        return &history->gap;
    }
    while (watcher->after + 1 < history->next) {
        const struct lk_history_event *kept = at(history, watcher->after + 1);
        if (kept->batch > history->durable) {
            return NULL;
        }
        watcher->after++;
        if (is_wanted(watcher, &kept->event)) {
            return &kept->event;
        }
    }
    return NULL;
}
