/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues and items as rows (R16): the model's records to columns and back, and the questions that
 * find them. Rows are hostile until read, as those of requests are.
 *
 * An item's value is loaded only where somebody is going to read it: records have none otherwise.
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
};

/* What an item needs, out of its text, which is borrowed. false: these are no parts. */
bool lk_sql_needs_parse(struct lk_slice text, struct lk_part ret_needs[LK_NEEDS_MAX],
                        size_t *ret_count);

/* ---- one item -------------------------------------------------------------------------------- */

/* Without its value. SQLITE_EMPTY: there is none. */
int lk_sql_item_load(struct lk_sql *sql, struct lk_slice queue, struct lk_slice id,
                     struct lk_sql_item *ret_item);

/* A new one, with its value. `due_unix_us` is its due_us by the wall clock. */
int lk_sql_item_add(struct lk_sql *sql, const struct lk_item_record *record, int64_t due_unix_us);

/* What can change of it: state, due, attempts, was_lost. */
int lk_sql_item_save(struct lk_sql *sql, const struct lk_item_record *record, int64_t due_unix_us);
int lk_sql_item_delete(struct lk_sql *sql, const struct lk_item_record *record);

/* Called with bytes that are borrowed for the call; its code is the look's result. */
typedef int lk_sql_visit_bytes(void *context, struct lk_slice bytes);

/* SQLITE_EMPTY: it has none. */
int lk_sql_item_value_load(struct lk_sql *sql, struct lk_slice queue, struct lk_slice id,
                           lk_sql_visit_bytes *visit, void *context);

/* ---- the items of a queue -------------------------------------------------------------------- */

/* Called for an item; SQLITE_DONE ends the walk, and so does an error, which is its result. */
typedef int lk_sql_visit_item(void *context, const struct lk_sql_item *item);

/* The ready ones behind `sequence`, in their order, without their values. `item` is room. */
int lk_sql_items_each_ready(struct lk_sql *sql, struct lk_slice queue, uint64_t sequence,
                            struct lk_sql_item *item, lk_sql_visit_item *visit, void *context);

/* All of them in no particular order, with their values. */
int lk_sql_items_each(struct lk_sql *sql, struct lk_slice queue, struct lk_sql_item *item,
                      lk_sql_visit_item *visit, void *context);

/* Those of every queue, with their values. */
int lk_sql_items_each_anywhere(struct lk_sql *sql, struct lk_sql_item *item,
                               lk_sql_visit_item *visit, void *context);

/* Makes the delayed ones that are due ready. Each costs this once. */
int lk_sql_items_ripen(struct lk_sql *sql, struct lk_slice queue, int64_t now_us);

/* R11, restart: moves what is due to another clock, on which no former instant is > `known_us`. */
int lk_sql_items_move(struct lk_sql *sql, const struct lk_times *times, int64_t known_us);

/* ---- queues ---------------------------------------------------------------------------------- */

/* What was counted; SQLITE_EMPTY: nothing was ever pushed to it. */
int lk_sql_queue_load(struct lk_sql *sql, struct lk_slice queue,
                      struct lk_queue_counts *ret_counts);
int lk_sql_queue_save(struct lk_sql *sql, struct lk_slice queue,
                      const struct lk_queue_counts *counts);

/* Every queue that something was ever pushed to. Any code but SQLITE_OK ends the walk. */
typedef int lk_sql_visit_queue(void *context, struct lk_slice queue,
                               const struct lk_queue_counts *counts);
int lk_sql_queues_each(struct lk_sql *sql, lk_sql_visit_queue *visit, void *context);

/* The items now, by their rows, into the four counts of states; what is due counts as ready. */
int lk_sql_queue_count(struct lk_sql *sql, struct lk_slice queue, int64_t now_us,
                       struct lk_queue_counts *counts);

/* A cheap look, for those who wait for work; no decision hangs on it. */
struct lk_sql_queue_look {
    bool has_ready;      /* which may not be free to be claimed */
    int64_t next_due_us; /* when one becomes due or a claim perishes; LK_NEVER: not by itself */
};
int lk_sql_queue_look(struct lk_sql *sql, struct lk_slice queue,
                      struct lk_sql_queue_look *ret_look);

#endif
