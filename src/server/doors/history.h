/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened lately (R21), kept in memory for those who follow it: a ring of the last events.
 *
 * A watcher has a place in it and reads on at its own pace, so that nobody who reads slowly costs
 * memory: who falls behind what is kept, or comes back after it, is told that there is a gap. An
 * event is read only once the batch that it belongs to is durable. Nothing is kept, and nothing
 * costs anything, while nobody has watched for LK_HISTORY_REST_US.
 */
#ifndef LK_SERVER_DOORS_HISTORY_H
#define LK_SERVER_DOORS_HISTORY_H

#include <sys/queue.h>

#include "server/server.h"

enum { LK_HISTORY_EVENTS_MAX = 10000 };
#define LK_HISTORY_REST_US INT64_C(60000000)

struct lk_history_event; /* one of the ring */

/* Somebody who follows. Embedded in whoever it is. */
struct lk_watcher {
    LIST_ENTRY(lk_watcher) list;
    struct lk_path prefix;                       /* its bytes are in `text`; depth 0: everything */
    uint64_t after;                              /* the last that it has read */
    void (*stirred)(struct lk_watcher *watcher); /* there may be more; no call from within */
    char text[LK_PATH_BYTES_MAX + 1];
};

struct lk_history {
    struct lk_server *server;
    struct lk_session *session; /* watches everything; NULL: at rest */
    LIST_HEAD(, lk_watcher) watchers;
    int64_t alone_since_us; /* nobody watches since; 0: somebody does */
    bool wants_rest;
    uint64_t durable;
    uint64_t next; /* the sequence of the next event; the last drawn is before it */
    size_t count;  /* events kept: those before `next` */
    struct lk_history_event *ring;
    lk_watch_event gap; /* as it is told */
};

void lk_history_init(struct lk_history *history, struct lk_server *server);
void lk_history_done(struct lk_history *history);

/*
 * Begins to follow: what is behind `after`, or from now on (0). LK_OK until lk_history_unwatch(),
 * or an outcome of lk_core_session_open() or LK_INTERNAL.
 */
lk_outcome lk_history_watch(struct lk_history *history, struct lk_watcher *watcher,
                            const struct lk_path *prefix, uint64_t after, lk_error *error);
void lk_history_unwatch(struct lk_history *history, struct lk_watcher *watcher);

/* The next event, valid until the next call of any of these; NULL: there is none just now. */
const lk_watch_event *lk_history_next(struct lk_history *history, struct lk_watcher *watcher);

/* To be called at the end of turns: rests when it is time. */
void lk_history_end_turn(struct lk_history *history);

#endif
