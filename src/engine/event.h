/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events (R21): those of a step of the model, and those that watchers get.
 *
 * Every engine that decides with the model in this process makes its events here, so that all have
 * the same ones. An event describes a request or item after the step. No events: refreshes and
 * renewals; the grant and release of a claim, for which there are claimed, stolen, done, retried
 * and parked; that a claim which perished has freed its item; asks that are INVALID or LOST.
 */
#ifndef LK_ENGINE_EVENT_H
#define LK_ENGINE_EVENT_H

#include "engine/engine.h"

/* ---- the events of a step -------------------------------------------------------------------- */

/* One event, before it has a number. Everything is borrowed. */
struct lk_event {
    lk_watch_kind kind;
    lk_outcome refusal; /* LK_OK but for LK_WATCH_REFUSED */
    const struct lk_part *parts;
    size_t part_count;     /* at least 1 */
    struct lk_slice owner; /* empty: none is named */
    struct lk_slice note;
    struct lk_slice by;     /* LK_WATCH_BROKEN: the administrator; else empty */
    struct lk_slice reason; /* and why */
    uint64_t ticket;
    uint64_t token;
    uint32_t attempt; /* 0: not about an item */
    bool is_of_item;  /* the first part's path is QUEUE/ID */
    bool is_deletion;
};

/* Called for one event; returning false ends the traversal. */
typedef bool lk_visit_event(void *context, const struct lk_event *step_event);

/* Visits the events of the step, in order. Returns false if the visitor did. */
bool lk_events_of_step(const struct lk_model *model, const struct lk_effects *effects,
                       const struct lk_command *command, lk_visit_event *visit, void *context);

/* By its name; false: there is none. */
bool lk_watch_kind_parse(struct lk_slice name, lk_watch_kind *ret_kind);

/* ---- events for watchers --------------------------------------------------------------------- */

/* An event with its number, on the heap. Returns false when memory is exhausted, nothing made. */
bool lk_watch_event_make(const struct lk_event *step_event, uint64_t sequence, int64_t at_unix_ms,
                         lk_watch_event *ret_event);
void lk_watch_event_done(lk_watch_event *event);

/* The result of a query. */
struct lk_event_page {
    lk_watch_event *events; /* those that were wanted, and gaps */
    size_t count;
    size_t room;
    uint64_t last; /* the last number that was considered */
    bool has_more; /* after it */
};

/* An empty answer to a query; NULL when memory is exhausted. */
struct lk_event_page *lk_event_page_new(const struct lk_event_query *query);
void lk_event_page_free(struct lk_event_page *page); /* accepts NULL */

/* Whether nothing more fits into the answer. */
bool lk_event_page_is_full(const struct lk_event_page *page, const struct lk_event_query *query);

/*
 * Takes over the next event that the store has kept, by its sequence, if it is wanted; a hole in
 * front of it becomes a gap. Returns false when memory is exhausted, and the event is ended.
 */
bool lk_event_page_add(struct lk_event_page *page, const struct lk_event_query *query,
                       lk_watch_event *event);

/* The same for an event that is not wanted, of which only the number is known. */
bool lk_event_page_pass(struct lk_event_page *page, uint64_t sequence, int64_t at_unix_ms);

/*
 * All that was kept has been added; `last_sequence` is the last number that the store has drawn.
 * What is missing at the end becomes a gap, and so does a query that is ahead of the store.
 */
bool lk_event_page_end(struct lk_event_page *page, const struct lk_event_query *query,
                       uint64_t last_sequence, int64_t now_unix_ms);

#endif
