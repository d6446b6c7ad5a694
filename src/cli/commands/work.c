/* SPDX-License-Identifier: Apache-2.0 */
/* lk claim, done and retry: one piece of work by hand (R16). lk report, for CMD of lk work. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/program.h"
#include "base/text.h"
#include "cli/commands/result.h"
#include "cli/interrupt.h"
#include "cli/parse/ask.h"
#include "cli/parse/caller.h"
#include "cli/parse/value.h"
#include "cli/print/say.h"
#include "cli/run/status.h"
#include "cli/work/settle.h"
#include "form/form.h"
#include "form/writer.h"

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
        if (outcome == LK_GRANTED) {              /* the claim was faster than the signal */
            (void)lk_pool_give_back(store, info); /* no caller gets the token */
            lk_claim_free(info);
        }
        (void)lk_say_failure(cli, LK_CANCELLED, "ended by a signal");
        return LK_EXIT_SIGNAL + signal_number;
    }
    exit_code =
        outcome == LK_GRANTED ? say_claim(cli, info) : lk_say_failure(cli, outcome, error.text);
    if (outcome == LK_GRANTED && !lk_waiting_is_printed(cli)) {
        (void)lk_pool_give_back(store, info);
    }
    lk_waiting_close(&waiting);
    lk_claim_free(info);
    return exit_code;
}

/* ---- finish ---------------------------------------------------------------------------------- */

uint64_t lk_cli_claim_token(const struct lk_command_line *line) {
    uint64_t token = (uint64_t)lk_command_line_number(line, LK_OPTION_TOKEN, 0);

    if (token == 0 && !lk_command_line_has(line, LK_OPTION_OWNER)) {
        char *path = lk_text_make("%s/%s", line->words[0], line->words[1]);
        token = path != NULL ? lk_run_lease_token_at(path) : 0;
        free(path);
    }
    return token;
}

static lk_outcome give_back_later(const struct lk_command_line *line, lk_store *store,
                                  const char *owner, uint64_t token, lk_error *error) {
    const char *reason = lk_command_line_text(line, LK_OPTION_REASON);
    const lk_retry_request retry = {
        .size = sizeof retry,
        .queue = line->words[0],
        .id = line->words[1],
        .owner = owner,
        .token = token,
        .delay_ms = lk_ask_delay_ms(line),
        .error = reason,
        .error_size = reason != NULL ? strlen(reason) : 0,
        .uncounted = lk_command_line_has(line, LK_OPTION_UNCOUNTED),
        .parks = lk_command_line_has(line, LK_OPTION_PARK),
    };
    return lk_retry_failed(store, &retry, error);
}

static lk_outcome end_as_done(const struct lk_command_line *line, lk_store *store,
                              const char *owner, uint64_t token, lk_error *error) {
    const char *text = lk_command_line_text(line, LK_OPTION_RESULT);
    struct lk_input result = {NULL, 0};
    lk_outcome outcome = text != NULL ? lk_input_text(text, &result, error) : LK_OK;

    if (outcome == LK_OK) {
        outcome = lk_done_item(store,
                               &(lk_done_request){
                                   .size = sizeof(lk_done_request),
                                   .queue = line->words[0],
                                   .id = line->words[1],
                                   .owner = owner,
                                   .token = token,
                                   .result = result.size > 0 ? result.bytes : NULL,
                                   .result_size = result.size,
                                   .keep_ms = lk_command_line_number(line, LK_OPTION_KEEP, 0),
                               },
                               error);
    }
    free(result.bytes);
    return outcome;
}

static int finish(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store,
                  bool is_done) {
    char made_owner[LK_OWNER_TEXT_SIZE];
    const char *owner = lk_ask_claimant(line, made_owner);
    uint64_t token = lk_cli_claim_token(line);
    lk_work_table table;
    lk_error error;
    lk_outcome outcome = lk_ask_table(line, &table, &error);

    if (outcome == LK_OK && table.name != NULL
        && (lk_command_line_has(line, LK_OPTION_RESULT)
            || lk_command_line_has(line, LK_OPTION_KEEP))) {
        outcome = lk_error_set(&error, LK_INVALID,
                               "a row has no result: --done can write it into the table");
    }
    if (outcome != LK_OK) {
        return lk_say_failure(cli, outcome, error.text);
    }
    if (table.name != NULL) {
        outcome = lk_done_row(store, line->words[0], &table, line->words[1], owner, token, &error);
    } else if (is_done) {
        outcome = end_as_done(line, store, owner, token, &error);
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

/* ---- report ---------------------------------------------------------------------------------- */

/* The descriptor in LK_REPORT. LK_INVALID: this is no CMD of lk work. */
static lk_outcome find_channel(int *ret_channel, lk_error *error) {
    const char *text = getenv("LK_REPORT");
    char *end = NULL;
    long number = text != NULL ? strtol(text, &end, 10) : -1;

    if (number < 0 || number > INT32_MAX || *end != '\0' || fcntl((int)number, F_GETFD) < 0) {
        return lk_error_set(error, LK_INVALID,
                            "report: LK_REPORT names no open descriptor: this is for the command "
                            "of %s work",
                            lk_program());
    }
    *ret_channel = (int)number;
    return LK_OK;
}

static void add_result(struct lk_form_writer *form, const struct lk_command_line *line,
                       struct lk_slice result) {
    if (lk_command_line_has(line, LK_OPTION_RESULT)) {
        lk_form_add_value(form, "result", result.bytes, result.size);
    }
    if (lk_command_line_has(line, LK_OPTION_KEEP)) {
        lk_form_add_number(form, "keep_ms", lk_command_line_number(line, LK_OPTION_KEEP, 0));
    }
}

static void add_word(struct lk_form_writer *form, const struct lk_command_line *line,
                     struct lk_slice result) {
    const char *word = line->words[0];

    if (strcmp(word, "done") == 0) {
        lk_form_add_boolean(form, word, true);
        add_result(form, line, result);
    } else if (strcmp(word, "progress") == 0) {
        const char *text = lk_command_line_text(line, LK_OPTION_NOTE);
        lk_form_add_text(form, word, text != NULL ? text : "");
    } else {
        lk_form_open_map(form, word); /* retry, park */
        if (lk_command_line_has(line, LK_OPTION_DELAY) || lk_command_line_has(line, LK_OPTION_AT)) {
            lk_form_add_number(form, "delay_ms", lk_ask_delay_ms(line));
        }
        lk_form_add_text_if_any(form, "reason", lk_command_line_text(line, LK_OPTION_REASON));
        if (lk_command_line_has(line, LK_OPTION_UNCOUNTED)) {
            lk_form_add_boolean(form, "uncounted", true);
        }
        lk_form_close(form);
    }
}

/* One line for the item. */
static lk_outcome report_item(const struct lk_command_line *line, int channel, const char *id,
                              struct lk_slice result, lk_error *error) {
    struct lk_buffer text = {.max = 0};
    struct lk_form_writer form = lk_form_writer_json(&text);
    size_t written = 0;

    lk_form_open_map(&form, NULL);
    lk_form_add_text(&form, "id", id);
    add_word(&form, line, result);
    lk_form_close(&form);
    lk_buffer_add_text(&text, "\n");
    if (lk_form_writer_failed(&form) || text.failed) {
        lk_buffer_done(&text);
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    while (written < text.size) {
        ssize_t size = write(channel, text.bytes + written, text.size - written);

        if (size < 0 && errno != EINTR) {
            int cause = errno;
            lk_buffer_done(&text);
            return lk_error_set(error, LK_UNAVAILABLE, "report: cannot write to LK_REPORT: %s",
                                strerror(cause));
        }
        written += size > 0 ? (size_t)size : 0;
    }
    lk_buffer_done(&text);
    return LK_OK;
}

static lk_outcome check_report(const struct lk_command_line *line, lk_error *error) {
    static const char *const words[] = {"done", "retry", "park", "progress"};
    bool is_known = false;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        is_known = is_known || strcmp(line->words[0], words[i]) == 0;
    }
    if (!is_known) {
        return lk_error_set(error, LK_INVALID,
                            "report: \"%.40s\" is not done, retry, park or progress",
                            line->words[0]);
    }
    if (strcmp(line->words[0], "park") == 0
        && (lk_command_line_has(line, LK_OPTION_DELAY) || lk_command_line_has(line, LK_OPTION_AT)
            || lk_command_line_has(line, LK_OPTION_UNCOUNTED))) {
        return lk_error_set(error, LK_INVALID, "report: park has no --delay, --at or --uncounted");
    }
    if (line->word_count == 1 && getenv("LK_ITEM_ID") == NULL) {
        return lk_error_set(error, LK_INVALID,
                            "report: which item? LK_ITEM_ID is not set, and no ID is named");
    }
    if (strcmp(line->words[0], "done") != 0
        && (lk_command_line_has(line, LK_OPTION_RESULT)
            || lk_command_line_has(line, LK_OPTION_KEEP))) {
        return lk_error_set(error, LK_INVALID, "report: only done has --result and --keep");
    }
    return LK_OK;
}

int lk_cli_report(const struct lk_cli *cli, const struct lk_command_line *line) {
    const char *text = lk_command_line_text(line, LK_OPTION_RESULT);
    struct lk_input result = {NULL, 0};
    lk_error error;
    int channel = -1;
    lk_outcome outcome = check_report(line, &error);

    (void)signal(SIGPIPE, SIG_IGN); /* told as a failure */
    if (outcome == LK_OK) {
        outcome = find_channel(&channel, &error);
    }
    if (outcome == LK_OK && text != NULL) {
        outcome = lk_input_text(text, &result, &error);
    }
    const struct lk_slice bytes = {result.bytes, result.size};
    if (outcome == LK_OK && line->word_count == 1) {
        outcome = report_item(line, channel, getenv("LK_ITEM_ID"), bytes, &error);
    }
    for (size_t i = 1; i < line->word_count && outcome == LK_OK; i++) {
        outcome = report_item(line, channel, line->words[i], bytes, &error);
    }
    free(result.bytes);
    return lk_say_done(cli, outcome, &error);
}
