/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes. The first reads the arguments one by one and collects words and option values. It
 * continues after a mistake, so that a --json behind it is still seen; the first mistake is the one
 * reported. The second has the command and checks the words and options against it.
 */
#include "cli/parse/command_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/program.h"
#include "base/text.h"
#include "cli/parse/option.h"
#include "cli/parse/value.h"

/* ---- the commands ---------------------------------------------------------------------------- */

/* By their names and by words that are like them, and what help says of one. */

const struct lk_cli_command *lk_cli_command_at(size_t index) {
    static const struct lk_cli_command *const parts[] = {lk_cli_lock_commands, lk_cli_work_commands,
                                                         lk_cli_store_commands};

    for (size_t part = 0; part < sizeof parts / sizeof parts[0]; part++) {
        for (const struct lk_cli_command *command = parts[part]; command->name != NULL; command++) {
            if (index-- == 0) {
                return command;
            }
        }
    }
    return NULL;
}

const struct lk_cli_command *lk_cli_command_by_name(const char *name) {
    for (size_t i = 0; lk_cli_command_at(i) != NULL; i++) {
        const struct lk_cli_command *command = lk_cli_command_at(i);
        if (strcmp(command->name, name) == 0) {
            return command;
        }
    }
    return NULL;
}

/* The command that is meant by another program's word, or by one that is mistyped; NULL: none. */
static const struct lk_cli_command *command_like(const char *name) {
    const struct lk_cli_command *best = NULL;
    size_t best_distance = LK_LIKENESS_NONE;
    const char *own = lk_other_command(name, strlen(name));

    if (own != NULL) {
        return lk_cli_command_by_name(own);
    }
    for (size_t i = 0; lk_cli_command_at(i) != NULL; i++) {
        const struct lk_cli_command *command = lk_cli_command_at(i);
        size_t distance = lk_likeness(name, strlen(name), command->name);
        if (distance < best_distance) {
            best = command;
            best_distance = distance;
        }
    }
    return best;
}

lk_outcome lk_cli_command_unknown(const char *name, lk_error *error) {
    const struct lk_cli_command *like = command_like(name);

    return lk_error_set(error, LK_INVALID, "unknown command \"%s\"%s%s%s", name,
                        like != NULL ? "; did you mean \"" : "; see: ",
                        like != NULL ? like->name : lk_program(), like != NULL ? "\"?" : " help");
}

bool lk_cli_command_lists(const struct lk_cli_command *command, enum lk_option_id id) {
    return (command->options & ~command->idle & LK_OPTION_BIT(id)) != 0;
}

const char *lk_cli_command_option_help(const struct lk_cli_command *command, enum lk_option_id id) {
    for (const struct lk_own_help *own = command->own_help; own->help != NULL; own++) {
        if (own->option == id) {
            return own->help;
        }
    }
    return lk_option_at(id)->help;
}

const char *lk_cli_command_outcome_text(const struct lk_cli_command *command, lk_outcome outcome) {
    return outcome == LK_BUSY && command->busy_text != NULL ? command->busy_text
                                                            : lk_outcome_text(outcome);
}

/* ---- a command line -------------------------------------------------------------------------- */

/* The state of the first pass. */
struct reader {
    int argc;
    char *const *argv;
    int at; /* the next argument */
    int64_t now_unix_ms;
    struct lk_command_line *line;
    lk_error *error;
    bool failed; /* *error has the first mistake already */
};

/* The place for the next mistake: the caller's error for the first, none for the others. */
static lk_error *mistake(struct reader *reader) {
    lk_error *error = reader->failed ? NULL : reader->error;
    reader->failed = true;
    return error;
}

/* Records an option. `as_given` is how the user wrote it, for messages. */
static void take_option(struct reader *reader, enum lk_option_id id, const char *as_given,
                        const char *text) {
    struct lk_option_value value = {.text = text};
    lk_error why;

    reader->line->given |= LK_OPTION_BIT(id);
    if (text != NULL
        && lk_option_value_parse(id, text, reader->now_unix_ms, &value.number, &why) != LK_OK) {
        lk_error_set(mistake(reader), LK_INVALID, "%s: %s", as_given, why.text);
        return;
    }
    reader->line->values[id] = value;
    if (lk_option_at(id)->kind == LK_KIND_LIST) {
        reader->line->listed_ids[reader->line->listed_count] = id;
        reader->line->listed[reader->line->listed_count++] = (char *)text;
    }
}

/* The value of an option that needs one: `attached` to it, or the next argument. */
static void take_option_with_value(struct reader *reader, enum lk_option_id id,
                                   const char *as_given, const char *attached) {
    if (attached != NULL) {
        take_option(reader, id, as_given, attached);
    } else if (reader->at < reader->argc) {
        take_option(reader, id, as_given, reader->argv[reader->at++]);
    } else {
        reader->line->given |= LK_OPTION_BIT(id);
        lk_error_set(mistake(reader), LK_INVALID, "%s needs a value: %s", as_given,
                     lk_option_at(id)->value);
    }
}

/* The options of the command, if it stands before the option; no others have names in common. */
static lk_option_set options_so_far(const struct lk_command_line *line) {
    const struct lk_cli_command *command =
        line->word_count > 0 ? lk_cli_command_by_name(line->words[0]) : NULL;

    return command != NULL ? command->options : 0;
}

/* `--name`, `--name value` or `--name=value`. */
static void read_long_option(struct reader *reader, const char *argument) {
    const char *name = argument + 2;
    size_t size = strcspn(name, "=");
    const char *attached = name[size] == '=' ? name + size + 1 : NULL;
    enum lk_option_id id = lk_option_by_name(name, size, options_so_far(reader->line));
    char as_given[64];

    if (id == LK_OPTION_COUNT) {
        enum lk_option_id like = lk_option_like(name, size);
        lk_error_set(mistake(reader), LK_INVALID, "unknown option --%.*s%s%s%s", (int)size, name,
                     like != LK_OPTION_COUNT ? "; did you mean --" : "",
                     like != LK_OPTION_COUNT ? lk_option_at(like)->name : "",
                     like != LK_OPTION_COUNT ? "?" : "");
        return;
    }
    (void)snprintf(as_given, sizeof as_given, "--%s", lk_option_at(id)->name);
    if (lk_option_at(id)->kind != LK_KIND_FLAG) {
        take_option_with_value(reader, id, as_given, attached);
    } else if (attached != NULL) {
        lk_error_set(mistake(reader), LK_INVALID, "%s takes no value, not \"%s\"", as_given,
                     attached);
    } else {
        take_option(reader, id, as_given, NULL);
    }
}

/* `-n`, `-nq`, `-w 5`, `-w5`. */
static void read_letters(struct reader *reader, const char *argument) {
    for (const char *letter = argument + 1; *letter != '\0'; letter++) {
        enum lk_option_id id = lk_option_by_letter(*letter);
        const char as_given[] = {'-', *letter, '\0'};

        if (id == LK_OPTION_COUNT) {
            lk_error_set(mistake(reader), LK_INVALID, "unknown option -%s", letter);
            return;
        }
        if (lk_option_at(id)->kind != LK_KIND_FLAG) {
            take_option_with_value(reader, id, as_given, letter[1] != '\0' ? letter + 1 : NULL);
            return;
        }
        take_option(reader, id, as_given, NULL);
    }
}

/* Reads up to `--` or the end. */
static void read_arguments(struct reader *reader) {
    struct lk_command_line *line = reader->line;

    while (reader->at < reader->argc) {
        char *argument = reader->argv[reader->at++];
        if (strcmp(argument, "--") == 0) {
            line->tail = &reader->argv[reader->at];
            return;
        }
        if (strncmp(argument, "--", 2) == 0) {
            read_long_option(reader, argument);
        } else if (argument[0] == '-' && argument[1] != '\0') {
            read_letters(reader, argument);
        } else {
            line->words[line->word_count++] = argument;
        }
    }
}

/* Takes the first word as the command. Arguments behind `--` are words unless it takes a tail. */
static void take_command(struct reader *reader) {
    struct lk_command_line *line = reader->line;
    const char *name = line->word_count > 0 ? line->words[0] : NULL;

    if (name == NULL && line->tail != NULL && line->tail[0] != NULL) {
        name = line->tail[0];
    }
    if (name == NULL) {
        return;
    }
    line->command = lk_cli_command_by_name(name);
    if (line->tail != NULL
        && (line->command == NULL || !line->command->has_tail || line->word_count == 0)) {
        for (; *line->tail != NULL; line->tail++) {
            line->words[line->word_count++] = *line->tail;
        }
        line->tail = NULL;
    }
    if (line->command == NULL) {
        (void)lk_cli_command_unknown(name, mistake(reader));
        return;
    }
    memmove(line->words, line->words + 1, line->word_count * sizeof line->words[0]);
    line->word_count--;
}

/*
 * Replaces the first mistake if the command refuses an option for a reason of its own: the value
 * that such an option lacks, or has taken from the words behind it, then helps no reader.
 */
static lk_outcome check_refused(const struct lk_command_line *line, lk_error *error) {
    const struct lk_refused_option *refused =
        line->command != NULL ? &line->command->refused : NULL;

    if (refused == NULL || refused->why == NULL || !lk_command_line_has(line, refused->option)) {
        return LK_OK;
    }
    return lk_error_set(error, LK_INVALID, "--%s: %s", lk_option_at(refused->option)->name,
                        refused->why);
}

/* Every option given must be one of the command's, and contradict none of the others. */
static lk_outcome check_options(const struct lk_command_line *line, lk_error *error) {
    for (int id = 0; id < LK_OPTION_COUNT; id++) {
        const struct lk_option *option = lk_option_at((enum lk_option_id)id);
        if (!lk_command_line_has(line, (enum lk_option_id)id)) {
            continue;
        }
        if ((line->command->options & LK_OPTION_BIT(id)) == 0) {
            return lk_error_set(error, LK_INVALID, "%s does not take --%s; see: %s help %s",
                                line->command->name, option->name, lk_program(),
                                line->command->name);
        }
        for (int other = id + 1; other < LK_OPTION_COUNT; other++) {
            if ((option->excludes & line->given & LK_OPTION_BIT(other)) != 0) {
                return lk_error_set(error, LK_INVALID, "--%s and --%s contradict each other",
                                    option->name, lk_option_at((enum lk_option_id)other)->name);
            }
        }
    }
    return LK_OK;
}

static lk_outcome check_words(const struct lk_command_line *line, lk_error *error) {
    const struct lk_cli_command *command = line->command;

    if (line->word_count < (size_t)command->words.min && (line->given & command->for_words) == 0) {
        return lk_error_set(error, LK_INVALID, "%s needs %s; see: %s help %s", command->name,
                            command->arguments, lk_program(), command->name);
    }
    if (line->word_count > (size_t)command->words.max) {
        return lk_error_set(error, LK_INVALID,
                            "%s: \"%s\" is one argument too many; see: %s help %s", command->name,
                            line->words[command->words.max], lk_program(), command->name);
    }
    if (command->has_tail && (line->tail == NULL || line->tail[0] == NULL)
        && (line->given & command->for_tail) == 0) {
        return lk_error_set(error, LK_INVALID,
                            "%s needs -- and a command behind it; see: %s help %s", command->name,
                            lk_program(), command->name);
    }
    return LK_OK;
}

lk_outcome lk_command_line_parse(int argc, char *const *argv, int64_t now_unix_ms,
                                 struct lk_command_line *ret_line, lk_error *error) {
    struct lk_command_line *line = ret_line;
    struct reader reader = {.argc = argc,
                            .argv = argv,
                            .at = 1,
                            .now_unix_ms = now_unix_ms,
                            .line = line,
                            .error = error};

    memset(line, 0, sizeof *line);
    line->words = calloc((size_t)argc + 1, sizeof line->words[0]);
    line->listed = calloc((size_t)argc + 1, sizeof line->listed[0]);
    line->listed_ids = calloc((size_t)argc + 1, sizeof line->listed_ids[0]);
    if (line->words == NULL || line->listed == NULL || line->listed_ids == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    read_arguments(&reader);
    take_command(&reader);
    if (lk_command_line_has(line, LK_OPTION_HELP) || lk_command_line_has(line, LK_OPTION_VERSION)) {
        return line->command != NULL || line->word_count == 0 ? LK_OK : LK_INVALID;
    }
    if (check_refused(line, error) != LK_OK || reader.failed) {
        return LK_INVALID;
    }
    if (line->command == NULL) {
        return lk_error_set(error, LK_INVALID, "a command is needed; see: %s help", lk_program());
    }
    if (check_options(line, error) != LK_OK) {
        return LK_INVALID;
    }
    return check_words(line, error);
}

void lk_command_line_done(struct lk_command_line *line) {
    free(line->words);
    line->words = NULL;
    free(line->listed);
    free(line->listed_ids);
    line->listed = NULL;
    line->listed_ids = NULL;
}
