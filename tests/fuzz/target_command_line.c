/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines: arguments, separated by zero bytes. Whatever they are, the parser ends in one of
 * its outcomes, points nowhere but into argv, and keeps the tables' promises; a line that it
 * accepts, written out in one fixed form, is read as the same line.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/parse/command_line.h"
#include "target.h"

#define NOW_MS INT64_C(1700000000123)

enum { ARGUMENTS_MAX = 64, WRITTEN_MAX = 2 * FUZZ_INPUT_MAX };

struct arguments {
    int count;
    char *at[ARGUMENTS_MAX + LK_OPTION_COUNT + 2]; /* ended by NULL */
};

static void split(char *text, size_t size, struct arguments *ret_arguments) {
    size_t start = 0;

    ret_arguments->at[0] = (char *)"lk";
    ret_arguments->count = 1;
    while (start < size && ret_arguments->count < ARGUMENTS_MAX) {
        ret_arguments->at[ret_arguments->count++] = text + start;
        start += strlen(text + start) + 1;
    }
    ret_arguments->at[ret_arguments->count] = NULL;
}

static bool is_help(const struct lk_command_line *line) {
    return lk_command_line_has(line, LK_OPTION_HELP)
           || lk_command_line_has(line, LK_OPTION_VERSION);
}

static bool is_argument(const struct arguments *arguments, const char *word) {
    for (int i = 0; i < arguments->count; i++) {
        if (arguments->at[i] == word) {
            return true;
        }
    }
    return false;
}

static void check_value(const struct lk_option *option, const struct lk_option_value *value) {
    FUZZ_DEMAND((option->kind == LK_KIND_FLAG) == (value->text == NULL));
    if (option->kind == LK_KIND_NUMBER || option->kind == LK_KIND_DURATION) {
        FUZZ_DEMAND(value->number >= option->min && value->number <= option->max);
    } else if (option->kind == LK_KIND_TIME) {
        FUZZ_DEMAND(value->number > NOW_MS);
    } else if (option->kind == LK_KIND_CHOICE) {
        FUZZ_DEMAND(strcmp(option->choices[value->number], value->text) == 0);
    }
}

static void check_accepted(const struct arguments *arguments, const struct lk_command_line *line) {
    const struct lk_cli_command *command = line->command;

    FUZZ_DEMAND(command != NULL && (line->given & ~command->options) == 0);
    FUZZ_DEMAND(line->word_count >= (size_t)command->words.min);
    FUZZ_DEMAND(line->word_count <= (size_t)command->words.max);
    FUZZ_DEMAND(command->has_tail == (line->tail != NULL));
    FUZZ_DEMAND(line->tail == NULL || is_argument(arguments, line->tail[0]));
    for (size_t i = 0; i < line->word_count; i++) {
        FUZZ_DEMAND(is_argument(arguments, line->words[i]));
    }
    for (int id = 0; id < LK_OPTION_COUNT; id++) {
        if (lk_command_line_has(line, (enum lk_option_id)id)) {
            check_value(lk_option_at((enum lk_option_id)id), &line->values[id]);
        }
    }
}

/* ---- the same line in a fixed form ----------------------------------------------------------- */

struct written {
    struct arguments arguments;
    char bytes[WRITTEN_MAX];
    size_t size;
};

static void write_option(struct written *written, const struct lk_option *option,
                         const char *value) {
    char *at = written->bytes + written->size;
    int size = snprintf(at, sizeof written->bytes - written->size, "--%s%s%s", option->name,
                        value != NULL ? "=" : "", value != NULL ? value : "");

    FUZZ_DEMAND(size > 0 && (size_t)size < sizeof written->bytes - written->size);
    written->arguments.at[written->arguments.count++] = at;
    written->size += (size_t)size + 1;
}

static void write_line(const struct lk_command_line *line, struct written *written) {
    struct arguments *arguments = &written->arguments;

    written->size = 0;
    arguments->at[0] = (char *)"lk";
    arguments->count = 1;
    for (int id = LK_OPTION_COUNT - 1; id >= 0; id--) {
        if (lk_command_line_has(line, (enum lk_option_id)id)) {
            write_option(written, lk_option_at((enum lk_option_id)id), line->values[id].text);
        }
    }
    if (line->tail == NULL) {
        arguments->at[arguments->count++] = (char *)"--"; /* words may begin with a dash */
    }
    arguments->at[arguments->count++] = (char *)line->command->name;
    for (size_t i = 0; i < line->word_count; i++) {
        arguments->at[arguments->count++] = line->words[i];
    }
    if (line->tail != NULL) {
        arguments->at[arguments->count++] = (char *)"--";
        for (char *const *word = line->tail; *word != NULL; word++) {
            arguments->at[arguments->count++] = *word;
        }
    }
    arguments->at[arguments->count] = NULL;
}

static void check_same(const struct lk_command_line *a, const struct lk_command_line *b) {
    FUZZ_DEMAND(a->command == b->command && a->given == b->given);
    FUZZ_DEMAND(a->word_count == b->word_count);
    for (size_t i = 0; i < a->word_count; i++) {
        FUZZ_DEMAND(strcmp(a->words[i], b->words[i]) == 0);
    }
    FUZZ_DEMAND((a->tail == NULL) == (b->tail == NULL));
    for (size_t i = 0; a->tail != NULL && (a->tail[i] != NULL || b->tail[i] != NULL); i++) {
        FUZZ_DEMAND(a->tail[i] != NULL && b->tail[i] != NULL);
        FUZZ_DEMAND(strcmp(a->tail[i], b->tail[i]) == 0);
    }
    for (int id = 0; id < LK_OPTION_COUNT; id++) {
        FUZZ_DEMAND(a->values[id].number == b->values[id].number);
        FUZZ_DEMAND((a->values[id].text == NULL) == (b->values[id].text == NULL));
        FUZZ_DEMAND(a->values[id].text == NULL
                    || strcmp(a->values[id].text, b->values[id].text) == 0);
    }
}

static void read_again(const struct lk_command_line *line) {
    static struct written written;
    struct lk_command_line again;

    write_line(line, &written);
    FUZZ_DEMAND(
        lk_command_line_parse(written.arguments.count, written.arguments.at, NOW_MS, &again, NULL)
        == LK_OK);
    check_same(line, &again);
    lk_command_line_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char text[FUZZ_INPUT_MAX + 1];
    struct arguments arguments;
    struct lk_command_line line;
    lk_error error = {.text = ""};
    lk_outcome outcome;

    if (size > FUZZ_INPUT_MAX) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    split(text, size, &arguments);
    outcome = lk_command_line_parse(arguments.count, arguments.at, NOW_MS, &line, &error);
    FUZZ_DEMAND(outcome == LK_OK || outcome == LK_INVALID);
    if (outcome == LK_INVALID) {
        FUZZ_DEMAND(error.outcome == LK_INVALID && error.text[0] != '\0');
    } else if (!is_help(&line)) {
        check_accepted(&arguments, &line);
        read_again(&line);
    }
    lk_command_line_done(&line);
    return 0;
}
