/* SPDX-License-Identifier: Apache-2.0 */
/* lk result, and lk push --wait: what came of an item (R16, "Results"). lk progress. */
#include "cli/commands/result.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/program.h"
#include "cli/parse/ask.h"
#include "cli/parse/caller.h"
#include "cli/parse/value.h"
#include "cli/print/say.h"
#include "cli/run/status.h"
#include "form/form.h"
#include "model/exit_codes.h"
#include "model/utf8.h"

/* The result as it is; text that does not end with a line end gets one, as lk get has it. */
static void write_result(FILE *out, const lk_item_info *item) {
    const char *bytes = item->value;
    size_t size = item->value_size;

    if (size > 0) {
        (void)fwrite(bytes, 1, size, out);
    }
    if (size > 0 && bytes[size - 1] != '\n' && lk_utf8_is_valid(bytes, size)) {
        (void)fputc('\n', out);
    }
}

static void say_parked(const struct lk_cli *cli, const char *queue, const lk_item_info *item) {
    char code[32] = "";

    if (item->has_last_exit) {
        (void)snprintf(code, sizeof code, ": exit %" PRId32, item->last_exit);
    }
    (void)fprintf(cli->err, "%s: %s/%s was parked (attempt %" PRIu32 ")%s%s%s\n", lk_program(),
                  queue, item->id, item->attempts, code, item->last_error != NULL ? ": " : "",
                  item->last_error != NULL ? item->last_error : "");
}

/* Of an item that is done or parked. */
static int say_ended(const struct lk_cli *cli, const char *queue, const lk_item_info *item) {
    bool is_done = strcmp(item->state, "done") == 0;

    if (cli->json) {
        struct lk_object object;
        lk_form_write_item(lk_object_begin(&object), queue, item);
        int exit_code = lk_say_object(cli, LK_OK, &object);
        return exit_code != 0 || is_done ? exit_code : LK_EXIT_NONE;
    }
    if (is_done) {
        write_result(cli->out, item);
        return 0;
    }
    say_parked(cli, queue, item);
    return LK_EXIT_NONE;
}

/* What is known of an item that has not ended: its state, and how far the work is. */
static lk_outcome tell_state(lk_store *store, const char *queue, const char *id, lk_error *error) {
    lk_item_list *list = NULL;
    lk_error why;

    if (lk_item_get(store, queue, id, &list, &why) == LK_OK) {
        const lk_item_info *item = &list->items[0];
        (void)lk_error_set(error, LK_TIMEOUT, "%s/%.255s is not done: it is %s%s%.200s%s", queue,
                           id, item->state, item->progress != NULL ? " (" : "",
                           item->progress != NULL ? item->progress : "",
                           item->progress != NULL ? ")" : "");
    }
    lk_item_list_free(list);
    return LK_TIMEOUT;
}

int lk_cli_await_result(const struct lk_cli *cli, lk_store *store, const char *queue,
                        const char *id, int64_t wait_ms) {
    lk_item_list *list = NULL;
    lk_error error;
    lk_outcome outcome = lk_item_wait(store, queue, id, wait_ms, NULL, &list, &error);
    int exit_code;

    if (outcome == LK_TIMEOUT) {
        outcome = tell_state(store, queue, id, &error);
    } else if (outcome == LK_NONE) {
        (void)lk_error_set(&error, LK_NONE,
                           "there is no item %s/%.255s: its result is not kept (any more), or it "
                           "was dropped or cancelled, or never pushed",
                           queue, id);
    }
    exit_code = outcome == LK_OK ? say_ended(cli, queue, &list->items[0])
                                 : lk_say_failure(cli, outcome, error.text);
    lk_item_list_free(list);
    return exit_code;
}

int lk_cli_result(const struct lk_cli *cli, const struct lk_command_line *line) {
    char *queue;
    lk_store *store;
    int exit_code;

    if (lk_cli_open_at_path(cli, line, &queue, &store, &exit_code) != LK_OK) {
        return exit_code;
    }
    exit_code = lk_cli_await_result(cli, store, queue, line->words[1],
                                    lk_command_line_number(line, LK_OPTION_WAIT, 0));
    lk_close(store);
    free(queue);
    return exit_code;
}

int lk_cli_progress(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store) {
    char made_owner[LK_OWNER_TEXT_SIZE];
    const char *owner = lk_ask_claimant(line, made_owner);
    struct lk_input text = {NULL, 0};
    lk_error error;
    lk_outcome outcome = lk_input_text(line->words[2], &text, &error);

    if (outcome == LK_OK) {
        outcome = lk_progress(store, line->words[0], line->words[1], owner,
                              lk_cli_claim_token(line), text.bytes, text.size, &error);
    }
    free(text.bytes);
    return outcome == LK_LOST && owner == made_owner ? lk_say_lost_by_caller(
               cli, owner, "--owner or LK_OWNER names another one", error.text)
                                                     : lk_say_done(cli, outcome, &error);
}
