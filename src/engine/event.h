/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens in a store (R21): a step of the model told as events, and events in the open.
 *
 * Every engine that decides with the model in this process makes its events here, so that all tell
 * the same story. An event tells of a request or item as its step has left it. Not told: refreshes
 * and renewals; the grant and release of a claim, which claimed, stolen, done, retried and parked
 * stand for; that a claim which perished has freed its item; asks that are INVALID or LOST.
 */
#ifndef LK_ENGINE_EVENT_H
#define LK_ENGINE_EVENT_H

#include "engine/engine.h"

/* ---- steps as events ------------------------------------------------------------------------- */

/* One event, before it has a number. Everything is borrowed. */
struct lk_event {
    lk_watch_kind kind;
    lk_outcome refusal; /* LK_OK but for LK_WATCH_REFUSED */
    const struct lk_part *parts;
    size_t part_count;     /* at least 1 */
    struct lk_slice owner; /* empty: none is named */
    struct lk_slice note;
    uint64_t ticket;
    uint64_t token;
    uint32_t attempt; /* 0: not about an item */
    bool is_of_item;  /* the first part's path is QUEUE/ID */
    bool is_deletion;
};

/* Called for one event; returning false ends the telling. */
typedef bool lk_visit_event(void *context, const struct lk_event *step_event);

/* Tells what the step did, in its order. Returns false if a visitor did. */
bool lk_events_of_step(const struct lk_model *model, const struct lk_effects *effects,
                       const struct lk_command *command, lk_visit_event *visit, void *context);

/* By its name; false: there is none. */
bool lk_watch_kind_parse(struct lk_slice name, lk_watch_kind *ret_kind);

/* ---- events in the open ---------------------------------------------------------------------- */

/* An event with its number, on the heap. Returns false when memory is exhausted, nothing made. */
bool lk_watch_event_make(const struct lk_event *step_event, uint64_t sequence, int64_t at_unix_ms,
                         lk_watch_event *ret_event);
void lk_watch_event_done(lk_watch_event *event);

/* What a query came to. */
struct lk_event_page {
    lk_watch_event *events; /* those that were wanted, and gaps */
    size_t count;
    size_t room;
    uint64_t last; /* all up to here has been looked at */
    bool has_more; /* behind it */
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

/* The same for an event that is known not to be wanted, and is not at hand. */
bool lk_event_page_pass(struct lk_event_page *page, uint64_t sequence, int64_t at_unix_ms);

/*
 * All that was kept has been added; `last_sequence` is the last number that the store has drawn.
 * What is missing at the end becomes a gap, and so does a query that is ahead of the store.
 */
bool lk_event_page_end(struct lk_event_page *page, const struct lk_event_query *query,
                       uint64_t last_sequence, int64_t now_unix_ms);

#endif
