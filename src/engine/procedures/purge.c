/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Purging what is known of rows that do not fit their query any more (R17): marks of done rows, and
 * parked items. A row that has left the query and fits it again is new work.
 *
 * A read-only transaction, which makes no other transaction wait, checks a portion of them. Another
 * one deletes those that it found, which most portions do not need.
 */
#include <stdio.h>

#include "engine/procedures/table.h"

enum { PORTION = 256 }; /* marks and items each */

_Static_assert(PORTION *(LK_SEGMENT_BYTES_MAX + 3) < LK_ARGUMENTS_BYTES - 2048,
               "ids fit; bytes that a list would escape are rare in segments");

/* Columns of both reading statements. */
enum { ID, FITS, POSITION };

/* The two lists of rows that are purged. */
static const struct list {
    enum lk_source_text text;
    const char *call; /* deletes: queue, root, ids */
    bool has_root;    /* else without the root */
} lists[LK_PROCEDURES_PURGED] = {
    {LK_TABLE_MARKS, "lk_forget", false},
    {LK_TABLE_PARKED, "lk_drop_parked", true},
};

struct purge {
    struct lk_procedures *store;
    const struct lk_source *source;
    const struct lk_source_sql *table;
    const struct lk_patience *patience;
};

static void begin_arguments(const struct purge *purge, struct lk_arguments *arguments) {
    lk_arguments_init(arguments, purge->store->database->lists);
    lk_arguments_add_path(arguments, &purge->source->queue);
}

static lk_outcome read_portion(const struct purge *purge, const struct list *list,
                               const struct lk_purge_position *behind, struct lk_rows **ret_rows,
                               lk_error *error) {
    struct lk_transaction transaction = {
        .steps = {{purge->table->texts[list->text], 0, 3}},
        .step_count = 1,
        .repeat = LK_READING,
    };

    begin_arguments(purge, &transaction.arguments);
    lk_arguments_add_text(&transaction.arguments, lk_slice_of(behind->text));
    lk_arguments_add_integer(&transaction.arguments, PORTION);
    return lk_transaction_read(purge->store, &transaction, "checking a row again failed",
                               purge->patience, ret_rows, error);
}

/* Deletes what is known of the rows that do not fit. */
static lk_outcome delete_unfit(const struct purge *purge, const struct list *list,
                               const struct lk_rows *rows, lk_error *error) {
    struct lk_slice ids[PORTION];
    struct lk_arguments arguments;
    struct lk_rows *answer = NULL;
    size_t count = 0;
    lk_outcome outcome;

    for (int row = 0; row < rows->count && count < PORTION; row++) {
        if (!lk_row_boolean(rows, row, FITS)) {
            ids[count++] = lk_row_text(rows, row, ID);
        }
    }
    if (count == 0) {
        return LK_OK;
    }
    begin_arguments(purge, &arguments);
    if (list->has_root) {
        lk_arguments_add_root(&arguments, &purge->source->queue);
    }
    lk_arguments_add_texts(&arguments, ids, count);
    outcome = lk_procedures_call(purge->store, list->call, LK_REPEATABLE, &arguments,
                                 purge->patience, &answer, error);
    lk_rows_free(answer);
    return outcome;
}

/* *position: behind which row; becomes the last one's, or empty where the list ends. */
static lk_outcome purge_portion(const struct purge *purge, const struct list *list,
                                struct lk_purge_position *position, lk_error *error) {
    struct lk_rows *rows = NULL;
    struct lk_slice last = {"", 0};
    lk_outcome outcome = read_portion(purge, list, position, &rows, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = delete_unfit(purge, list, rows, error);
    if (rows->count == PORTION) {
        last = lk_row_text(rows, PORTION - 1, POSITION);
    }
    (void)snprintf(position->text, sizeof position->text, "%.*s", (int)last.size, last.bytes);
    lk_rows_free(rows);
    return outcome;
}

static lk_outcome purge_some(const struct purge *purge, size_t which, lk_error *error) {
    struct lk_procedures *store = purge->store;
    struct lk_purge_position position;
    lk_outcome outcome;

    pthread_mutex_lock(&store->mutex);
    position = store->purged[which];
    pthread_mutex_unlock(&store->mutex);
    outcome = purge_portion(purge, &lists[which], &position, error);
    if (outcome == LK_OK) {
        pthread_mutex_lock(&store->mutex);
        store->purged[which] = position;
        pthread_mutex_unlock(&store->mutex);
    }
    return outcome;
}

static lk_outcome purge_all(const struct purge *purge, size_t which, lk_error *error) {
    struct lk_purge_position position = {.text = ""};
    lk_outcome outcome;

    do {
        outcome = purge_portion(purge, &lists[which], &position, error);
    } while (outcome == LK_OK && position.text[0] != '\0');
    return outcome;
}

lk_outcome lk_procedures_purge_some(struct lk_procedures *store, const struct lk_source *source,
                                    const struct lk_source_sql *table,
                                    const struct lk_patience *patience, lk_error *error) {
    const struct purge purge = {store, source, table, patience};
    lk_outcome outcome = LK_OK;

    for (size_t which = 0; which < LK_PROCEDURES_PURGED && outcome == LK_OK; which++) {
        outcome = purge_some(&purge, which, error);
    }
    return outcome;
}

lk_outcome lk_procedures_table_purge(struct lk_engine *engine, const struct lk_source *source,
                                     const struct lk_patience *patience, lk_error *error) {
    struct lk_procedures *store = lk_procedures_of(engine);
    struct lk_source_sql table;
    const struct purge purge = {store, source, &table, patience};
    lk_outcome outcome = store->database->table_open(store, source, patience, &table, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    for (size_t which = 0; which < LK_PROCEDURES_PURGED && outcome == LK_OK; which++) {
        outcome = purge_all(&purge, which, error);
    }
    lk_source_sql_done(&table);
    return outcome;
}
