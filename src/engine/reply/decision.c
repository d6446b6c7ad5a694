/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions: empty ones, failed ones, and those of a model's step. */
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/reply/reply.h"

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
        decision->is_added = answer->outcome == LK_OK && answer->created;
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
