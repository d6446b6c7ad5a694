/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims rows of the owner's table, and ends such claims (R17).
 *
 * A take is one transaction. The owner's condition finds the row of the oldest ready item and locks
 * it. Then the store's procedure checks again, under the lock of the queue's root, whether the item
 * may be claimed. A transaction that holds the root's lock never waits for a row, so there are no
 * cycles of waits. A take that finds nothing to claim drops the items whose rows no longer match.
 *
 * The end of a claim that is done is one transaction, too: it checks that the claim is held, runs
 * the owner's statement, and ends the claim; or it rolls everything back.
 */
#include "engine/procedures/table.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/reply/reply.h"
#include "engine/row_id.h"

enum {
    PORTION = 64,       /* items checked in one transaction */
    POSITION_MAX = 47,  /* bytes of the position of an item in its queue */
    SHORT_ARGUMENTS = 8 /* of a take: up to the note */
};

/* Columns of a take, after those of lk_take(). */
enum { TAKEN_LOOKED = 11, TAKEN_PORTION_END };

static const char recheck_failed[] = "checking a row again failed";

/* ---- taking ---------------------------------------------------------------------------------- */

struct taking {
    struct lk_procedures *store;
    const struct lk_take *take;
    const struct lk_patience *patience;
    struct lk_source_sql table;
    int64_t wanted; /* rows locked at a time */
    int64_t looked; /* items checked, as of the last answer */
    /* Positions are the database's own. */
    char behind[POSITION_MAX + 1];      /* items up to this one have been checked; "0": none */
    char portion_end[POSITION_MAX + 1]; /* of the last answer; empty: no items to check */
};

/* Adds the arguments of a take. */
static void add_terms(const struct lk_take *take, struct lk_arguments *arguments) {
    lk_arguments_add_integer(arguments, take->ttl_ms);
    lk_arguments_add_integer(arguments, take->max_attempts);
    lk_arguments_add_integer(arguments, (int64_t)take->ask_number);
    lk_arguments_add_text(arguments, take->note_given ? take->note : (struct lk_slice){"", 0});
}

static void add_arguments(const struct taking *taking, struct lk_arguments *arguments) {
    const struct lk_take *take = taking->take;

    lk_arguments_init(arguments, taking->store->database->lists);
    lk_arguments_add_path(arguments, &take->queue);
    lk_arguments_add_root(arguments, &take->queue);
    lk_arguments_add_above(arguments, &take->queue);
    lk_arguments_add_text(arguments, take->owner);
    add_terms(take, arguments);
    lk_arguments_add_text(arguments, lk_slice_of(taking->behind));
    lk_arguments_add_integer(arguments, PORTION);
    lk_arguments_add_integer(arguments, taking->wanted);
}

static lk_outcome take_once(struct taking *taking, struct lk_decision *decision) {
    struct lk_transaction transaction = {
        .steps = {{taking->table.texts[LK_TABLE_RIPEN], 0, 2},
                  {taking->table.texts[LK_TABLE_TAKE], 0, 11}},
        .step_count = 2,
        .repeat = taking->take->ask_number != 0 ? LK_REPEATABLE : LK_ONCE,
    };
    uint64_t version = lk_procedures_version(taking->store);
    lk_outcome outcome;

    add_arguments(taking, &transaction.arguments);
    outcome =
        lk_procedures_transact(taking->store, &transaction, taking->patience, &decision->error);
    if (outcome == LK_OK) {
        const struct lk_rows *rows = transaction.rows[1];

        outcome = lk_procedures_taken(rows, 0, taking->take, version, decision);
        taking->looked = lk_row_integer(rows, 0, TAKEN_LOOKED);
        (void)snprintf(taking->portion_end, sizeof taking->portion_end, "%s",
                       lk_row_text(rows, 0, TAKEN_PORTION_END).bytes);
    } else {
        outcome = lk_transaction_blame(&transaction, recheck_failed, outcome, &decision->error);
    }
    lk_transaction_done(&transaction);
    return outcome;
}

/*
 * Drops those of `items` items whose rows do not match. Called when no row matches or none could be
 * locked.
 */
static lk_outcome drop(struct taking *taking, int64_t items, lk_error *error) {
    struct lk_transaction transaction = {
        .steps = {{taking->table.texts[LK_TABLE_DROP], 0, 4}},
        .step_count = 1,
        .repeat = LK_REPEATABLE,
    };
    lk_outcome outcome;

    lk_arguments_init(&transaction.arguments, taking->store->database->lists);
    lk_arguments_add_path(&transaction.arguments, &taking->take->queue);
    lk_arguments_add_root(&transaction.arguments, &taking->take->queue);
    lk_arguments_add_text(&transaction.arguments, lk_slice_of(taking->behind));
    lk_arguments_add_integer(&transaction.arguments, items);
    outcome = lk_procedures_transact(taking->store, &transaction, taking->patience, error);
    if (outcome != LK_OK) {
        outcome = lk_transaction_blame(&transaction, recheck_failed, outcome, error);
    }
    lk_transaction_done(&transaction);
    return outcome;
}

/*
 * Claims the oldest ready item, where that is simple; otherwise *ret_claim stays NULL. An item
 * whose row does not match is dropped, because it would be the oldest for the next take, too.
 */
static lk_outcome take_shortly(struct taking *taking, struct lk_decision *decision) {
    struct lk_transaction transaction = {
        .steps = {{taking->table.texts[LK_TABLE_TAKE_SHORT], 0, SHORT_ARGUMENTS}},
        .step_count = 1,
        .repeat = taking->take->ask_number != 0 ? LK_REPEATABLE : LK_ONCE,
        .is_short = true,
    };
    uint64_t version = lk_procedures_version(taking->store);
    bool is_unfit = false;
    lk_outcome outcome;

    add_arguments(taking, &transaction.arguments);
    outcome =
        lk_procedures_transact(taking->store, &transaction, taking->patience, &decision->error);
    if (outcome != LK_OK) {
        outcome = lk_transaction_blame(&transaction, recheck_failed, outcome, &decision->error);
    } else if (lk_row_is_null(transaction.rows[0], 0, 0)) {
        is_unfit = !lk_row_is_null(transaction.rows[0], 0, TAKEN_LOOKED);
    } else {
        outcome = lk_procedures_taken(transaction.rows[0], 0, taking->take, version, decision);
    }
    lk_transaction_done(&transaction);
    return outcome == LK_OK && is_unfit ? drop(taking, 1, &decision->error) : outcome;
}

/*
 * Works through the items in portions. Rows may match while none of those locked could be claimed,
 * because a manual lock or one that the work needs is in the way. Then more rows of the same
 * portion are locked.
 */
static lk_outcome take_any(struct taking *taking, struct lk_decision *decision) {
    lk_outcome outcome;

    taking->wanted = 1;
    outcome = take_shortly(taking, decision);
    while (outcome == LK_OK) {
        outcome = take_once(taking, decision);
        if (outcome != LK_BUSY || taking->portion_end[0] == '\0') {
            return outcome;
        }
        outcome = LK_OK;
        if (taking->looked >= taking->wanted && taking->wanted < PORTION) {
            taking->wanted *= 2;
            continue;
        }
        if (taking->looked == 0) {
            outcome = drop(taking, PORTION, &decision->error);
        }
        memcpy(taking->behind, taking->portion_end, sizeof taking->behind);
        taking->wanted = 1;
    }
    return outcome;
}

static bool add_row_id(lk_claim_info *claim) {
    struct lk_row_id id;

    if (!lk_row_id_decode(lk_slice_of(claim->id), &id)) {
        return true;
    }
    claim->row_id = lk_text_copy((struct lk_slice){id.bytes, id.size});
    return claim->row_id != NULL;
}

static lk_outcome take(struct lk_procedures *store, const struct lk_source *source,
                       const struct lk_take *take, const struct lk_patience *patience,
                       struct lk_decision *decision) {
    struct taking taking = {.store = store, .take = take, .patience = patience, .behind = "0"};
    lk_outcome outcome =
        store->database->table_open(store, source, patience, &taking.table, &decision->error);

    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = take_any(&taking, decision);
    lk_source_sql_done(&taking.table);
    return outcome == LK_GRANTED && !add_row_id(decision->claim)
               ? lk_decision_fail(decision, LK_INTERNAL, "no memory for the claim")
               : outcome;
}

/* ---- finishing ------------------------------------------------------------------------------- */

struct finishing {
    struct lk_procedures *store;
    const struct lk_finish *finish;
    const struct lk_take *take; /* in the same transaction, if possible; NULL: none */
    const struct lk_patience *patience;
    struct lk_source_sql table;
    struct lk_row_id id;
    lk_claim_info *claim; /* the claim that the take got */
};

/* Adds one parameter of the owner's statement. The step before it knows the attempt. */
static bool add_parameter(const struct finishing *finishing, enum lk_parameter which,
                          struct lk_arguments *arguments) {
    switch (which) {
    case LK_PARAMETER_ID:
        lk_arguments_add_text(arguments,
                              (struct lk_slice){finishing->id.bytes, finishing->id.size});
        return true;
    case LK_PARAMETER_TOKEN:
        lk_arguments_add_integer(arguments, (int64_t)finishing->finish->token);
        return true;
    case LK_PARAMETER_OWNER:
        lk_arguments_add_text(arguments, finishing->finish->owner);
        return true;
    default:
        return false;
    }
}

enum { CLAIM_ARGUMENTS = 5 };

/* Adds a take after an end, whose arguments already contain the queue, its root and the owner. */
static void add_take(const struct lk_take *take, struct lk_arguments *arguments) {
    lk_arguments_add_above(arguments, &take->queue);
    add_terms(take, arguments);
}

/*
 * Adds the arguments of the claim, the row's id, those of a take, and the parameters of the owner's
 * statement; returns where these begin.
 */
static int add_finish(const struct finishing *finishing, struct lk_arguments *arguments) {
    const struct lk_finish *finish = finishing->finish;
    const struct lk_statement *done = &finishing->table.done;
    int told_from;

    lk_arguments_init(arguments, finishing->store->database->lists);
    lk_arguments_add_path(arguments, &finish->queue);
    lk_arguments_add_text(arguments, finish->id);
    lk_arguments_add_root(arguments, &finish->queue);
    lk_arguments_add_text(arguments, finish->owner);
    lk_arguments_add_integer(arguments, (int64_t)finish->token);
    (void)add_parameter(finishing, LK_PARAMETER_ID, arguments);
    if (finishing->take != NULL) {
        add_take(finishing->take, arguments);
    }
    told_from = arguments->count;
    for (size_t i = 0; i < done->count; i++) {
        (void)add_parameter(finishing, done->parameters[i], arguments);
    }
    return told_from;
}

/* LK_NONE: the same call, sent before, has already ended the claim (R3). */
static lk_outcome explain(struct lk_transaction *transaction, lk_outcome outcome, lk_error *error) {
    switch (transaction->failure) {
    case LK_FAILURE_ENDED:
        return lk_error_clear(error, LK_NONE);
    case LK_FAILURE_LOST:
        return lk_error_set(error, LK_LOST, "%s", transaction->words);
    case LK_FAILURE_LONG:
        return LK_BUSY;
    case LK_FAILURE_DENIED: /* it was allowed when it was checked */
        transaction->failure = LK_FAILURE_WRONG;
        break;
    default:
        break;
    }
    return lk_transaction_blame(transaction, "the --done statement failed", outcome, error);
}

/* How the end is performed. */
enum way { SHORT, WHOLE, LOOK };

/*
 * Keeps the claim that the last step of a short way got. A claim that cannot be reported perishes.
 */
static void keep_claim(struct finishing *finishing, const struct lk_rows *rows) {
    struct lk_decision taken;

    if (finishing->take == NULL || lk_row_is_null(rows, 0, 0)) {
        return;
    }
    lk_decision_begin(&taken, NULL);
    if (lk_procedures_taken(rows, 0, finishing->take, 0, &taken) == LK_GRANTED
        && add_row_id(taken.claim)) {
        finishing->claim = taken.claim;
        taken.claim = NULL;
    }
    lk_decision_done(&taken);
}

/*
 * Runs all steps, or only the first one, which only checks. LK_BUSY: not possible by a short way.
 */
static lk_outcome perform(struct finishing *finishing, enum way way, lk_error *error) {
    char *const *texts = finishing->table.texts;
    struct lk_transaction transaction = {.repeat = way == LOOK ? LK_READING : LK_REPEATABLE,
                                         .is_short = way == SHORT};
    struct lk_step *step = transaction.steps;
    int told_from = add_finish(finishing, &transaction.arguments);
    lk_outcome outcome;

    *step++ = (struct lk_step){texts[way == SHORT ? LK_TABLE_BEGIN_SHORT : LK_TABLE_BEGIN], 0,
                               CLAIM_ARGUMENTS};
    if (finishing->table.done.text != NULL && way != LOOK) {
        *step++ = (struct lk_step){finishing->table.done.text, told_from,
                                   transaction.arguments.count - told_from};
    }
    if (way == SHORT && finishing->take != NULL) {
        *step++ = (struct lk_step){texts[LK_TABLE_END_AND_TAKE_SHORT], 0, told_from};
    } else if (way != LOOK) {
        *step++ = (struct lk_step){texts[way == SHORT ? LK_TABLE_END_SHORT : LK_TABLE_END], 0,
                                   CLAIM_ARGUMENTS + 1};
    }
    transaction.step_count = (size_t)(step - transaction.steps);
    outcome = lk_procedures_transact(finishing->store, &transaction, finishing->patience, error);
    if (outcome != LK_OK) {
        outcome = explain(&transaction, outcome, error);
    } else if (way == SHORT) {
        keep_claim(finishing, transaction.rows[transaction.step_count - 1]);
    }
    lk_transaction_done(&transaction);
    return outcome;
}

/*
 * The statement may fail because the same call, sent before and not answered, has taken effect
 * meanwhile; or because the claim is lost and its new holder has finished. So the claim is checked
 * once more.
 */
static lk_outcome finish_done(struct finishing *finishing, lk_error *error) {
    lk_outcome outcome = perform(finishing, SHORT, error);

    if (outcome == LK_BUSY) {
        outcome = perform(finishing, WHOLE, error);
    }
    if (outcome == LK_INVALID) {
        lk_error cause;
        lk_outcome found = perform(finishing, LOOK, &cause);

        if (found != LK_OK) {
            outcome = lk_error_set(error, found, "%s", cause.text);
        }
    }
    return outcome == LK_NONE ? LK_OK : outcome;
}

/* The decision contains the claim that was taken, if `next` is not NULL and the take succeeded. */
static lk_outcome finish(struct lk_procedures *store, const struct lk_source *source,
                         const struct lk_finish *finish, const struct lk_take *next,
                         const struct lk_patience *patience, struct lk_decision *decision) {
    struct finishing finishing = {
        .store = store, .finish = finish, .take = next, .patience = patience};
    lk_error *error = &decision->error;
    lk_outcome outcome;

    if (finish->kind != LK_FINISH_DONE) {
        return lk_procedures_finish(store, finish, patience, decision);
    }
    if (!lk_row_id_decode(finish->id, &finishing.id)) {
        return lk_error_set(error, LK_LOST, "R17: the item is no row's");
    }
    outcome = store->database->table_open(store, source, patience, &finishing.table, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = finish_done(&finishing, error);
    lk_source_sql_done(&finishing.table);
    if (outcome != LK_OK) {
        return outcome;
    }
    lk_procedures_sweep_sometimes(store);
    decision->claim = finishing.claim;
    return lk_error_clear(error, LK_OK);
}

lk_outcome lk_procedures_table_finish_and_take(struct lk_engine *engine,
                                               const struct lk_source *source,
                                               const struct lk_finish *ending,
                                               const struct lk_take *next,
                                               const struct lk_patience *patience,
                                               struct lk_decision *ret_decision) {
    lk_decision_begin(ret_decision, NULL);
    return lk_decision_end(ret_decision, finish(lk_procedures_of(engine), source, ending, next,
                                                patience, ret_decision));
}

static lk_outcome decide(struct lk_procedures *store, const struct lk_source *source,
                         const struct lk_command *command, const struct lk_patience *patience,
                         struct lk_decision *decision) {
    switch (command->kind) {
    case LK_COMMAND_TAKE:
        return take(store, source, &command->take, patience, decision);
    case LK_COMMAND_FINISH:
        return finish(store, source, &command->finish, NULL, patience, decision);
    case LK_COMMAND_ASK:
    case LK_COMMAND_RENEW:
    case LK_COMMAND_RELEASE:
    case LK_COMMAND_BREAK:
    case LK_COMMAND_TICK:
    case LK_COMMAND_PUT:
    case LK_COMMAND_PUSH:
    case LK_COMMAND_UNPARK:
    case LK_COMMAND_DROP:
    case LK_COMMAND_LEAVE:
        break;
    }
    return lk_decision_refuse(decision);
}

lk_outcome lk_procedures_table_decide(struct lk_engine *engine, const struct lk_source *source,
                                      const struct lk_command *command,
                                      const struct lk_patience *patience,
                                      struct lk_decision *ret_decision) {
    lk_decision_begin(ret_decision, command);
    return lk_decision_end(
        ret_decision, decide(lk_procedures_of(engine), source, command, patience, ret_decision));
}
