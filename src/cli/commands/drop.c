/* SPDX-License-Identifier: Apache-2.0 */
/* lk drop and lk unpark: items that are not claimed are removed, or made ready again (R16). */
#include <inttypes.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/print/say.h"
#include "form/form.h"

/* How many items a call was about; a refusal has no count. */
static int say_count(const struct lk_cli *cli, const char *what, uint64_t count) {
    if (cli->json) {
        struct lk_object object;
        struct lk_form_writer *writer = lk_object_begin(&object);
        lk_form_open_answer(writer, LK_OK);
        lk_form_add_count(writer, what, count);
        lk_form_close(writer);
        return lk_say_object(cli, LK_OK, &object);
    }
    if (!cli->quiet) {
        (void)fprintf(cli->out, "%s %" PRIu64 "\n", what, count);
    }
    return 0;
}

/* An argument behind QUEUE, or the option in place of it, but not both. */
static lk_outcome check_words(const struct lk_command_line *line, enum lk_option_id id,
                              lk_error *error) {
    bool has_option = lk_command_line_has(line, id);
    bool has_word = line->word_count > 1;

    return has_option != has_word
               ? LK_OK
               : lk_error_set(error, LK_INVALID, "%s needs either an ID or --%s; see: lk help %s",
                              line->command->name, lk_option_at(id)->name, line->command->name);
}

/* Many at a time; LOST if any was, after all others are dropped. */
static lk_outcome drop_words(const struct lk_command_line *line, lk_store *store,
                             uint64_t *ret_dropped, lk_error *error) {
    const char *const *ids = (const char *const *)line->words + 1;
    size_t left = line->word_count - 1;
    lk_outcome result = LK_OK;

    while (left > 0) {
        size_t count = left < LK_MANY_MAX ? left : LK_MANY_MAX;
        uint64_t dropped = 0;
        lk_error own;
        lk_outcome outcome = lk_drop(store, line->words[0], ids, count, &dropped, &own);

        *ret_dropped += dropped;
        if (outcome != LK_OK) {
            result = lk_error_copy(error, &own);
        }
        if (outcome != LK_OK && outcome != LK_LOST) {
            break;
        }
        ids += count;
        left -= count;
    }
    return result;
}

int lk_cli_drop(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store) {
    uint64_t dropped = 0;
    lk_error error;
    lk_outcome outcome = check_words(line, LK_OPTION_PARKED, &error);

    if (outcome == LK_OK) {
        outcome = line->word_count > 1 ? drop_words(line, store, &dropped, &error)
                                       : lk_drop_parked(store, line->words[0], &dropped, &error);
    }
    return outcome == LK_OK ? say_count(cli, "dropped", dropped)
                            : lk_say_failure(cli, outcome, error.text);
}

int lk_cli_unpark(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store) {
    uint64_t unparked = 0;
    lk_error error;
    lk_outcome outcome = check_words(line, LK_OPTION_ALL, &error);

    if (outcome == LK_OK && line->word_count > 1) {
        outcome = lk_unpark(store, line->words[0], line->words[1], &error);
        return lk_say_done(cli, outcome, &error);
    }
    if (outcome == LK_OK) {
        outcome = lk_unpark_all(store, line->words[0], &unparked, &error);
    }
    return outcome == LK_OK ? say_count(cli, "unparked", unparked)
                            : lk_say_failure(cli, outcome, error.text);
}
