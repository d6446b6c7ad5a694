/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recent events (R21): a ring of the last ones, and their watchers.
 *
 * Events are kept, and cost anything, only while there is a follower, or was one within the last
 * LK_WATCHED_US, or a bound says how many are to be kept at all times. A kept event is written in
 * the batch of the decision that it reports, so it is in the store as well and survives a restart.
 * A watcher has a position in the ring and reads at its own pace: a slow reader costs no memory,
 * and a reader that has fallen behind the ring gets a gap event.
 *
 * Numbers increase by one with each event. Where something may have happened that was not kept, one
 * number is skipped, and the reader detects the gap.
 */
#ifndef LK_SERVER_CORE_EVENT_LOG_H
#define LK_SERVER_CORE_EVENT_LOG_H

#include <sys/queue.h>

#include "engine/stored_event.h"

struct lk_core;

/* A watcher is notified of each event. Embedded in the struct of its connection. */
struct lk_watcher {
    LIST_ENTRY(lk_watcher) list;
    struct lk_path prefix;                     /* its bytes are in `text`; depth 0: everything */
    uint64_t after;                            /* the number of the last event that it has read */
    void (*ready)(struct lk_watcher *watcher); /* there may be more events; must not call the
                                                * core */
    void (*ended)(struct lk_watcher *watcher); /* this service does not lead, so there will be none;
                                                * must not call the core */
    char text[LK_PATH_BYTES_MAX + 1];
};

/* Begins to watch: events after `after`, or from now on (0). prefix NULL: every path. */
void lk_watcher_begin(struct lk_core *core, struct lk_watcher *watcher,
                      const struct lk_path *prefix, uint64_t after, const struct lk_times *times);
void lk_watcher_end(struct lk_core *core, struct lk_watcher *watcher, const struct lk_times *times);

/* The next durable event, valid until the next call for any watcher; NULL: there is none yet. */
const lk_watch_event *lk_watcher_next(struct lk_core *core, struct lk_watcher *watcher,
                                      const struct lk_times *times);

/* ---- for the core ---------------------------------------------------------------------------- */

struct lk_event_log {
    struct lk_event_ring ring;
    size_t kept_max;   /* the configured bound; 0: events are kept only for followers */
    uint64_t last;     /* the last number drawn */
    uint64_t followed; /* watchers, and calls that block for events */
    LIST_HEAD(, lk_watcher) watchers;
    int64_t watched_until_us; /* until when events are kept without followers */
    bool has_missed;          /* something may have happened since the last event that was not
                               * kept */
    bool is_marked;           /* the store has the mark that events are kept */
    bool is_ready;            /* an event was added since lk_event_log_serve() */
    uint64_t durable;         /* the number of the last durable batch */
    lk_watch_event returned;  /* scratch space: the event returned last */
};

/* The events that were loaded from a store: part of a snapshot. */
struct lk_event_log_snapshot {
    struct lk_event_ring ring;
    uint64_t last;
    size_t kept_max;
    bool is_continuous; /* no event after the last one was lost */
};

#endif
