/* SPDX-License-Identifier: Apache-2.0 */
/* lk acquire, renew, release: one lease by hand. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/interrupt.h"
#include "cli/parse/ask.h"
#include "cli/parse/input.h"
#include "cli/parse/owner.h"
#include "cli/print/say.h"

/* What the three have in common: an open store and a checked request with its owner. */
struct lease_call {
    lk_store *store;
    lk_request request;
    char made_owner[LK_OWNER_TEXT_SIZE];
};

/* LK_OK; else the failure is printed, *ret_exit_code is set and nothing needs closing. */
static lk_outcome open_call(const struct lk_cli *cli, const struct lk_command_line *line,
                            struct lease_call *call, int *ret_exit_code) {
    lk_error error;

    if (lk_ask_check_parts(line, &error) != LK_OK) {
        *ret_exit_code = lk_say_failure(cli, LK_INVALID, error.text);
        return LK_INVALID;
    }
    call->request = lk_ask_from_line(line);
    call->request.outlives = true; /* this process ends with the call */
    call->request.owner = lk_ask_owner(line, call->made_owner);
    return lk_cli_open(cli, line, &call->store, ret_exit_code);
}

/* Prints the outcome. `result` is NULL only when memory is exhausted. */
static int say_answer(const struct lk_cli *cli, const struct lease_call *call, lk_result *result,
                      const lk_error *error) {
    if (result == NULL) {
        return lk_say_failure(cli, error->outcome, error->text);
    }
    if (!cli->json && result->outcome == LK_LOST && call->request.owner == call->made_owner) {
        return lk_say_lost_by_shell(cli, call->request.owner, result->error);
    }
    return lk_say_result(cli, result);
}

/* Ends the call after a signal. If the grant was faster, this call's request is withdrawn. */
static int end_by_signal(const struct lk_cli *cli, const struct lease_call *call,
                         const lk_result *result, int signal_number) {
    if (result != NULL && result->outcome == LK_GRANTED && result->created) {
        lk_request request = call->request;
        request.cancel = NULL;
        (void)lk_release(call->store, &request, result->token, NULL, NULL);
    }
    (void)lk_say_failure(cli, LK_CANCELLED, "ended by a signal");
    return LK_EXIT_SIGNAL + signal_number;
}

/*
 * Every command that one program starts has the same owner, unless it names one. So two of its
 * threads that request one lock are granted one lease (R3), and do not exclude each other.
 */
static void say_shared(const struct lk_cli *cli, const struct lease_call *call,
                       const lk_result *result) {
    if (!result->created && call->request.owner == call->made_owner && !cli->quiet) {
        (void)fprintf(cli->err,
                      "lk: %s was held or asked for already by the program that started this: it "
                      "is the same lease. What has to exclude it names an --owner of its own\n",
                      result->path_count > 0 ? result->paths[0] : "this");
    }
}

/* The second line of --value: empty if there is no value. */
static void write_value(const struct lk_cli *cli, const lk_result *result) {
    if (result->value != NULL) {
        (void)fwrite(result->value, 1, result->value_size, cli->out);
    }
    (void)fputc('\n', cli->out);
    if (result->in_doubt && !cli->quiet) {
        (void)fputs("lk: in doubt: a holder died before it put this value\n", cli->err);
    }
}

static int ask(const struct lk_cli *cli, struct lease_call *call) {
    lk_result *result = NULL;
    lk_error error;
    struct lk_interrupt *interrupt = lk_interrupt_open();
    int exit_code;

    if (interrupt == NULL) {
        return lk_say_failure(cli, LK_INTERNAL, "the system has no room for one more thread");
    }
    call->request.cancel = lk_interrupt_cancel(interrupt);
    (void)lk_ask(call->store, &call->request, &result, &error);
    int signal_number = lk_interrupt_close(interrupt);
    if (signal_number != 0) {
        exit_code = end_by_signal(cli, call, result, signal_number);
    } else {
        exit_code = say_answer(cli, call, result, &error);
        if (!cli->json && result != NULL && result->outcome == LK_GRANTED) {
            lk_say_requeued(cli, result);
            say_shared(cli, call, result);
            (void)fprintf(cli->out, "%" PRIu64 "\n", result->token);
            if (call->request.value) {
                write_value(cli, result);
            }
        }
    }
    lk_result_free(result);
    return exit_code;
}

int lk_cli_acquire(const struct lk_cli *cli, const struct lk_command_line *line) {
    struct lease_call call;
    int exit_code;

    if (open_call(cli, line, &call, &exit_code) == LK_OK) {
        exit_code = ask(cli, &call);
        lk_close(call.store);
    }
    return exit_code;
}

/* A renewal; or a release, which writes `put` if that has bytes. */
static int change(const struct lk_cli *cli, const struct lk_command_line *line, bool renews,
                  const struct lk_input *put) {
    uint64_t token = (uint64_t)lk_command_line_number(line, LK_OPTION_TOKEN, 0);
    struct lease_call call;
    lk_result *result = NULL;
    lk_error error;
    int exit_code;

    if (open_call(cli, line, &call, &exit_code) != LK_OK) {
        return exit_code;
    }
    if (renews) {
        (void)lk_renew(call.store, &call.request, token, &result, &error);
    } else if (put->bytes == NULL) {
        (void)lk_release(call.store, &call.request, token, &result, &error);
    } else {
        (void)lk_release_put(call.store, &call.request, token, put->bytes, put->size, &result,
                             &error);
    }
    exit_code = say_answer(cli, &call, result, &error);
    lk_result_free(result);
    lk_close(call.store);
    return exit_code;
}

int lk_cli_renew(const struct lk_cli *cli, const struct lk_command_line *line) {
    return change(cli, line, true, NULL);
}

/* The value of --put or --put-file, if one of them is given. */
static lk_outcome read_put(const struct lk_command_line *line, struct lk_input *ret_input,
                           lk_error *error) {
    const char *text = lk_command_line_text(line, LK_OPTION_PUT);
    const char *file = lk_command_line_text(line, LK_OPTION_PUT_FILE);

    if (text != NULL) {
        return lk_input_word(text, ret_input, error);
    }
    return file != NULL ? lk_input_file(file, ret_input, error) : LK_OK;
}

int lk_cli_release(const struct lk_cli *cli, const struct lk_command_line *line) {
    struct lk_input input = {NULL, 0};
    lk_error error;
    int exit_code;

    if (read_put(line, &input, &error) != LK_OK) {
        return lk_say_failure(cli, error.outcome, error.text);
    }
    exit_code = change(cli, line, false, &input);
    free(input.bytes);
    return exit_code;
}
