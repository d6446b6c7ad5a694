/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claiming rows of the owner's table, and ending such claims (R17).
 *
 * A take is one transaction: the owner's condition finds the row of the oldest ready item and locks
 * it, and behind that the store's function looks again, under the lock of the queue's root, whether
 * the item may be claimed. Whatever holds the root's lock waits for no row, so neither waits in a
 * circle. Items whose rows do not fit any more are dropped by who finds nothing better.
 *
 * The end of a claim that is done is one, too: is the claim held - the owner's statement - end the
 * claim, or undo it all.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/postgresql/rows.h"
#include "engine/postgresql/source.h"
#include "engine/postgresql/transact.h"
#include "engine/row_id.h"

enum {
    PORTION = 64, /* items looked at in one transaction */
    OID_TEXT = 25,
    OID_INT8 = 20,
    OID_INT4 = 23,
    OID_TEXTS = 1009,
};

/* ---- taking ---------------------------------------------------------------------------------- */

/* Columns behind those of a take. */
enum { TAKEN_LOOKED = 11, TAKEN_PORTION_END };

struct taking {
    struct lk_postgresql *store;
    const struct lk_take *take;
    const struct lk_patience *patience;
    char *take_text;
    char *drop_text;
    char *ripen_text;
    int64_t behind;      /* items up to this one have been looked at */
    int64_t wanted;      /* rows locked at a time */
    int64_t looked;      /* of the last answer */
    int64_t portion_end; /* likewise; 0: there was nothing to look at */
};

static void add_arguments(const struct taking *taking, struct lk_arguments *arguments) {
    const struct lk_take *take = taking->take;

    lk_arguments_add_path(arguments, &take->queue);
    lk_arguments_add_root(arguments, &take->queue);
    lk_arguments_add_above(arguments, &take->queue);
    lk_arguments_add_text(arguments, take->owner);
    lk_arguments_add_integer(arguments, take->ttl_ms != 0 ? take->ttl_ms : LK_TTL_DEFAULT_MS);
    lk_arguments_add_integer(arguments, take->max_attempts);
    lk_arguments_add_integer(arguments, (int64_t)take->ask_number);
    lk_arguments_add_text(arguments, take->note_given ? take->note : (struct lk_slice){"", 0});
    lk_arguments_add_integer(arguments, taking->behind);
    lk_arguments_add_integer(arguments, PORTION);
    lk_arguments_add_integer(arguments, taking->wanted);
}

static lk_outcome take_once(struct taking *taking, lk_claim_info **ret_claim,
                            struct lk_stand *ret_stand, lk_error *error) {
    static const Oid types[] = {OID_TEXT, OID_TEXT, OID_TEXTS, OID_TEXT, OID_INT8, OID_INT4,
                                OID_INT8, OID_TEXT, OID_INT8,  OID_INT8, OID_INT8};
    struct lk_postgresql_transaction transaction = {
        .steps = {{.sql = taking->ripen_text, .count = 2, .types = types},
                  {.sql = taking->take_text, .count = 11, .types = types}},
        .step_count = 2,
        .repeat = taking->take->ask_number != 0 ? LK_REPEATABLE : LK_ONCE,
    };
    uint64_t version = lk_listener_version(&taking->store->listener);
    lk_outcome outcome;

    lk_arguments_init(&transaction.arguments);
    add_arguments(taking, &transaction.arguments);
    outcome = lk_postgresql_transact(taking->store, &transaction, taking->patience, error);
    if (outcome == LK_OK) {
        const PGresult *rows = transaction.results[1];

        outcome = lk_postgresql_taken(rows, taking->take, version, ret_claim, ret_stand, error);
        taking->looked = lk_row_integer(rows, 0, TAKEN_LOOKED);
        taking->portion_end = lk_row_integer(rows, 0, TAKEN_PORTION_END);
    } else {
        outcome = lk_postgresql_blame(transaction.failure, "looking at a row again failed", outcome,
                                      error);
    }
    lk_postgresql_transaction_done(&transaction);
    return outcome;
}

/* Of the portion in which no row fits, or could be locked. */
static lk_outcome drop(struct taking *taking, lk_error *error) {
    static const Oid types[] = {OID_TEXT, OID_TEXT, OID_INT8, OID_INT8};
    struct lk_postgresql_transaction transaction = {
        .steps = {{.sql = taking->drop_text, .count = 4, .types = types}},
        .step_count = 1,
        .repeat = LK_REPEATABLE,
    };
    lk_outcome outcome;

    lk_arguments_init(&transaction.arguments);
    lk_arguments_add_path(&transaction.arguments, &taking->take->queue);
    lk_arguments_add_root(&transaction.arguments, &taking->take->queue);
    lk_arguments_add_integer(&transaction.arguments, taking->behind);
    lk_arguments_add_integer(&transaction.arguments, PORTION);
    outcome = lk_postgresql_transact(taking->store, &transaction, taking->patience, error);
    if (outcome != LK_OK) {
        outcome = lk_postgresql_blame(transaction.failure, "looking at a row again failed", outcome,
                                      error);
    }
    lk_postgresql_transaction_done(&transaction);
    return outcome;
}

/*
 * Portion by portion. Where rows fit but none of those locked could be claimed (a lock by hand is
 * in the way, or what the work needs), more are locked in the same portion.
 */
static lk_outcome take_any(struct taking *taking, lk_claim_info **ret_claim,
                           struct lk_stand *ret_stand, lk_error *error) {
    taking->wanted = 1;
    for (;;) {
        lk_outcome outcome = take_once(taking, ret_claim, ret_stand, error);

        if (outcome != LK_BUSY || taking->portion_end == 0) {
            return outcome;
        }
        if (taking->looked >= taking->wanted && taking->wanted < PORTION) {
            taking->wanted *= 2;
            continue;
        }
        if (taking->looked == 0) {
            outcome = drop(taking, error);
            if (outcome != LK_OK) {
                return outcome;
            }
        }
        taking->behind = taking->portion_end;
        taking->wanted = 1;
    }
}

static bool make_texts(struct taking *taking, const struct lk_postgresql_shape *shape,
                       const struct lk_source *source) {
    taking->take_text = lk_postgresql_text_take(taking->store, shape, source);
    taking->drop_text = lk_postgresql_text_drop(taking->store, shape, source);
    if (asprintf(&taking->ripen_text, "SELECT %s.table_ripen($1, $2)", taking->store->place.schema)
        < 0) {
        taking->ripen_text = NULL;
    }
    return taking->take_text != NULL && taking->drop_text != NULL && taking->ripen_text != NULL;
}

static bool add_row_id(lk_claim_info *claim) {
    struct lk_row_id id;

    if (!lk_row_id_decode(lk_slice_of(claim->id), &id)) {
        return true;
    }
    claim->row_id = lk_text_copy((struct lk_slice){id.bytes, id.size});
    return claim->row_id != NULL;
}

lk_outcome lk_postgresql_table_take(struct lk_engine *engine, const struct lk_source *source,
                                    const struct lk_take *take, const struct lk_patience *patience,
                                    lk_claim_info **ret_claim, struct lk_stand *ret_stand,
                                    lk_error *error) {
    struct taking taking = {.store = lk_postgresql_of(engine), .take = take, .patience = patience};
    struct lk_postgresql_shape shape;
    lk_claim_info *claim = NULL;
    lk_outcome outcome = lk_postgresql_shape_get(taking.store, source, patience, &shape, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    if (make_texts(&taking, &shape, source)) {
        outcome = take_any(&taking, &claim, ret_stand, error);
    } else {
        outcome = lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    free(taking.take_text);
    free(taking.drop_text);
    free(taking.ripen_text);
    if (outcome == LK_GRANTED && !add_row_id(claim)) {
        lk_claim_free(claim);
        return lk_error_set(error, LK_INTERNAL, "no memory for the claim");
    }
    if (outcome == LK_GRANTED) {
        *ret_claim = claim;
    }
    return outcome;
}

/* ---- finishing ------------------------------------------------------------------------------- */

enum { BEGIN_STEP, DONE_STEP, END_STEP };

struct finishing {
    struct lk_postgresql *store;
    const struct lk_finish *finish;
    const struct lk_patience *patience;
    char *begin_text;
    char *done_text; /* NULL: there is none */
    char *end_text;
    struct lk_row_id id;
    Oid id_type;
};

/* For all steps: those of the claim, its row's id, and what else the owner's statement is told. */
static void add_arguments_of_finish(const struct finishing *finishing,
                                    struct lk_arguments *arguments) {
    const struct lk_finish *finish = finishing->finish;
    struct lk_slice id = {finishing->id.bytes, finishing->id.size};

    lk_arguments_add_path(arguments, &finish->queue);
    lk_arguments_add_text(arguments, finish->id);
    lk_arguments_add_root(arguments, &finish->queue);
    lk_arguments_add_text(arguments, finish->owner);
    lk_arguments_add_integer(arguments, (int64_t)finish->token);
    lk_arguments_add_text(arguments, id);
    lk_arguments_add_integer(arguments, (int64_t)finish->token);
    lk_arguments_add_text(arguments, finish->owner);
}

/* What a failure means. LK_NONE: this very call has ended the claim before (R3). */
static lk_outcome explain(const PGresult *failure, lk_outcome outcome, lk_error *error) {
    if (lk_postgresql_has_failed_with(failure, "LK001")) {
        return lk_error_clear(error, LK_NONE);
    }
    if (lk_postgresql_has_failed_with(failure, "LK002")) {
        return lk_error_set(error, LK_LOST, "%s",
                            PQresultErrorField(failure, PG_DIAG_MESSAGE_PRIMARY));
    }
    return lk_postgresql_blame(failure, "the statement for what is done failed", outcome, error);
}

/* All steps; or the first one alone, which only looks. */
static lk_outcome perform(const struct finishing *finishing, bool is_look, lk_error *error) {
    const Oid types[] = {OID_TEXT, OID_TEXT,           OID_TEXT, OID_TEXT,
                         OID_INT8, finishing->id_type, OID_INT8, OID_TEXT};
    struct lk_postgresql_transaction transaction = {.is_read_only = is_look,
                                                    .repeat = LK_REPEATABLE};
    struct lk_postgresql_step *step = transaction.steps;
    lk_outcome outcome;

    *step++ = (struct lk_postgresql_step){finishing->begin_text, 0, 5, types};
    if (finishing->done_text != NULL && !is_look) {
        *step++ = (struct lk_postgresql_step){finishing->done_text, 5, 3, types + 5};
    }
    if (!is_look) {
        *step++ = (struct lk_postgresql_step){finishing->end_text, 0, 6, types};
    }
    transaction.step_count = (size_t)(step - transaction.steps);
    lk_arguments_init(&transaction.arguments);
    add_arguments_of_finish(finishing, &transaction.arguments);
    outcome = lk_postgresql_transact(finishing->store, &transaction, finishing->patience, error);
    if (outcome != LK_OK && transaction.failure != NULL) {
        outcome = explain(transaction.failure, outcome, error);
    }
    lk_postgresql_transaction_done(&transaction);
    return outcome;
}

/*
 * A statement that fails may do so because this very call, sent before and not answered, has taken
 * effect meanwhile; or because the claim is lost and whoever has it now is done. So it is looked
 * once more.
 */
static lk_outcome finish_done(const struct finishing *finishing, lk_error *error) {
    lk_outcome outcome = perform(finishing, false, error);

    if (outcome == LK_INVALID) {
        lk_error cause;
        lk_outcome found = perform(finishing, true, &cause);

        if (found != LK_OK) {
            outcome = lk_error_set(error, found, "%s", cause.text);
        }
    }
    return outcome == LK_NONE ? lk_error_clear(error, LK_OK) : outcome;
}

static lk_outcome make_finish_texts(struct finishing *finishing,
                                    const struct lk_postgresql_shape *shape,
                                    const struct lk_source *source, lk_error *error) {
    const char *schema = finishing->store->place.schema;

    finishing->end_text = lk_postgresql_text_end(finishing->store, shape, source);
    if (asprintf(&finishing->begin_text, "SELECT %s.begin_finish($1, $2, $4, $5)", schema) < 0) {
        finishing->begin_text = NULL;
    }
    if (finishing->end_text == NULL || finishing->begin_text == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    return source->done.size > 0
               ? lk_postgresql_text_done(finishing->store, source, &finishing->done_text, error)
               : LK_OK;
}

lk_outcome lk_postgresql_table_finish(struct lk_engine *engine, const struct lk_source *source,
                                      const struct lk_finish *finish,
                                      const struct lk_patience *patience, lk_error *error) {
    struct finishing finishing = {
        .store = lk_postgresql_of(engine), .finish = finish, .patience = patience};
    struct lk_postgresql_shape shape;
    lk_outcome outcome;

    if (finish->kind != LK_FINISH_DONE) {
        return lk_postgresql_finish(engine, finish, patience, error);
    }
    if (!lk_row_id_decode(finish->id, &finishing.id)) {
        return lk_error_set(error, LK_LOST, "R17: the item is no row's");
    }
    outcome = lk_postgresql_shape_get(finishing.store, source, patience, &shape, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    finishing.id_type = shape.id_type;
    outcome = make_finish_texts(&finishing, &shape, source, error);
    if (outcome == LK_OK) {
        outcome = finish_done(&finishing, error);
    }
    free(finishing.begin_text);
    free(finishing.done_text);
    free(finishing.end_text);
    return outcome == LK_OK ? lk_error_clear(error, LK_OK) : outcome;
}
