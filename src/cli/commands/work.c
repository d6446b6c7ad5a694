/* SPDX-License-Identifier: Apache-2.0 */
/* lk claim, done and retry: one piece of work by hand (R16). */
#include <inttypes.h>

#include "cli/interrupt.h"
#include "cli/parse/ask.h"
#include "cli/parse/caller.h"
#include "cli/print/say.h"
#include "cli/run/status.h"
#include "form/form.h"

/* ---- claim ----------------------------------------------------------------------------------- */

static int say_claim(const struct lk_cli *cli, const lk_claim_info *claim) {
    if (cli->json) {
        struct lk_object object;
        lk_form_write_claim(lk_object_begin(&object), claim);
        return lk_say_object(cli, LK_GRANTED, &object);
    }
    (void)fprintf(cli->out, "%s\t%" PRIu64 "\t", claim->id, claim->token);
    if (claim->value != NULL) {
        (void)fwrite(claim->value, 1, claim->value_size, cli->out);
    }
    (void)fputc('\n', cli->out);
    return 0;
}

/* No work will follow: no caller gets the token. */
static void give_back(lk_store *store, const lk_claim_info *claim) {
    const lk_retry_request retry = {.size = sizeof retry,
                                    .queue = claim->queue,
                                    .id = claim->id,
                                    .owner = claim->owner,
                                    .token = claim->token,
                                    .uncounted = true};

    (void)lk_retry_failed(store, &retry, NULL);
}

int lk_cli_claim(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store) {
    char made_owner[LK_OWNER_TEXT_SIZE];
    struct lk_waiting waiting;
    lk_claim_info *info = NULL;
    lk_work_table table;
    lk_error error;
    int exit_code;

    lk_outcome outcome = lk_ask_table(line, &table, &error);
    if (outcome != LK_OK) {
        return lk_say_failure(cli, outcome, error.text);
    }
    if (!cli->quiet && !cli->json) {
        lk_warn_of_eviction(store, lk_cli_wait_ms(line)); /* while a signal still ends lk */
    }
    int64_t wait_ms = lk_cli_wait_ms(line);
    if (!lk_waiting_begin(cli, line, store, NULL, line->words[0], wait_ms, &waiting)) {
        return lk_outcome_exit_code(LK_INTERNAL);
    }
    lk_claim_request request = {
        .size = sizeof request,
        .queue = line->words[0],
        .owner = lk_ask_claimant(line, made_owner),
        .wait_ms = wait_ms,
        .ttl_ms = lk_command_line_number(line, LK_OPTION_TTL, 0),
        .max_attempts = (uint32_t)lk_command_line_number(line, LK_OPTION_MAX_ATTEMPTS, 0),
        .note = lk_command_line_text(line, LK_OPTION_NOTE),
        .cancel = lk_interrupt_cancel(waiting.interrupt),
        .table = table.name != NULL ? &table : NULL,
    };
    outcome = lk_claim_next(store, &request, &info, &error);
    int signal_number = lk_waiting_end(&waiting);
    if (signal_number != 0) {
        if (outcome == LK_GRANTED) { /* the claim was faster than the signal */
            give_back(store, info);
            lk_claim_free(info);
        }
        (void)lk_say_failure(cli, LK_CANCELLED, "ended by a signal");
        return LK_EXIT_SIGNAL + signal_number;
    }
    exit_code =
        outcome == LK_GRANTED ? say_claim(cli, info) : lk_say_failure(cli, outcome, error.text);
    if (outcome == LK_GRANTED && !lk_waiting_is_printed(cli)) {
        give_back(store, info);
    }
    lk_waiting_close(&waiting);
    lk_claim_free(info);
    return exit_code;
}

/* ---- finish ---------------------------------------------------------------------------------- */

static lk_outcome give_back_later(const struct lk_command_line *line, lk_store *store,
                                  const char *owner, uint64_t token, lk_error *error) {
    const lk_retry_request retry = {
        .size = sizeof retry,
        .queue = line->words[0],
        .id = line->words[1],
        .owner = owner,
        .token = token,
        .delay_ms = lk_ask_delay_ms(line),
        .uncounted = lk_command_line_has(line, LK_OPTION_UNCOUNTED),
    };
    return lk_retry_failed(store, &retry, error);
}

static int finish(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store,
                  bool is_done) {
    char made_owner[LK_OWNER_TEXT_SIZE];
    const char *owner = lk_ask_claimant(line, made_owner);
    uint64_t token = (uint64_t)lk_command_line_number(line, LK_OPTION_TOKEN, 0);
    lk_work_table table;
    lk_error error;
    lk_outcome outcome = lk_ask_table(line, &table, &error);

    if (outcome != LK_OK) {
        return lk_say_failure(cli, outcome, error.text);
    }
    if (table.name != NULL) {
        outcome = lk_done_row(store, line->words[0], &table, line->words[1], owner, token, &error);
    } else if (is_done) {
        outcome = lk_done(store, line->words[0], line->words[1], owner, token, &error);
    } else {
        outcome = give_back_later(line, store, owner, token, &error);
    }
    return outcome == LK_LOST && owner == made_owner ? lk_say_lost_by_caller(
               cli, owner, "--owner or LK_OWNER names another one", error.text)
                                                     : lk_say_done(cli, outcome, &error);
}

int lk_cli_done(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store) {
    return finish(cli, line, store, true);
}

int lk_cli_retry(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store) {
    return finish(cli, line, store, false);
}
