/* SPDX-License-Identifier: Apache-2.0 */
/* lk acquire, renew, release: one lease by hand. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/program.h"
#include "cli/commands/lease_call.h"
#include "cli/interrupt.h"
#include "cli/parse/value.h"
#include "cli/print/say.h"
#include "model/part.h"

/* LK_OK; else the failure is printed, *ret_exit_code is set and nothing needs closing. */
static lk_outcome open_call(const struct lk_cli *cli, const struct lk_command_line *line,
                            struct lk_lease_call *call, int *ret_exit_code) {
    lk_outcome outcome = lk_lease_call_init(cli, line, call, ret_exit_code);

    call->request.outlives = true; /* this process ends with the call */
    return outcome == LK_OK ? lk_cli_open(cli, line, &call->store, ret_exit_code) : outcome;
}

/* Ends what this call has been granted: no caller gets its token. */
static void give_back(const struct lk_lease_call *call, const lk_result *result) {
    if (result != NULL && result->outcome == LK_GRANTED && result->created) {
        lk_request request = call->request;
        request.cancel = NULL;
        (void)lk_release(call->store, &request, result->token, NULL, NULL);
    }
}

static int ask(const struct lk_cli *cli, const struct lk_command_line *line,
               struct lk_lease_call *call) {
    int64_t wait_ms = lk_lease_call_bound_wait(call);
    struct lk_waiting waiting;
    lk_result *result = NULL;
    lk_error error;
    int exit_code;

    if (!lk_waiting_begin(cli, line, call->store, &call->request, NULL, wait_ms, &waiting)) {
        return lk_outcome_exit_code(LK_INTERNAL);
    }
    call->request.cancel = lk_interrupt_cancel(waiting.interrupt);
    (void)lk_ask(call->store, &call->request, &result, &error);
    int signal_number = lk_waiting_end(&waiting);
    if (signal_number != 0) { /* the grant may have been faster */
        give_back(call, result);
        (void)lk_say_failure(cli, LK_CANCELLED, "ended by a signal");
        exit_code = LK_EXIT_SIGNAL + signal_number;
    } else {
        exit_code = lk_lease_call_say_asked(cli, call, result, &error);
        if (!lk_waiting_is_printed(cli)) {
            give_back(call, result);
        }
        lk_waiting_close(&waiting);
    }
    lk_result_free(result);
    return exit_code;
}

int lk_cli_acquire(const struct lk_cli *cli, const struct lk_command_line *line) {
    struct lk_lease_call call;
    int exit_code;

    if (open_call(cli, line, &call, &exit_code) == LK_OK) {
        lk_error error;
        exit_code = lk_lease_call_is_of_run(line) && lk_lease_call_join_run(&call, &error) != LK_OK
                        ? lk_say_failure(cli, error.outcome, error.text)
                        : ask(cli, line, &call);
        lk_lease_call_leave_run(&call);
        lk_cli_close(call.store);
    }
    return exit_code;
}

/* R15: the values to write, in the order of the parts. */
struct values {
    struct lk_input inputs[LK_PARTS_MAX];
    size_t count;
};

/* A renewal; or a release, which writes the values. */
static lk_outcome change_once(const struct lk_lease_call *call, uint64_t token, bool renews,
                              const struct values *values, lk_result **ret_result,
                              lk_error *error) {
    lk_part_put puts[LK_PARTS_MAX];

    if (renews) {
        return lk_renew(call->store, &call->request, token, ret_result, error);
    }
    if (values->count == 0) {
        return lk_release(call->store, &call->request, token, ret_result, error);
    }
    for (size_t i = 0; i < values->count; i++) {
        puts[i] = (lk_part_put){.path = call->request.parts[i],
                                .value = values->inputs[i].bytes,
                                .value_size = values->inputs[i].size};
    }
    return lk_release_put_all(call->store, &call->request, token, puts, values->count, ret_result,
                              error);
}

/*
 * Without --owner the token is enough (R12): if this shell has no such lease, it is that of any
 * owner. This shell's own comes first, so that a repeated release is answered as before (R3).
 */
static int change(const struct lk_cli *cli, const struct lk_command_line *line, bool renews,
                  const struct values *values) {
    uint64_t token = (uint64_t)lk_command_line_number(line, LK_OPTION_TOKEN, 0);
    bool is_by_token = token != 0 && !lk_command_line_has(line, LK_OPTION_OWNER);
    struct lk_lease_call call;
    lk_result *result = NULL;
    lk_error error;
    int exit_code;

    if (open_call(cli, line, &call, &exit_code) != LK_OK) {
        return exit_code;
    }
    if (change_once(&call, token, renews, values, &result, &error) == LK_LOST && is_by_token) {
        lk_result_free(result);
        call.request.owner = NULL;
        (void)change_once(&call, token, renews, values, &result, &error);
    }
    exit_code = lk_lease_call_say(cli, &call, result, &error);
    lk_result_free(result);
    lk_close(call.store);
    return exit_code;
}

int lk_cli_renew(const struct lk_cli *cli, const struct lk_command_line *line) {
    return change(cli, line, true, NULL);
}

/* Adds what one --put or --put-file names. */
static lk_outcome read_value(const struct lk_command_line *line, size_t at, struct values *values,
                             bool *is_stdin_read, lk_error *error) {
    bool is_file = line->listed_ids[at] == LK_OPTION_PUT_FILE;
    const char *text = line->listed[at];
    bool is_stdin = is_file && strcmp(text, "-") == 0;
    struct lk_input *input = &values->inputs[values->count];
    lk_outcome outcome;

    if (values->count == LK_PARTS_MAX || values->count == line->word_count) {
        return lk_error_set(error, LK_INVALID,
                            "R15: more values than PARTs: give at most one --put or --put-file for "
                            "each PART, in their order");
    }
    if (is_stdin && *is_stdin_read) {
        return lk_error_set(error, LK_INVALID, "--put-file: stdin can only be one of the values");
    }
    outcome = is_file ? lk_input_file(text, input, error) : lk_input_word(text, input, error);
    *is_stdin_read = *is_stdin_read || is_stdin;
    values->count += outcome == LK_OK;
    return outcome;
}

/* The values of --put or --put-file: the n-th is that of the n-th part. */
static lk_outcome read_values(const struct lk_command_line *line, struct values *values,
                              lk_error *error) {
    bool is_stdin_read = false;
    lk_outcome outcome = LK_OK;

    for (size_t i = 0; i < line->listed_count && outcome == LK_OK; i++) {
        if (line->listed_ids[i] == LK_OPTION_PUT || line->listed_ids[i] == LK_OPTION_PUT_FILE) {
            outcome = read_value(line, i, values, &is_stdin_read, error);
        }
    }
    return outcome;
}

/* A script that takes and releases what it needs may run under a lease of just that. */
static int say_kept(const struct lk_cli *cli, const struct lk_command_line *line) {
    if (!cli->json && !cli->quiet) {
        (void)fprintf(cli->err,
                      "%s: %s stays held: it is the lease of the %s run around this, which "
                      "releases it (--owner \"$LK_OWNER\" ends it now)\n",
                      lk_program(), line->words[0], lk_program());
    }
    return lk_say_done(cli, LK_OK, NULL);
}

int lk_cli_release(const struct lk_cli *cli, const struct lk_command_line *line) {
    struct values values = {.count = 0};
    lk_error error;
    int exit_code;

    if (read_values(line, &values, &error) != LK_OK) {
        exit_code = lk_say_failure(cli, error.outcome, error.text);
    } else if (values.count == 0 && lk_lease_call_is_of_run(line)) {
        exit_code = say_kept(cli, line);
    } else {
        exit_code = change(cli, line, false, &values);
    }
    for (size_t i = 0; i < values.count; i++) {
        free(values.inputs[i].bytes);
    }
    return exit_code;
}
