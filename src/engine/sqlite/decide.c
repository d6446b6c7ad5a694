/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions: one transaction each.
 *
 *     begin  -  load the closure  -  step  -  write what changed  -  commit  -  answer
 *
 * The answer is made before the commit, so that nothing can fail after it. It is returned after the
 * commit, so that no caller learns of a decision that a power cut could undo. A refused try changes
 * nothing, and its commit writes nothing.
 */
#include "engine/sqlite/decide.h"

#include "engine/reply/reply.h"
#include "engine/sqlite/changes.h"
#include "engine/sqlite/source.h"
#include "sql/done_rows.h"

/* R3: loads when the token that the command names ended, if it did. */
static int load_ended(struct lk_closure *closure, const struct lk_target *target) {
    int64_t ended_us = 0;
    int code = lk_sql_ended_load(&closure->store->sql, target, &ended_us);

    if (code == SQLITE_EMPTY) {
        return SQLITE_OK;
    }
    if (code == SQLITE_OK
        && lk_model_restore_ended(closure->model, target, ended_us) == LK_INTERNAL) {
        code = SQLITE_NOMEM;
    }
    return code;
}

int lk_sqlite_write(struct lk_sqlite_transaction *transaction, const struct lk_command *command,
                    const struct lk_closure *closure, const struct lk_effects *effects) {
    int code = lk_changes_write(closure, effects, &transaction->times);

    if (code == SQLITE_OK) {
        code = lk_sqlite_events_keep(transaction, closure->model, effects, command);
    }
    if (code == SQLITE_OK && effects->change_count > 0) {
        uint64_t draw = lk_random_next(&transaction->store->random);
        code = lk_changes_upkeep(transaction, transaction->store->options.tidies_always ? 0 : draw);
    }
    return code;
}

int lk_sqlite_sweep(struct lk_sqlite_transaction *transaction, const struct lk_path *queue) {
    const struct lk_command tick = {.kind = LK_COMMAND_TICK, .times = transaction->times};
    struct lk_closure closure;
    int code = lk_closure_load_overdue(&closure, transaction, &tick, queue,
                                       transaction->store->options.overdue_max);

    if (code == SQLITE_OK && closure.requests.item_count > 0) {
        const struct lk_effects *effects = lk_model_step(closure.model, &tick);
        code = lk_changes_write(&closure, effects, &transaction->times);
        if (code == SQLITE_OK) {
            code = lk_sqlite_events_keep(transaction, closure.model, effects, &tick);
        }
    }
    lk_closure_done(&closure);
    return code;
}

int lk_sqlite_step(struct lk_sqlite_transaction *transaction, struct lk_command *command,
                   struct lk_closure *closure, const struct lk_effects **ret_effects) {
    const struct lk_effects *effects;
    struct lk_row_named room;
    const struct lk_target *target = lk_row_named(command, &room);
    int code;

    command->times = transaction->times;
    code = lk_closure_load(closure, transaction, command, NULL);
    if (code == SQLITE_OK && target != NULL) {
        code = load_ended(closure, target);
    }
    if (code == SQLITE_OK && command->kind == LK_COMMAND_ASK) {
        code = lk_closure_count(closure, &transaction->meta.quotas, command->ask.owner);
    }
    if (code != SQLITE_OK) {
        return code;
    }
    effects = lk_model_step(closure->model, command);
    code = lk_sqlite_write(transaction, command, closure, effects);
    if (code == SQLITE_OK && target != NULL && lk_row_has_ended(&effects->answer)) {
        const struct lk_row row = {.kind = LK_ROW_ENDED,
                                   .ended = {*target, transaction->times.now_us}};
        code = lk_sql_row_write(&transaction->store->sql, &row);
    }
    *ret_effects = effects;
    return code;
}

/* ---- a table of the owner's (R17) ------------------------------------------------------------ */

/* At the end of a claim: runs the owner's statement, and marks the row if it still fits. */
static int complete(struct lk_sqlite_source *source, const struct lk_closure *closure,
                    const struct lk_effects *effects, const struct lk_finish *finish) {
    struct lk_sqlite *store = closure->store;
    const struct lk_slice queue = {finish->queue.bytes, finish->queue.size};
    struct lk_item_record *record = &store->item.record;
    bool fits = false;
    int code;

    lk_model_item_record(closure->model, effects->answer.item, record);
    const struct lk_sqlite_completion completion = {.id = finish->id,
                                                    .owner = finish->owner,
                                                    .token = finish->token,
                                                    .attempt = record->attempts};
    code = lk_sqlite_source_complete(store, source, &completion);
    if (code == SQLITE_OK) {
        code = lk_sqlite_source_fits(store, source, finish->id, &fits);
    }
    return code == SQLITE_OK && fits ? lk_sql_done_row_add(&store->sql, queue, finish->id) : code;
}

/* R3: a repetition finds the claim ended, and the statement has run. */
static bool ends_now(const struct lk_effects *effects, const struct lk_finish *finish) {
    return effects->answer.outcome == LK_OK && effects->answer.item != 0
           && finish->kind == LK_FINISH_DONE;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* What lk_sqlite_await() has to know of a waiting request. */
static void fill_cursor(const struct lk_closure *closure, const struct lk_effects *effects,
                        struct lk_wait_cursor *cursor) {
    cursor->id = lk_model_request_id(closure->model, effects->answer.request);
    cursor->in_the_way = effects->answer.in_the_way;
}

/* Of a crowd, the model has not seen all that is in use (crowd.c). */
static void add_units(const struct lk_closure *closure, const struct lk_effects *effects,
                      lk_result *result) {
    lk_outcome outcome = effects->answer.outcome;

    if (outcome == LK_GRANTED || outcome == LK_WAITING || outcome == LK_BUSY) {
        result->in_use += closure->units_elsewhere;
    }
}

/* The decision, and what is written besides what changed. Returns SQLite's code. */
static int answer(struct lk_sqlite_source *source, const struct lk_closure *closure,
                  const struct lk_effects *effects, const struct lk_command *command,
                  struct lk_decision *decision) {
    if (!lk_decision_from_effects(closure->model, effects, command, decision)) {
        return SQLITE_NOMEM;
    }
    if (command->kind == LK_COMMAND_ASK) {
        add_units(closure, effects, &decision->result);
    }
    if (command->kind == LK_COMMAND_ASK && effects->answer.outcome == LK_WAITING) {
        fill_cursor(closure, effects, &decision->cursor);
    } else if (command->kind == LK_COMMAND_BREAK) {
        return lk_changes_record(closure, effects, command);
    } else if (command->kind == LK_COMMAND_FINISH && source != NULL
               && ends_now(effects, &command->finish)) {
        return complete(source, closure, effects, &command->finish);
    }
    return SQLITE_OK;
}

lk_outcome lk_sqlite_conclude(struct lk_sqlite_transaction *transaction,
                              struct lk_sqlite_source *source, int code,
                              struct lk_decision *decision) {
    lk_error error;
    lk_outcome outcome = lk_sqlite_source_end(transaction, source, code, &error);

    return outcome == LK_OK ? decision->error.outcome
                            : lk_decision_fail(decision, outcome, "%s", error.text);
}

int lk_sqlite_decide_in(struct lk_sqlite_transaction *transaction, struct lk_sqlite_source *source,
                        const struct lk_command *command, struct lk_decision *decision) {
    struct lk_command timed = *command;
    struct lk_closure closure = {.model = NULL};
    const struct lk_effects *effects;
    int code = lk_sqlite_step(transaction, &timed, &closure, &effects);

    if (code == SQLITE_OK) {
        code = answer(source, &closure, effects, &timed, decision);
    }
    lk_closure_done(&closure);
    return code;
}

/* ---- a look first ---------------------------------------------------------------------------- */

/*
 * A try that is refused writes nothing, mostly. So the first try of a handle, and one that follows
 * a refused one, is looked at in a reading transaction first, and ends there if it is refused:
 * tries without pause must not keep the write lock from the holder's renewals, whether one process
 * makes them or a process each. The look is left out after a grant, where the next try is likely
 * granted too. What has to be written after all goes the other way: what is overdue, an event, the
 * refreshed request of the asker, the end of a service.
 */
static int refuse_reading(struct lk_sqlite_transaction *transaction,
                          const struct lk_command *command, struct lk_decision *decision,
                          bool *ret_is_refused) {
    struct lk_command timed = *command;
    struct lk_closure closure = {.model = NULL};
    const struct lk_effects *effects;
    int code;

    timed.times = transaction->times;
    code = lk_closure_load(&closure, transaction, &timed, NULL);
    if (code == SQLITE_OK) {
        effects = lk_model_step(closure.model, &timed);
        if (effects->answer.outcome == LK_BUSY && effects->change_count == 0) {
            *ret_is_refused = true;
            code = answer(NULL, &closure, effects, &timed, decision);
        }
    }
    lk_closure_done(&closure);
    return code == SQLITE_READONLY ? SQLITE_OK : code;
}

static bool may_look(const struct lk_sqlite *store, const struct lk_command *command) {
    return command->kind == LK_COMMAND_ASK && command->ask.style == LK_TRY
           && !atomic_load(&store->has_got);
}

/* *ret_is_refused false: nothing has been decided. */
static lk_outcome look(struct lk_sqlite *store, const struct lk_command *command,
                       const struct lk_patience *patience, struct lk_decision *decision,
                       bool *ret_is_refused) {
    struct lk_sqlite_transaction transaction;
    int code = SQLITE_OK;
    lk_outcome outcome = lk_sqlite_transaction_begin(store, LK_SQLITE_LOOK, patience, &transaction,
                                                     &decision->error);

    *ret_is_refused = false;
    if (outcome != LK_OK) {
        return outcome;
    }
    if (transaction.access == LK_SQLITE_READ && transaction.meta.served[0] == '\0'
        && !lk_sqlite_events_are_kept(&transaction)) {
        code = refuse_reading(&transaction, command, decision, ret_is_refused);
    }
    return lk_sqlite_conclude(&transaction, NULL, code, decision);
}

/* ---- one transaction ------------------------------------------------------------------------- */

/* For all commands but a take. */
static lk_outcome decide(struct lk_sqlite *store, const struct lk_source *text,
                         const struct lk_command *command, const struct lk_patience *patience,
                         struct lk_decision *decision) {
    struct lk_sqlite_source *source = NULL;
    struct lk_sqlite_transaction transaction;
    int code = SQLITE_OK;
    bool is_refused = false;
    lk_outcome outcome = LK_OK;

    if (may_look(store, command)) {
        outcome = look(store, command, patience, decision, &is_refused);
    }
    if (is_refused || outcome != LK_OK) {
        return outcome;
    }
    outcome = lk_sqlite_transaction_begin(store, LK_SQLITE_WRITE, patience, &transaction,
                                          &decision->error);
    if (outcome != LK_OK) {
        return outcome;
    }
    if (text != NULL) {
        code = lk_sqlite_source_get(store, text, &source);
    }
    if (code == SQLITE_OK) {
        code = lk_sqlite_decide_in(&transaction, source, command, decision);
    }
    outcome = lk_sqlite_conclude(&transaction, source, code, decision);
    if (command->kind == LK_COMMAND_ASK) {
        atomic_store(&store->has_got, outcome != LK_BUSY);
    }
    return outcome;
}

static lk_outcome decide_by_kind(struct lk_sqlite *store, const struct lk_source *source,
                                 const struct lk_command *command,
                                 const struct lk_patience *patience, struct lk_decision *decision) {
    switch (command->kind) {
    case LK_COMMAND_TAKE:
        return lk_sqlite_take(store, source, command, patience, decision);
    case LK_COMMAND_ASK:
    case LK_COMMAND_RENEW:
    case LK_COMMAND_RELEASE:
    case LK_COMMAND_BREAK:
    case LK_COMMAND_PUT:
    case LK_COMMAND_PUSH:
    case LK_COMMAND_FINISH:
    case LK_COMMAND_UNPARK:
    case LK_COMMAND_DROP:
        return decide(store, source, command, patience, decision);
    case LK_COMMAND_TICK:
    case LK_COMMAND_LEAVE:
        break;
    }
    return lk_decision_refuse(decision);
}

lk_outcome lk_sqlite_table_decide(struct lk_engine *engine, const struct lk_source *source,
                                  const struct lk_command *command,
                                  const struct lk_patience *patience,
                                  struct lk_decision *ret_decision) {
    lk_decision_begin(ret_decision, command);
    return lk_decision_end(ret_decision, decide_by_kind(lk_sqlite_of(engine), source, command,
                                                        patience, ret_decision));
}

lk_outcome lk_sqlite_decide(struct lk_engine *engine, const struct lk_command *command,
                            const struct lk_patience *patience, struct lk_decision *ret_decision) {
    return lk_sqlite_table_decide(engine, NULL, command, patience, ret_decision);
}

/* ---- several commands ------------------------------------------------------------------------ */

/*
 * In one transaction (R16): each is decided as if it had one of its own, and sees what those before
 * it have written. So a series costs one commit, whatever its length.
 */

/* Decides the next command. Returns SQLite's code. */
static int decide_next(struct lk_sqlite_transaction *transaction, const struct lk_command *command,
                       struct lk_series *series) {
    struct lk_decision decision;
    int code;

    lk_decision_begin(&decision, command);
    code = command->kind == LK_COMMAND_TAKE
               ? lk_sqlite_take_in(transaction, command, &decision)
               : lk_sqlite_decide_in(transaction, NULL, command, &decision);
    if (code == SQLITE_OK) {
        lk_series_add(series, &decision);
    } else {
        lk_decision_done(&decision);
    }
    return code;
}

lk_outcome lk_sqlite_decide_many(struct lk_engine *engine, const struct lk_command *commands,
                                 size_t count, const struct lk_patience *patience,
                                 struct lk_series *series) {
    struct lk_sqlite_transaction transaction;
    struct lk_command command;
    int code = SQLITE_OK;
    lk_outcome outcome;
    lk_error error;

    lk_series_begin(series, commands, count);
    outcome = lk_sqlite_transaction_begin(lk_sqlite_of(engine), LK_SQLITE_WRITE, patience,
                                          &transaction, &series->error);
    if (outcome != LK_OK) {
        return outcome;
    }
    while (code == SQLITE_OK && lk_series_next(series, &command)) {
        code = decide_next(&transaction, &command, series);
    }
    if (code == SQLITE_OK && series->error.outcome != LK_OK) {
        /* One command is refused for all: nothing of the others stays. */
        (void)lk_sqlite_transaction_end(&transaction, SQLITE_ABORT, &error);
        return series->error.outcome;
    }
    outcome = lk_sqlite_transaction_end(&transaction, code, &error);
    return outcome == LK_OK ? LK_OK : lk_series_fail(series, outcome, "%s", error.text);
}
