/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Announcing the rows of a table (R17): looking in a transaction that can only read and has nobody
 * wait, then pushing some at a time.
 *
 * What the look found may be old by the time that it is pushed. A row that is done meanwhile and
 * marked so is left out, under the lock of the queue's root; one that fits no more is dropped by
 * whoever would take it; and one that somebody else has pushed is a duplicate.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "engine/postgresql/rows.h"
#include "engine/postgresql/source.h"
#include "engine/postgresql/transact.h"

enum {
    PUSHED_TOGETHER = 128, /* in one transaction: their ids fit into one call */
    READY_ENOUGH = 4096,   /* ready items: no more are looked for */
    MARKS_LOOKED = 256,    /* marks looked at in a round */
    OID_TEXT = 25,
    OID_INT8 = 20,
};

_Static_assert(PUSHED_TOGETHER * (2 * LK_SEGMENT_BYTES_MAX + 3) < LK_ARGUMENTS_BYTES - 2048,
               "their ids fit, each byte escaped");

struct round {
    struct lk_postgresql *store;
    const struct lk_source *source;
    const struct lk_patience *patience;
    struct lk_postgresql_shape shape;
    struct lk_announcement result;
};

static void add_queue(const struct round *round, struct lk_arguments *arguments) {
    lk_arguments_add_path(arguments, &round->source->queue);
}

/* Runs one of the source's texts, and ends it; *ret_rows, for PQclear(). */
static lk_outcome run(const struct round *round, char *text, const Oid *types,
                      struct lk_arguments *arguments, const char *what, PGresult **ret_rows,
                      lk_error *error) {
    struct lk_postgresql_transaction transaction = {
        .steps = {{.sql = text, .count = arguments->count, .types = types}},
        .step_count = 1,
        .is_read_only = true,
        .repeat = LK_REPEATABLE,
        .arguments = *arguments,
    };
    lk_outcome outcome;

    if (text == NULL) {
        lk_arguments_done(arguments);
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    outcome = lk_postgresql_transact(round->store, &transaction, round->patience, error);
    if (outcome == LK_OK) {
        *ret_rows = transaction.results[0];
        transaction.results[0] = NULL;
    } else {
        outcome = lk_postgresql_blame(transaction.failure, what, outcome, error);
    }
    lk_postgresql_transaction_done(&transaction);
    free(text);
    return outcome;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* max 0: one row is enough to know. */
static lk_outcome find(struct round *round, size_t max, PGresult **ret_rows, lk_error *error) {
    static const Oid types[] = {OID_TEXT, OID_INT8, OID_INT8};
    struct lk_arguments arguments;

    lk_arguments_init(&arguments);
    add_queue(round, &arguments);
    lk_arguments_add_integer(&arguments, max > 0 ? (int64_t)max : 1);
    lk_arguments_add_integer(&arguments, max > 0 ? READY_ENOUGH : 0);
    return run(round, lk_postgresql_text_find(round->store, &round->shape, round->source), types,
               &arguments, "looking for rows failed", ret_rows, error);
}

/* Those from `from` on, as many as go together. */
static lk_outcome push_some(struct round *round, const PGresult *rows, int from, lk_error *error) {
    struct lk_slice ids[PUSHED_TOGETHER];
    struct lk_arguments arguments;
    PGresult *answer = NULL;
    size_t count = 0;
    lk_outcome outcome;

    for (int row = from; row < PQntuples(rows) && count < PUSHED_TOGETHER; row++) {
        ids[count++] = lk_row_text(rows, row, 0);
    }
    lk_arguments_init(&arguments);
    add_queue(round, &arguments);
    lk_arguments_add_root(&arguments, &round->source->queue);
    lk_arguments_add_texts(&arguments, ids, count);
    outcome = lk_postgresql_call(round->store, "CALL %s.lk_announce($1,$2,$3)", LK_ONCE, &arguments,
                                 round->patience, &answer, error);
    if (outcome == LK_OK) {
        round->result.pushed += (size_t)lk_row_integer(answer, 0, 0);
        round->result.duplicates += (size_t)lk_row_integer(answer, 0, 1);
        PQclear(answer);
    }
    return outcome;
}

/* ---- marks ----------------------------------------------------------------------------------- */

/* Some marks in each round, all of them in time. */
static lk_outcome look_at_marks(struct round *round, PGresult **ret_rows, lk_error *error) {
    static const Oid types[] = {OID_TEXT, OID_TEXT, OID_INT8};
    struct lk_postgresql *store = round->store;
    struct lk_arguments arguments;

    lk_arguments_init(&arguments);
    add_queue(round, &arguments);
    pthread_mutex_lock(&store->mutex);
    lk_arguments_add_text(&arguments, lk_slice_of(store->mark_looked));
    pthread_mutex_unlock(&store->mutex);
    lk_arguments_add_integer(&arguments, MARKS_LOOKED);
    return run(round, lk_postgresql_text_marks(store, &round->shape, round->source), types,
               &arguments, "looking at a row again failed", ret_rows, error);
}

/* From the beginning, next time, when these were the last. */
static void remember_mark(struct lk_postgresql *store, const PGresult *rows) {
    int count = PQntuples(rows);

    pthread_mutex_lock(&store->mutex);
    (void)snprintf(store->mark_looked, sizeof store->mark_looked, "%s",
                   count == MARKS_LOOKED ? PQgetvalue(rows, count - 1, 0) : "");
    pthread_mutex_unlock(&store->mutex);
}

static lk_outcome forget_marks(struct round *round, lk_error *error) {
    struct lk_slice ids[MARKS_LOOKED];
    struct lk_arguments arguments;
    PGresult *rows = NULL;
    PGresult *answer = NULL;
    size_t count = 0;
    lk_outcome outcome = look_at_marks(round, &rows, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    for (int row = 0; row < PQntuples(rows) && count < MARKS_LOOKED; row++) {
        if (!lk_row_boolean(rows, row, 1)) {
            ids[count++] = lk_row_text(rows, row, 0);
        }
    }
    if (count > 0) {
        lk_arguments_init(&arguments);
        add_queue(round, &arguments);
        lk_arguments_add_texts(&arguments, ids, count);
        outcome = lk_postgresql_call(
            round->store, "DELETE FROM %s.done_rows WHERE queue = $1 AND id = ANY ($2::text[])",
            LK_REPEATABLE, &arguments, round->patience, &answer, error);
        PQclear(answer);
    }
    if (outcome == LK_OK) {
        remember_mark(round->store, rows);
        round->result.forgotten = count;
    }
    PQclear(rows);
    return outcome;
}

/* ---- all together ---------------------------------------------------------------------------- */

static lk_outcome has_enough(struct round *round, lk_error *error) {
    struct lk_arguments arguments;
    PGresult *rows = NULL;
    lk_outcome outcome;

    lk_arguments_init(&arguments);
    add_queue(round, &arguments);
    lk_arguments_add_integer(&arguments, READY_ENOUGH);
    outcome = lk_postgresql_call(round->store, "SELECT %s.ready_count($1, $2::bigint)",
                                 LK_REPEATABLE, &arguments, round->patience, &rows, error);
    if (outcome == LK_OK) {
        round->result.has_enough = lk_row_integer(rows, 0, 0) == READY_ENOUGH;
        PQclear(rows);
    }
    return outcome;
}

static lk_outcome perform(struct round *round, size_t max, lk_error *error) {
    PGresult *rows = NULL;
    lk_outcome outcome = find(round, max, &rows, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    round->result.found = (size_t)PQntuples(rows);
    if (max > 0 && round->result.found == 0) {
        outcome = has_enough(round, error); /* or there are none */
    }
    for (int from = 0; max > 0 && from < PQntuples(rows) && outcome == LK_OK;
         from += PUSHED_TOGETHER) {
        outcome = push_some(round, rows, from, error);
    }
    PQclear(rows);
    return max > 0 && outcome == LK_OK ? forget_marks(round, error) : outcome;
}

lk_outcome lk_postgresql_table_announce(struct lk_engine *engine, const struct lk_source *source,
                                        size_t max, const struct lk_patience *patience,
                                        struct lk_announcement *ret_announcement, lk_error *error) {
    struct round round = {
        .store = lk_postgresql_of(engine), .source = source, .patience = patience};
    lk_outcome outcome =
        lk_postgresql_shape_get(round.store, source, patience, &round.shape, error);

    if (outcome == LK_OK) {
        outcome = perform(&round, max, error);
    }
    if (outcome == LK_OK) {
        *ret_announcement = round.result;
        (void)lk_error_clear(error, LK_OK);
    }
    return outcome;
}
