/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events as rows (R21), and what the row about the store says of them. Rows are hostile until they
 * are checked.
 *
 * Numbers grow by one with each event, and are used once. Numbers are missing where events were not
 * kept for a while, or are no longer kept.
 */
#ifndef LK_SQL_EVENTS_H
#define LK_SQL_EVENTS_H

#include "sql/database.h"
#include "sql/rows.h"

enum { LK_SQL_EVENT_PARTS_MAX = LK_PARTS_MAX * LK_PART_TEXT_MAX };

int lk_sql_event_add(struct lk_sql *sql, const struct lk_sql_event *event);

/* Called for an event; SQLITE_DONE ends the walk, and so does an error, which is its result. */
typedef int lk_sql_visit_event(void *context, const struct lk_sql_event *event);

/* The events with numbers greater than `after`, in order. */
int lk_sql_events_each(struct lk_sql *sql, uint64_t after, lk_sql_visit_event *visit,
                       void *context);

/* Deletes the events up to `sequence`, at most `max` of them, the oldest first. */
int lk_sql_events_forget(struct lk_sql *sql, uint64_t sequence, int max);

/* Writes down the last number that was drawn. */
int lk_sql_events_set_last(struct lk_sql *sql, uint64_t last_event);

/* Records that the store is watched until `until_us`. */
int lk_sql_events_set_watched(struct lk_sql *sql, int64_t watched_until_us);

/* A cheap query for followers of events: the last number, and the earliest deadline. */
int lk_sql_events_probe(struct lk_sql *sql, uint64_t *ret_last_event, int64_t *ret_next_due_us);

#endif
