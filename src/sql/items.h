/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues and items as rows (R16): the model's records to columns and back, and the queries that
 * find them. Rows are hostile until they are checked, like those of requests.
 *
 * An item's value is loaded only where it will be read. Other records have no value.
 */
#ifndef LK_SQL_ITEMS_H
#define LK_SQL_ITEMS_H

#include "model/model.h"
#include "sql/database.h"

enum {
    LK_SQL_NEEDS_TEXT_MAX = LK_NEEDS_MAX * LK_PART_TEXT_MAX,
};

/* An item as a row has it. Large: keep it off deep stacks. */
struct lk_sql_item {
    struct lk_item_record record; /* its slices point into this struct, but for the value */
    struct lk_slice needs;        /* as text: the same text, the same needs */
    char id[LK_SEGMENT_BYTES_MAX];
    char needs_text[LK_SQL_NEEDS_TEXT_MAX];
    char failure_text[LK_FAILURE_BYTES_MAX];
    char progress_text[LK_FAILURE_BYTES_MAX];
};

/* Parses the text of an item's needs, which is borrowed. false: it does not contain parts. */
bool lk_sql_needs_parse(struct lk_slice text, struct lk_part ret_needs[LK_NEEDS_MAX],
                        size_t *ret_count);

/* ---- one item -------------------------------------------------------------------------------- */

/* Loads an item without its value. SQLITE_EMPTY: there is none. */
int lk_sql_item_load(struct lk_sql *sql, struct lk_slice queue, struct lk_slice id,
                     struct lk_sql_item *ret_item);

/* Adds an item with its value. `due_unix_us`: schema.sql. */
int lk_sql_item_add(struct lk_sql *sql, const struct lk_item_record *record, int64_t due_unix_us);

/* Whether an item of the queue is the head of the strict needs at this path (R16). */
int lk_sql_strict_is_taken(struct lk_sql *sql, struct lk_slice queue, const struct lk_path *path,
                           bool *ret_taken);

/* Forgets up to `max` items of any queue that are done, and whose time is over. */
int lk_sql_items_forget(struct lk_sql *sql, int64_t now_us, int max);

/* Saves what can change: state, due, attempts, was_lost, is_head, last_failure, progress. */
int lk_sql_item_save(struct lk_sql *sql, const struct lk_item_record *record, int64_t due_unix_us);
int lk_sql_item_delete(struct lk_sql *sql, const struct lk_item_record *record);

/* Called with bytes that are borrowed for the call. Its code is the query's result. */
typedef int lk_sql_visit_bytes(void *context, struct lk_slice bytes);

/* SQLITE_EMPTY: the item has no value. */
int lk_sql_item_value_load(struct lk_sql *sql, struct lk_slice queue, struct lk_slice id,
                           lk_sql_visit_bytes *visit, void *context);

/* ---- the items of a queue -------------------------------------------------------------------- */

/* Called for an item; SQLITE_DONE ends the walk, and so does an error, which is its result. */
typedef int lk_sql_visit_item(void *context, const struct lk_sql_item *item);

/* The position of a ready item in its queue: the greatest priority first, then the oldest. */
struct lk_sql_place {
    int64_t priority;
    uint64_t sequence;
};
#define LK_SQL_PLACE_BEFORE_ALL ((struct lk_sql_place){.priority = INT64_MAX})

/*
 * The ready items after a place, in order, without values; of those that need the same only the
 * first, or all. `item` is the buffer.
 */
int lk_sql_items_each_first(struct lk_sql *sql, struct lk_slice queue, struct lk_sql_place after,
                            struct lk_sql_item *item, lk_sql_visit_item *visit, void *context);
int lk_sql_items_each_ready(struct lk_sql *sql, struct lk_slice queue, struct lk_sql_place after,
                            struct lk_sql_item *item, lk_sql_visit_item *visit, void *context);

/* The parked items with greater sequences than `behind`, the oldest first, without values. */
int lk_sql_items_each_parked(struct lk_sql *sql, struct lk_slice queue, uint64_t behind,
                             struct lk_sql_item *item, lk_sql_visit_item *visit, void *context);

/* All items of a queue, in no particular order, with their values. */
int lk_sql_items_each(struct lk_sql *sql, struct lk_slice queue, struct lk_sql_item *item,
                      lk_sql_visit_item *visit, void *context);

/* The same of the one with this id. */
int lk_sql_items_each_of(struct lk_sql *sql, struct lk_slice queue, struct lk_slice id,
                         struct lk_sql_item *item, lk_sql_visit_item *visit, void *context);

/* The items of all queues, with their values or with empty ones. */
int lk_sql_items_each_anywhere(struct lk_sql *sql, enum lk_sql_depth depth,
                               struct lk_sql_item *item, lk_sql_visit_item *visit, void *context);

/* Makes delayed items that are due ready. Each item costs this once. */
int lk_sql_items_ripen(struct lk_sql *sql, struct lk_slice queue, int64_t now_us);

/* R11, restart: moves due instants to another clock. No instant of the former is > `known_us`. */
int lk_sql_items_move(struct lk_sql *sql, const struct lk_times *times, int64_t known_us);

/* ---- queues ---------------------------------------------------------------------------------- */

/* The counters of a queue. SQLITE_EMPTY: it has no row. */
int lk_sql_queue_load(struct lk_sql *sql, struct lk_slice queue,
                      struct lk_queue_counts *ret_counts);
int lk_sql_queue_save(struct lk_sql *sql, struct lk_slice queue,
                      const struct lk_queue_counts *counts);

int lk_sql_queue_delete(struct lk_sql *sql, struct lk_slice queue);

/* Every queue that has a row, by path. Any code but SQLITE_OK ends the walk. */
typedef int lk_sql_visit_queue(void *context, struct lk_slice queue,
                               const struct lk_queue_counts *counts);
int lk_sql_queues_each(struct lk_sql *sql, lk_sql_visit_queue *visit, void *context);

/*
 * The queues at or below `prefix` (empty: all) whose paths are greater than `behind`, by path.
 * SQLITE_DONE of the visit ends the walk, too.
 */
int lk_sql_queues_each_from(struct lk_sql *sql, struct lk_slice prefix, struct lk_slice behind,
                            lk_sql_visit_queue *visit, void *context);

/*
 * Counts the rows into the four counts of states, and finds since when the oldest of the ready ones
 * is so. Items that are due count as ready.
 */
int lk_sql_queue_count(struct lk_sql *sql, struct lk_slice queue, const struct lk_times *times,
                       struct lk_queue_counts *counts);

/* A cheap query for claims that wait for work. No decision depends on it. */
struct lk_sql_queue_probe {
    bool has_ready;      /* the items may still be locked */
    int64_t next_due_us; /* the next item due or claim expiring; LK_NEVER: none */
};
int lk_sql_queue_probe(struct lk_sql *sql, struct lk_slice queue,
                       struct lk_sql_queue_probe *ret_look);

#endif
