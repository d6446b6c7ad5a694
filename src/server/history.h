/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened lately (R21): a ring of the last events, and those who follow them.
 *
 * Nothing is kept, and nothing costs anything, unless somebody follows, or did within the last
 * LK_WATCHED_US, or a bound says that so many are to be kept at all times. What is kept goes into
 * the batch of the decision that it tells of, so that it is in the store as well, and is there
 * again after a restart. A follower has a place in the ring and reads on at its own pace: who reads
 * slowly costs no memory, and who has fallen behind what is kept is told that there is a gap.
 *
 * Numbers grow by one with each event. Where something may have happened that was not kept, one is
 * left out, and whoever reads on finds the hole.
 */
#ifndef LK_SERVER_HISTORY_H
#define LK_SERVER_HISTORY_H

#include <sys/queue.h>

#include "server/kept.h"

struct lk_core;

/* Somebody who is told as it happens. Embedded in whoever it is. */
struct lk_watcher {
    LIST_ENTRY(lk_watcher) list;
    struct lk_path prefix;                       /* its bytes are in `text`; depth 0: everything */
    uint64_t after;                              /* the last that it has read */
    void (*stirred)(struct lk_watcher *watcher); /* there may be more; no call from within */
    char text[LK_PATH_BYTES_MAX + 1];
};

/* Begins to follow: what is behind `after`, or from now on (0). Everything: prefix NULL. */
void lk_watcher_begin(struct lk_core *core, struct lk_watcher *watcher,
                      const struct lk_path *prefix, uint64_t after, const struct lk_times *times);
void lk_watcher_end(struct lk_core *core, struct lk_watcher *watcher, const struct lk_times *times);

/* The next event that is durable, valid until the next call for anybody; NULL: none just now. */
const lk_watch_event *lk_watcher_next(struct lk_core *core, struct lk_watcher *watcher,
                                      const struct lk_times *times);

/* ---- for the core ---------------------------------------------------------------------------- */

struct lk_history {
    struct lk_kept **ring; /* `count` from `first` on, modulo the room, in the order of numbers */
    size_t room;
    size_t first;
    size_t count;
    size_t kept_max;   /* by bound; 0: only while somebody follows */
    uint64_t last;     /* the last number drawn */
    uint64_t followed; /* watchers, and calls that block for events */
    LIST_HEAD(, lk_watcher) watchers;
    int64_t watched_until_us; /* also without any of them */
    bool has_missed;          /* since the last event something may have happened */
    bool is_marked;           /* the store says that events are kept */
    bool is_stirred;          /* something was kept since those who follow were told */
    uint64_t durable;         /* the last batch that is */
    lk_watch_event told;      /* as a watcher was told it last */
};

/* What a store has kept of events, loaded: part of an image. */
struct lk_history_image {
    struct lk_kept **events; /* in their order */
    size_t count;
    size_t capacity;
    uint64_t last;
    size_t kept_max;
    bool is_continuous; /* nothing happened behind the last that was not kept */
};

/* Takes over the event (NULL: there was no memory for it). false: memory is exhausted. */
bool lk_history_image_add(struct lk_history_image *image, struct lk_kept *kept);
void lk_history_image_done(struct lk_history_image *image);

#endif
