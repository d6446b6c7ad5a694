/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls about several items (R16): one step of the model for each, at one time, so that one batch
 * has all of them.
 */
#include "model/command_check.h"
#include "server/core/core_internal.h"

/* ---- claims ---------------------------------------------------------------------------------- */

/* Keeps the answer of a take that was granted. The text of a step ends with the next one. */
static void keep_claim(struct lk_core *core, const struct lk_taker *taker, size_t at,
                       const struct lk_answer *answer) {
    assert(answer->outcome == LK_GRANTED && at < LK_TAKES_MAX);
    core->claims[at] = *answer;
    core->claims[at].text = "";
    if (taker->is_bound) {
        lk_core_bind(core, taker->session, answer->request);
    }
}

/* The next take of the call; without an ask number none of them has one. */
static struct lk_command next_take(struct lk_core *core, const struct lk_take *take, size_t at) {
    struct lk_command command = {.kind = LK_COMMAND_TAKE, .take = *take};

    lk_model_record_head(core->model, core->claims[0].request, &core->record);
    command.take.share_token = core->record.token;
    command.take.ask_number += take->ask_number != 0 ? at : 0;
    return command;
}

/* Makes room for what the next claim needs besides the step. */
static bool reserve(struct lk_core *core, const struct lk_taker *taker) {
    return !taker->is_bound || lk_bindings_reserve(core);
}

/*
 * Claims more items until there are as many as the call asks for. Returns how many; 0: the model
 * was given up. *ret_refusal is valid until the next step.
 */
static size_t claim_more(struct lk_core *core, const struct lk_taker *taker,
                         const struct lk_take *take, const struct lk_answer **ret_refusal) {
    size_t count = 1;

    while (count < taker->claims && reserve(core, taker)) {
        struct lk_command command = next_take(core, take, count);
        const struct lk_effects *effects = lk_core_step(core, &command);

        if (effects == NULL) {
            return 0;
        }
        if (effects->answer.outcome != LK_GRANTED) {
            *ret_refusal = &effects->answer;
            break;
        }
        keep_claim(core, taker, count++, &effects->answer);
    }
    return count;
}

void lk_core_answer_take(struct lk_core *core, const struct lk_taker *taker,
                         const struct lk_take *take, const struct lk_answer *first) {
    struct lk_reply reply = {.answer = &core->claims[0]};

    keep_claim(core, taker, 0, first);
    if (taker->claims > 0) {
        reply.claims = core->claims;
        reply.claim_count = claim_more(core, taker, take, &reply.refusal);
        if (reply.claim_count == 0) {
            lk_core_refuse_unwritten(core, taker->session, taker->tag);
            return;
        }
    }
    lk_core_reply(core, taker->session, taker->tag, &reply);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void name_item(struct lk_command *command, struct lk_slice id) {
    if (command->kind == LK_COMMAND_FINISH) {
        command->finish.id = id;
    } else {
        command->drop.id = id;
    }
}

/* Whether no command is invalid: then nothing is done. Answers the call if not. */
static bool check_all(struct lk_core *core, struct lk_session *session, const struct lk_call *call,
                      struct lk_command *command) {
    struct lk_item_path path;
    lk_outcome outcome = LK_OK;
    lk_error error;

    for (size_t i = 0; i < call->id_count && outcome == LK_OK; i++) {
        name_item(command, call->ids[i]);
        outcome = command->kind == LK_COMMAND_FINISH
                      ? lk_finish_check(&command->finish, &path, &error)
                      : lk_item_path_make(&command->drop.queue, call->ids[i], &path, &error);
    }
    if (outcome != LK_OK) {
        lk_core_refuse(core, session, call->tag, outcome, error.text);
    }
    return outcome == LK_OK;
}

void lk_core_end_items(struct lk_core *core, struct lk_session *session,
                       const struct lk_call *call) {
    struct lk_command command = call->command;
    struct lk_answer answer = {.outcome = LK_OK, .text = ""};
    struct lk_reply reply = {.answer = &answer};

    if (!check_all(core, session, call, &command)) {
        return;
    }
    for (size_t i = 0; i < call->id_count; i++) {
        const struct lk_effects *effects;

        name_item(&command, call->ids[i]);
        effects = lk_core_step(core, &command);
        if (effects == NULL) {
            lk_core_refuse_unwritten(core, session, call->tag);
            return;
        }
        reply.ended += effects->answer.outcome == LK_OK;
        if (effects->answer.outcome != LK_OK && answer.outcome == LK_OK) {
            answer.outcome = effects->answer.outcome;
        }
    }
    if (answer.outcome == LK_LOST) {
        answer.text = command.kind == LK_COMMAND_FINISH
                          ? "an item is not claimed, or by another claim; the others are done"
                          : "an item is claimed, or not there; the others are dropped";
    }
    lk_core_reply(core, session, call->tag, &reply);
}
