/* SPDX-License-Identifier: Apache-2.0 */
/* Queries about queues. */
#include <stdlib.h>

#include "base/error.h"
#include "engine/procedures/procedures.h"
#include "engine/procedures/rows.h"
#include "engine/reply/reply.h"

/* ---- items ----------------------------------------------------------------------------------- */

/* Columns of lk_items_of(). */
enum {
    ITEM_NOW_US,
    ITEM_ID,
    ITEM_STATE,
    ITEM_DUE_US,
    ITEM_ATTEMPTS,
    ITEM_VALUE,
    ITEM_NEED_PATHS,
    ITEM_NEED_LIMITS,
    ITEM_NEED_UNITS,
    ITEM_OWNER,
    ITEM_DEADLINE_US,
    ITEM_PRIORITY,
    ITEM_LAST_EXIT,
    ITEM_LAST_ERROR,
    ITEM_PROGRESS,
};

/* Columns of lk_parked_of(). */
enum { PARKED_ID, PARKED_SEQUENCE };

/* Columns of lk_queues(), before those of lk_stats(). */
enum { QUEUE_PATH, QUEUE_COUNTS };

/* Reads the three arrays of an item's needs. `ret_texts` are for free() in every case. */
static bool read_needs(const struct lk_rows *rows, int row, struct lk_item_record *item,
                       char *ret_texts[3]) {
    struct lk_slice fields[3][LK_NEEDS_MAX];
    size_t counts[3] = {0, 0, 0};

    for (int i = 0; i < 3; i++) {
        if (!lk_row_list(rows, row, ITEM_NEED_PATHS + i, fields[i], LK_NEEDS_MAX, &counts[i],
                         &ret_texts[i])
            || counts[i] != counts[0]) {
            return false;
        }
    }
    for (size_t n = 0; n < counts[0]; n++) {
        struct lk_part *need = &item->needs[n];
        if (lk_path_parse(fields[0][n], &need->path, NULL) != LK_OK) {
            return false;
        }
        need->limit = (uint32_t)strtoul(fields[1][n].bytes, NULL, 10);
        lk_part_set_code(need, strtol(fields[2][n].bytes, NULL, 10));
    }
    item->need_count = counts[0];
    return true;
}

/* A copy of a cell with bytes, for free() in every case. false: memory is exhausted. */
static bool read_bytes(const struct lk_rows *rows, int row, int column, struct lk_slice *ret_bytes,
                       void **ret_copy) {
    size_t size = 0;

    *ret_copy = NULL;
    *ret_bytes = (struct lk_slice){NULL, 0};
    if (lk_row_is_null(rows, row, column)) {
        return true;
    }
    *ret_copy = lk_row_bytes(rows, row, column, &size);
    *ret_bytes = (struct lk_slice){*ret_copy, size};
    return *ret_copy != NULL;
}

static bool add_item(lk_item_list *list, const struct lk_rows *rows, int row,
                     struct lk_record *claim, struct lk_item_record *item) {
    const struct lk_times times = {.now_us = lk_row_integer(rows, row, ITEM_NOW_US)};
    char *texts[3] = {NULL, NULL, NULL};
    void *value;
    void *words;
    void *progress;
    bool is_claimed = !lk_row_is_null(rows, row, ITEM_OWNER);
    bool is_whole;

    item->id = lk_row_text(rows, row, ITEM_ID);
    item->state = lk_item_state_of(lk_row_text(rows, row, ITEM_STATE));
    item->due_us = lk_row_integer(rows, row, ITEM_DUE_US);
    item->attempts = (uint32_t)lk_row_integer(rows, row, ITEM_ATTEMPTS);
    item->priority = (int32_t)lk_row_integer(rows, row, ITEM_PRIORITY);
    item->last_failure.has_exit = !lk_row_is_null(rows, row, ITEM_LAST_EXIT);
    item->last_failure.exit_code = (int32_t)lk_row_integer(rows, row, ITEM_LAST_EXIT);
    is_whole = read_bytes(rows, row, ITEM_VALUE, &item->value, &value);
    is_whole = read_bytes(rows, row, ITEM_LAST_ERROR, &item->last_failure.text, &words) && is_whole;
    is_whole = read_bytes(rows, row, ITEM_PROGRESS, &item->progress, &progress) && is_whole;
    claim->owner = lk_row_text(rows, row, ITEM_OWNER);
    claim->deadline_us = lk_row_integer(rows, row, ITEM_DEADLINE_US);
    is_whole = is_whole && read_needs(rows, row, item, texts)
               && lk_item_list_add(list, item, is_claimed ? claim : NULL, &times);
    for (int i = 0; i < 3; i++) {
        free(texts[i]);
    }
    free(value);
    free(words);
    free(progress);
    return is_whole;
}

static bool add_items(lk_item_list *list, const struct lk_rows *rows) {
    struct lk_record *claim = calloc(1, sizeof *claim);
    struct lk_item_record *item = calloc(1, sizeof *item);
    bool is_whole = list != NULL && claim != NULL && item != NULL;

    for (int row = 0; row < rows->count && is_whole; row++) {
        is_whole = add_item(list, rows, row, claim, item);
    }
    free(claim);
    free(item);
    return is_whole;
}

/* The rows of lk_items_of(): an id that is NULL stands for all. */
static lk_outcome read_items(struct lk_procedures *store, const struct lk_item_query *query,
                             const struct lk_patience *patience, struct lk_rows **ret_rows,
                             lk_error *error) {
    struct lk_arguments arguments;
    lk_outcome outcome = lk_procedures_tick(store, query->queue, patience, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_arguments_init(&arguments, store->database->lists);
    lk_arguments_add_path(&arguments, query->queue);
    if (query->id.size > 0) {
        lk_arguments_add_text(&arguments, query->id);
    } else {
        lk_arguments_add_null(&arguments);
    }
    return lk_procedures_call(store, "lk_items_of", LK_READING, &arguments, patience, ret_rows,
                              error);
}

lk_outcome lk_procedures_items(struct lk_engine *engine, const struct lk_item_query *query,
                               const struct lk_patience *patience, lk_item_list **ret_list,
                               lk_error *error) {
    struct lk_rows *rows = NULL;
    lk_item_list *list;
    bool is_whole;
    lk_outcome outcome = read_items(lk_procedures_of(engine), query, patience, &rows, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    list = lk_item_list_new();
    is_whole = add_items(list, rows);
    lk_rows_free(rows);
    if (!is_whole) {
        lk_item_list_free(list);
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    *ret_list = list;
    return lk_error_clear(error, LK_OK);
}

/* Asks whether any item is left, which costs less than a count; if so, reports one ready item. */
static lk_outcome query_whether_left(struct lk_procedures *store, const struct lk_path *queue,
                                     const struct lk_patience *patience, lk_queue_stats *ret_stats,
                                     lk_error *error) {
    struct lk_arguments arguments;
    struct lk_rows *rows = NULL;
    lk_outcome outcome;

    lk_arguments_init(&arguments, store->database->lists);
    lk_arguments_add_path(&arguments, queue);
    outcome =
        lk_procedures_call(store, "lk_has_items", LK_READING, &arguments, patience, &rows, error);
    if (outcome == LK_OK) {
        *ret_stats =
            (lk_queue_stats){.ready_now = lk_row_boolean(rows, 0, 0), .oldest_ready_ms = -1};
        lk_rows_free(rows);
    }
    return outcome;
}

/* Reads the columns of lk_stats(), which begin at `first`; zeros if there is no such row. */
static void read_counts(const struct lk_rows *rows, int row, int first, lk_queue_stats *ret_stats) {
    struct lk_queue_counts counts = {.pushed = 0};
    uint64_t *const columns[] = {&counts.pushed,  &counts.duplicates, &counts.claims,
                                 &counts.steals,  &counts.done,       &counts.retried,
                                 &counts.parked,  &counts.ready,      &counts.delayed,
                                 &counts.claimed, &counts.parked_now, &counts.done_now};
    const int count = (int)(sizeof columns / sizeof columns[0]);

    for (int i = 0; i < count; i++) {
        *columns[i] = (uint64_t)lk_row_integer(rows, row, first + i);
    }
    counts.oldest_ready_us = lk_row_is_null(rows, row, first + count)
                                 ? LK_NEVER
                                 : -lk_row_integer(rows, row, first + count);
    lk_stats_from_counts(&counts, 0, ret_stats);
}

lk_outcome lk_procedures_stats(struct lk_engine *engine, const struct lk_path *queue,
                               enum lk_stats_depth depth, const struct lk_patience *patience,
                               lk_queue_stats *ret_stats, lk_error *error) {
    struct lk_procedures *store = lk_procedures_of(engine);
    struct lk_rows *rows = NULL;
    lk_outcome outcome;

    if (depth == LK_STATS_WHETHER_LEFT && store->database->has_items) {
        return query_whether_left(store, queue, patience, ret_stats, error);
    }
    outcome = lk_procedures_read(store, "lk_stats", queue, patience, &rows, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    read_counts(rows, 0, 0, ret_stats);
    lk_rows_free(rows);
    return lk_error_clear(error, LK_OK);
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Each page asks for one row more than it shows, which tells whether another page follows. */
static int page_size(const struct lk_rows *rows, size_t max) {
    return (size_t)rows->count > max ? (int)max : rows->count;
}

static bool add_parked(lk_item_list *list, const struct lk_rows *rows, int count) {
    struct lk_item_record *item = calloc(1, sizeof *item);
    const struct lk_times times = {.now_us = 0};
    bool is_whole = list != NULL && item != NULL;

    for (int row = 0; row < count && is_whole; row++) {
        item->id = lk_row_text(rows, row, PARKED_ID);
        item->state = LK_ITEM_PARKED;
        is_whole = lk_item_list_add(list, item, NULL, &times);
    }
    free(item);
    return is_whole;
}

lk_outcome lk_procedures_parked(struct lk_engine *engine, const struct lk_parked_query *query,
                                const struct lk_patience *patience, lk_item_list **ret_list,
                                uint64_t *ret_reached, lk_error *error) {
    struct lk_procedures *store = lk_procedures_of(engine);
    struct lk_arguments arguments;
    struct lk_rows *rows = NULL;
    lk_item_list *list;
    bool is_whole;
    int count;
    lk_outcome outcome = lk_procedures_tick(store, query->queue, patience, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_arguments_init(&arguments, store->database->lists);
    lk_arguments_add_path(&arguments, query->queue);
    lk_arguments_add_integer(&arguments, (int64_t)query->behind);
    lk_arguments_add_integer(&arguments, (int64_t)query->max + 1);
    outcome =
        lk_procedures_call(store, "lk_parked_of", LK_READING, &arguments, patience, &rows, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    count = page_size(rows, query->max);
    *ret_reached =
        count < rows->count ? (uint64_t)lk_row_integer(rows, count - 1, PARKED_SEQUENCE) : 0;
    list = lk_item_list_new();
    is_whole = add_parked(list, rows, count);
    lk_rows_free(rows);
    if (!is_whole) {
        lk_item_list_free(list);
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    *ret_list = list;
    return lk_error_clear(error, LK_OK);
}

lk_outcome lk_procedures_queues(struct lk_engine *engine, const struct lk_queue_query *query,
                                const struct lk_patience *patience, lk_queue_list **ret_list,
                                bool *ret_has_more, lk_error *error) {
    struct lk_procedures *store = lk_procedures_of(engine);
    lk_queue_list *list;
    struct lk_arguments arguments;
    struct lk_rows *rows = NULL;
    bool is_whole;
    lk_outcome outcome = lk_procedures_tick(store, query->prefix, patience, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_arguments_init(&arguments, store->database->lists);
    if (query->prefix != NULL) {
        lk_arguments_add_path(&arguments, query->prefix);
    } else {
        lk_arguments_add_null(&arguments);
    }
    lk_arguments_add_text(&arguments, query->behind);
    lk_arguments_add_integer(&arguments, (int64_t)query->max + 1);
    outcome =
        lk_procedures_call(store, "lk_queues", LK_READING, &arguments, patience, &rows, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    list = lk_queue_list_new();
    is_whole = list != NULL;
    for (int row = 0; row < page_size(rows, query->max) && is_whole; row++) {
        lk_queue_stats stats;

        read_counts(rows, row, QUEUE_COUNTS, &stats);
        is_whole = lk_queue_list_add(list, lk_row_text(rows, row, QUEUE_PATH), &stats);
    }
    *ret_has_more = (size_t)rows->count > query->max;
    lk_rows_free(rows);
    if (!is_whole) {
        lk_queue_list_free(list);
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    *ret_list = list;
    return lk_error_clear(error, LK_OK);
}
