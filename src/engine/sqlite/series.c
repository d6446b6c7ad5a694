/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several commands in one transaction (R16): each is decided as if it had one of its own, and sees
 * what those before it have written. So a series costs one commit, whatever its length.
 */
#include "base/error.h"
#include "engine/reply/reply.h"
#include "engine/sqlite/decide.h"

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
