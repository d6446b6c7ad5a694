/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Announcing the rows of a table (R17). A read-only transaction, which makes no other transaction
 * wait, finds the rows; they are then pushed in batches.
 *
 * A row found may have changed by the time that it is pushed. If it is done meanwhile and marked
 * so, the push leaves it out, under the lock of the queue's root. If it no longer matches the
 * condition, the next take that meets it drops its item. If another process has pushed it, the push
 * is a duplicate.
 */
#include "base/error.h"
#include "engine/procedures/table.h"

enum {
    PUSHED_TOGETHER = 128, /* in one transaction: their ids fit into one call */
    READY_ENOUGH = 4096,   /* with so many ready items, no further rows are looked for */
};

struct round {
    struct lk_procedures *store;
    const struct lk_source *source;
    const struct lk_patience *patience;
    struct lk_source_sql table;
    struct lk_announcement result;
};

static void begin_arguments(const struct round *round, struct lk_arguments *arguments) {
    lk_arguments_init(arguments, round->store->database->lists);
    lk_arguments_add_path(arguments, &round->source->queue);
}

/* Runs one of the table's reading statements; *ret_rows for lk_rows_free(). */
static lk_outcome read_rows(const struct round *round, enum lk_source_text text,
                            struct lk_arguments *arguments, const char *what,
                            struct lk_rows **ret_rows, lk_error *error) {
    struct lk_transaction transaction = {
        .steps = {{round->table.texts[text], 0, arguments->count}},
        .step_count = 1,
        .repeat = LK_READING,
        .arguments = *arguments,
    };

    return lk_transaction_read(round->store, &transaction, what, round->patience, ret_rows, error);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* max 0: only asks whether there is a row, for which one row is enough. */
static lk_outcome find(struct round *round, size_t max, struct lk_rows **ret_rows,
                       lk_error *error) {
    struct lk_arguments arguments;

    begin_arguments(round, &arguments);
    lk_arguments_add_integer(&arguments, max > 0 ? (int64_t)max : 1);
    return read_rows(round, LK_TABLE_FIND, &arguments, "looking for rows failed", ret_rows, error);
}

/* Pushes the rows from `from` on, as many as fit into one transaction. */
static lk_outcome push_some(struct round *round, const struct lk_rows *rows, int from,
                            lk_error *error) {
    struct lk_slice ids[PUSHED_TOGETHER];
    struct lk_arguments arguments;
    struct lk_rows *answer = NULL;
    size_t count = 0;
    lk_outcome outcome;

    for (int row = from; row < rows->count && count < PUSHED_TOGETHER; row++) {
        ids[count++] = lk_row_text(rows, row, 0);
    }
    begin_arguments(round, &arguments);
    lk_arguments_add_root(&arguments, &round->source->queue);
    lk_arguments_add_texts(&arguments, ids, count);
    outcome = lk_procedures_call(round->store, "lk_announce", LK_ONCE, &arguments, round->patience,
                                 &answer, error);
    if (outcome == LK_OK) {
        round->result.pushed += (size_t)lk_row_integer(answer, 0, 0);
        round->result.duplicates += (size_t)lk_row_integer(answer, 0, 1);
        lk_rows_free(answer);
    }
    return outcome;
}

/* ---- skipped rows ---------------------------------------------------------------------------- */

static lk_outcome count_skipped(struct round *round, lk_error *error) {
    struct lk_arguments arguments;
    struct lk_rows *rows = NULL;
    lk_outcome outcome;

    lk_arguments_init(&arguments, round->store->database->lists);
    outcome =
        read_rows(round, LK_TABLE_SKIPPED, &arguments, "looking for rows failed", &rows, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    for (int row = 0; row < rows->count; row++) {
        bool is_null = lk_row_is_null(rows, row, 1);

        lk_skipped_rows_add(&round->result.skipped, lk_row_text(rows, row, 0),
                            is_null ? -1 : lk_row_integer(rows, row, 1));
    }
    lk_rows_free(rows);
    return LK_OK;
}

/* ---- all together ---------------------------------------------------------------------------- */

static lk_outcome has_enough(struct round *round, lk_error *error) {
    struct lk_arguments arguments;
    struct lk_rows *rows = NULL;
    lk_outcome outcome;

    begin_arguments(round, &arguments);
    lk_arguments_add_integer(&arguments, READY_ENOUGH);
    outcome = lk_procedures_call(round->store, "lk_ready_count", LK_READING, &arguments,
                                 round->patience, &rows, error);
    if (outcome == LK_OK) {
        round->result.has_enough = lk_row_integer(rows, 0, 0) == READY_ENOUGH;
        lk_rows_free(rows);
    }
    return outcome;
}

static lk_outcome push_all(struct round *round, size_t max, lk_error *error) {
    struct lk_rows *rows = NULL;
    lk_outcome outcome = find(round, max, &rows, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    round->result.found = (size_t)rows->count;
    round->result.is_whole = round->result.found < max;
    for (int from = 0; max > 0 && from < rows->count && outcome == LK_OK; from += PUSHED_TOGETHER) {
        outcome = push_some(round, rows, from, error);
    }
    lk_rows_free(rows);
    return outcome;
}

/*
 * A separate first statement asks whether there are enough ready items. A round that finds no row
 * reports that none is left to be announced, which may be the end of the work.
 */
static lk_outcome perform(struct round *round, size_t max, lk_error *error) {
    lk_outcome outcome = max > 0 ? has_enough(round, error) : LK_OK;

    if (outcome == LK_OK && !round->result.has_enough) {
        outcome = push_all(round, max, error);
    }
    if (outcome == LK_OK && round->result.is_whole) {
        outcome = count_skipped(round, error);
    }
    return max > 0 && outcome == LK_OK ? lk_procedures_purge_some(
               round->store, round->source, &round->table, round->patience, error)
                                       : outcome;
}

lk_outcome lk_procedures_table_announce(struct lk_engine *engine, const struct lk_source *source,
                                        size_t max, const struct lk_patience *patience,
                                        struct lk_announcement *ret_announcement, lk_error *error) {
    struct round round = {
        .store = lk_procedures_of(engine), .source = source, .patience = patience};
    lk_outcome outcome =
        round.store->database->table_open(round.store, source, patience, &round.table, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = perform(&round, max, error);
    lk_source_sql_done(&round.table);
    if (outcome == LK_OK) {
        *ret_announcement = round.result;
        (void)lk_error_clear(error, LK_OK);
    }
    return outcome;
}
