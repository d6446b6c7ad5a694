/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command line, parsed and checked against the tables of commands and options. Options may come
 * anywhere before `--`, also before the command; `--` ends them. Everything is borrowed from argv.
 */
#ifndef LK_CLI_PARSE_COMMAND_LINE_H
#define LK_CLI_PARSE_COMMAND_LINE_H

#include "cli/parse/command.h"

struct lk_option_value {
    const char *text; /* as given; NULL: not given, or a flag */
    int64_t number;   /* of numbers, durations (ms) and times (Unix ms) */
};

struct lk_command_line {
    const struct lk_cli_command *command; /* NULL: none was named, or none that we know */
    lk_option_set given;
    struct lk_option_value values[LK_OPTION_COUNT]; /* of an option given twice, the last */
    char **listed; /* the texts of options that may be given often, as they came; its own array */
    enum lk_option_id *listed_ids; /* ... and which each of them is of */
    size_t listed_count;
    char **words; /* behind the command, ended by NULL; its own array, freed with the line */
    size_t word_count;
    char *const *tail; /* behind `--`, ended by NULL; NULL where the command takes none */
};

/*
 * Parses argv[1..argc-1]; `now_unix_ms` is what --until is reckoned from. LK_OK; LK_INVALID with
 * the argument in *error; LK_INTERNAL. In every case *ret_line has all that could be parsed, so
 * that a failure is printed in the form that was requested (--json, --quiet), and must be ended
 * with lk_command_line_done().
 */
lk_outcome lk_command_line_parse(int argc, char *const *argv, int64_t now_unix_ms,
                                 struct lk_command_line *ret_line, lk_error *error);
void lk_command_line_done(struct lk_command_line *line);

static inline bool lk_command_line_has(const struct lk_command_line *line, enum lk_option_id id) {
    return (line->given & LK_OPTION_BIT(id)) != 0;
}

/* The text of an option; NULL if it was not given. */
static inline const char *lk_command_line_text(const struct lk_command_line *line,
                                               enum lk_option_id id) {
    return line->values[id].text;
}

/* The number of an option; `otherwise` if it was not given. */
static inline int64_t lk_command_line_number(const struct lk_command_line *line,
                                             enum lk_option_id id, int64_t otherwise) {
    return lk_command_line_has(line, id) ? line->values[id].number : otherwise;
}

#endif
