/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions: empty ones, failed ones, those of a model's step, and several as one result. */
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/reply/reply.h"

/* ---- one decision ---------------------------------------------------------------------------- */

void lk_decision_begin(struct lk_decision *decision, const struct lk_command *command) {
    *decision = (struct lk_decision){.error = {.outcome = LK_OK},
                                     .result = {.expires_in_ms = -1},
                                     .cursor = {.command = command}};
}

lk_outcome lk_decision_end(struct lk_decision *decision, lk_outcome outcome) {
    return decision->error.outcome = outcome;
}

void lk_decision_done(struct lk_decision *decision) {
    lk_result_clear(&decision->result);
    lk_claim_free(decision->claim);
    lk_decision_begin(decision, NULL);
}

lk_outcome lk_decision_fail(struct lk_decision *decision, lk_outcome outcome, const char *format,
                            ...) {
    char text[LK_ERROR_TEXT_MAX]; /* what is said may be what the decision holds */
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    lk_decision_done(decision);
    return lk_error_set(&decision->error, outcome, "%s", text);
}

bool lk_command_is_for_engines(const struct lk_command *command) {
    return command->kind != LK_COMMAND_TICK && command->kind != LK_COMMAND_LEAVE;
}

lk_outcome lk_decision_refuse(struct lk_decision *decision) {
    return lk_decision_fail(decision, LK_UNSUPPORTED,
                            "a store is not asked for this kind of command");
}

/* false: memory is exhausted. */
static bool fill(const struct lk_model *model, const struct lk_effects *effects,
                 const struct lk_command *command, struct lk_decision *decision) {
    const struct lk_answer *answer = &effects->answer;

    switch (command->kind) {
    case LK_COMMAND_ASK:
    case LK_COMMAND_RENEW:
    case LK_COMMAND_RELEASE:
        return lk_result_fill(model, answer, &command->times, &decision->result);
    case LK_COMMAND_TAKE:
        return answer->outcome != LK_GRANTED
               || lk_claim_from_answer(model, answer, &command->times, &decision->claim, NULL)
                      == LK_GRANTED;
    case LK_COMMAND_BREAK:
        decision->broken = answer->broken;
        return true;
    case LK_COMMAND_PUSH:
        decision->pushed = lk_pushed_of(answer);
        return true;
    case LK_COMMAND_TICK:
    case LK_COMMAND_PUT:
    case LK_COMMAND_FINISH:
    case LK_COMMAND_UNPARK:
    case LK_COMMAND_DROP:
    case LK_COMMAND_LEAVE:
        break;
    }
    return true;
}

bool lk_decision_from_effects(const struct lk_model *model, const struct lk_effects *effects,
                              const struct lk_command *command, struct lk_decision *decision) {
    (void)lk_error_set(&decision->error, effects->answer.outcome, "%s", effects->answer.text);
    if (!fill(model, effects, command, decision)) {
        (void)lk_decision_fail(decision, LK_INTERNAL, "no memory for the answer");
        return false;
    }
    return true;
}

/* ---- series of commands ---------------------------------------------------------------------- */

/* Several decisions as one result (R16). */

const struct lk_path *lk_command_queue(const struct lk_command *command) {
    switch (command->kind) {
    case LK_COMMAND_PUSH:
        return &command->push.queue;
    case LK_COMMAND_TAKE:
        return &command->take.queue;
    case LK_COMMAND_FINISH:
        return &command->finish.queue;
    case LK_COMMAND_UNPARK:
        return &command->unpark.queue;
    default:
        return &command->drop.queue;
    }
}

void lk_series_begin(struct lk_series *series, const struct lk_command *commands, size_t count) {
    *series = (struct lk_series){
        .answers = series->answers, .commands = commands, .command_count = count};
}

void lk_series_done(struct lk_series *series) {
    for (size_t i = 0; i < series->count; i++) {
        lk_claim_free(series->answers[i].claim);
    }
    lk_series_begin(series, NULL, 0);
}

lk_outcome lk_series_fail(struct lk_series *series, lk_outcome outcome, const char *format, ...) {
    char text[LK_ERROR_TEXT_MAX]; /* what is said may be what the series holds */
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    lk_series_done(series);
    return lk_error_set(&series->error, outcome, "%s", text);
}

/* R4: all claims of one decision have the token of the first one. */
static uint64_t shared_token(const struct lk_series *series) {
    return series->count > 0 && series->answers[0].claim != NULL ? series->answers[0].claim->token
                                                                 : 0;
}

static bool is_ended(const struct lk_series *series) {
    return series->count == series->command_count
           || (series->count > 0 && series->commands[0].kind == LK_COMMAND_TAKE
               && series->answers[series->count - 1].outcome != LK_GRANTED);
}

bool lk_series_next(const struct lk_series *series, struct lk_command *ret_command) {
    if (series->error.outcome != LK_OK || is_ended(series)) {
        return false;
    }
    *ret_command = series->commands[series->count];
    if (ret_command->kind == LK_COMMAND_TAKE) {
        ret_command->take.share_token = shared_token(series);
    }
    return true;
}

/* Whether it is about one command, and the others may have another one. */
static bool is_of_one(lk_outcome outcome) {
    return outcome == LK_OK || outcome == LK_GRANTED || outcome == LK_BUSY || outcome == LK_LOST
           || outcome == LK_FULL;
}

void lk_series_add(struct lk_series *series, struct lk_decision *decision) {
    lk_outcome outcome = decision->error.outcome;

    if (!is_of_one(outcome)) {
        (void)lk_series_fail(series, outcome, "%s", decision->error.text);
        lk_decision_done(decision);
        return;
    }
    series->answers[series->count] = (struct lk_series_answer){
        .outcome = outcome, .pushed = decision->pushed, .claim = decision->claim};
    decision->claim = NULL;
    if (outcome != LK_OK && outcome != LK_GRANTED) {
        (void)lk_error_set(&series->error, LK_OK, "%s", decision->error.text);
    }
    series->cursor = decision->cursor;
    series->cursor.command = &series->commands[series->count];
    series->count++;
    lk_decision_done(decision);
}
