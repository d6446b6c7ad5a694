/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lockkeeper/watch.h - following what happens in a store, event by event (rule R21).
 *
 *     lk_watch_options options = {.size = sizeof options, .prefix = "mydatabase"};
 *
 *     if (lk_watch_open(store, &options, &watch, &error) == LK_OK) {
 *         while (lk_watch_next(watch, LK_FOREVER, cancel, &event, &error) == LK_OK) {
 *             printf("%s\n", lk_watch_kind_name(event->kind));
 *         }
 *         lk_watch_close(watch);
 *     }
 *
 * A store keeps no events, and pays nothing for them, until somebody watches: an open watch marks
 * the store as watched for the next 30 seconds, again and again while lk_watch_next() is called,
 * and as long as the mark lasts everybody who decides writes down what happened. Or until it is
 * told to keep the last so many at all times (lk_limits.events).
 *
 * What is promised: events come in the order in which they were decided, each once, and nothing is
 * left out silently. Whoever has fallen behind what is kept (10,000 events, unless lk_limits.events
 * says otherwise), or comes back after a time in which nobody watched, is told LK_WATCH_GAP. What
 * is not: that an event is current when it is read. Decide by locks, not by events about them.
 *
 * Conventions are those of lockkeeper.h, which includes this.
 */
#ifndef LOCKKEEPER_WATCH_H
#define LOCKKEEPER_WATCH_H

#include "lockkeeper/lockkeeper.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One event. What it has nothing to say about is NULL or 0. */
typedef struct lk_watch_event {
    lk_watch_kind kind;
    lk_outcome refusal; /* LK_WATCH_REFUSED: LK_BUSY, LK_DEADLOCK or LK_FULL; else LK_OK */
    uint64_t sequence;  /* grows with each event of the store; lk_watch_options.after */
    int64_t at_unix_ms; /* when it was decided; of a gap: when it was found */
    char **paths;       /* where; the first part's first */
    char **parts;       /* the same with modes and limits, as text (rule R2) */
    size_t part_count;  /* of both; 0: a gap */
    char *owner;
    char *note;
    uint64_t ticket;
    uint64_t token;
    char *queue; /* of an event about an item: QUEUE/ID is the first path */
    char *id;
    uint32_t attempt;
    bool is_deletion; /* LK_WATCH_VALUE_WRITTEN: there is none any more */
} lk_watch_event;

typedef struct lk_watch lk_watch;

/* Zero what is not named, and set `size`. Everything it points to is borrowed. */
typedef struct lk_watch_options {
    size_t size;        /* sizeof(lk_watch_options) */
    const char *prefix; /* events with a path at or below it; NULL: all */
    uint64_t after;     /* the sequence of the last event seen; 0: from now on; 1: all there are */
} lk_watch_options;

/*
 * Begins to watch: the store is marked as watched when this returns, so that nothing is missed
 * from then on. LK_OK with *ret_watch, which lk_watch_close() ends before lk_close(); LK_INVALID;
 * LK_UNSUPPORTED (the store tells no events); LK_DENIED; LK_UNAVAILABLE; LK_INTERNAL.
 */
LK_PUBLIC lk_outcome lk_watch_open(lk_store *store, const lk_watch_options *options,
                                   lk_watch **ret_watch, lk_error *error);

/*
 * The next event. LK_OK with *ret_event, which is the watch's until the next call; LK_TIMEOUT after
 * wait_ms; LK_CANCELLED (cancel may be NULL); LK_UNAVAILABLE and the like: call again, nothing is
 * missed by that. Whoever leaves more than 20 seconds between two calls may be told a gap. Not to
 * be called by two threads at once.
 */
LK_PUBLIC lk_outcome lk_watch_next(lk_watch *watch, int64_t wait_ms, lk_cancel *cancel,
                                   const lk_watch_event **ret_event, lk_error *error);

/* The sequence to go on after: of the last event that was looked at, wanted or not. */
LK_PUBLIC uint64_t lk_watch_position(const lk_watch *watch);

LK_PUBLIC void lk_watch_close(lk_watch *watch); /* accepts NULL */

#ifdef __cplusplus
}
#endif
#endif
