/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lockkeeper/watch.h - the events of a store, in order (rule R21).
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
 * A store without a watch keeps no events, and they cost nothing. An open watch marks the store as
 * watched for the next 30 seconds, and calls of lk_watch_next() renew the mark. While the mark
 * lasts, each process that changes the store also writes the events of the change. With
 * lk_limits.events set, the store keeps the last so many events at all times.
 *
 * What is promised: events come in the order in which they were decided, each once, and none is
 * left out silently. A watch gets LK_WATCH_GAP when it has fallen behind the events that are kept
 * (10,000, unless lk_limits.events says otherwise), or resumes after a time in which the store was
 * not watched. What is not promised: that an event is still current when it is read. Decide by
 * locks, not by events about them.
 *
 * Conventions are those of lockkeeper.h, which includes this.
 */
#ifndef LOCKKEEPER_WATCH_H
#define LOCKKEEPER_WATCH_H

#include "lockkeeper/lockkeeper.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One event. Fields that do not apply to its kind are NULL or 0. All texts belong to the watch. */
typedef struct lk_watch_event {
    lk_watch_kind kind;
    lk_outcome refusal; /* LK_WATCH_REFUSED: LK_BUSY, LK_DEADLOCK or LK_FULL; else LK_OK */
    uint64_t sequence;  /* grows with each event of the store; lk_watch_options.after */
    int64_t at_unix_ms; /* when it was decided; of a gap: when it was found */
    char **paths;       /* the paths concerned; the first part's first */
    char **parts;       /* the same with modes and limits, as text (rule R2) */
    size_t part_count;  /* of both; 0: a gap */
    char *owner;
    char *note;
    uint64_t ticket;
    uint64_t token;
    char *queue; /* of an event about an item: QUEUE/ID is the first path */
    char *id;
    uint32_t attempt;
    bool is_deletion; /* LK_WATCH_VALUE_WRITTEN: the value was deleted */
    char *by;         /* LK_WATCH_BROKEN: the administrator; lk_break_request.by */
    char *reason;     /* LK_WATCH_BROKEN: lk_break_request.reason */
    char *user;       /* of a service with users: whose the owner is; else NULL */
} lk_watch_event;

typedef struct lk_watch lk_watch;

/* Zero the fields you do not set, and set `size`. Everything it points to is borrowed. */
typedef struct lk_watch_options {
    size_t size;        /* sizeof(lk_watch_options) */
    const char *prefix; /* events with a path at or below it; NULL: all */
    uint64_t after;     /* sequence of the last event seen; 0: from now on; 1: all that is kept */
} lk_watch_options;

/*
 * Begins to watch. The store is marked as watched when this returns, so that no later event is
 * missed. Returns LK_OK with *ret_watch, which must be closed with lk_watch_close() before
 * lk_close(); LK_INVALID; LK_UNSUPPORTED (the store has no events); LK_DENIED; LK_UNAVAILABLE;
 * LK_INTERNAL.
 */
LK_PUBLIC lk_outcome lk_watch_open(lk_store *store, const lk_watch_options *options,
                                   lk_watch **ret_watch, lk_error *error);

/*
 * Waits for the next event. Returns LK_OK with *ret_event, which belongs to the watch and is valid
 * until the next call; LK_TIMEOUT after wait_ms; LK_CANCELLED (cancel may be NULL); LK_UNAVAILABLE
 * or another error: call again, which misses no event. More than 20 seconds between two calls may
 * cause a gap. Must not be called by two threads at once.
 */
LK_PUBLIC lk_outcome lk_watch_next(lk_watch *watch, int64_t wait_ms, lk_cancel *cancel,
                                   const lk_watch_event **ret_event, lk_error *error);

/* The sequence to continue after: that of the last event examined, whether it matched or not. */
LK_PUBLIC uint64_t lk_watch_position(const lk_watch *watch);

LK_PUBLIC void lk_watch_close(lk_watch *watch); /* accepts NULL */

#ifdef __cplusplus
}
#endif
#endif
