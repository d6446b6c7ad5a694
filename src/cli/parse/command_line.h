/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of `lk`, and a command line, parsed and checked against the tables of commands and
 * options. Options may come anywhere before `--`, also before the command; `--` ends them.
 * Everything is borrowed from argv.
 */
#ifndef LK_CLI_PARSE_COMMAND_LINE_H
#define LK_CLI_PARSE_COMMAND_LINE_H

#include <limits.h>

#include "cli/parse/option.h"
#include "lockkeeper/lockkeeper.h"

/* ---- the commands ---------------------------------------------------------------------------- */

/*
 * Declared once: name, arguments, options, help, exit codes, handler. The parser checks a command
 * line against this table and the help texts are made from it.
 */

struct lk_cli;
struct lk_command_line;

enum { LK_WORDS_ANY = INT_MAX };

struct lk_example {
    const char *line; /* what to type; NULL ends the list */
    const char *what; /* what it does */
};

/* What an option means to one command, where its own text would say too much or too little. */
struct lk_own_help {
    enum lk_option_id option;
    const char *help; /* lines of at most 50 characters; NULL ends the list */
};

/* An option that a command does not take for a reason that its user should know. */
struct lk_refused_option {
    enum lk_option_id option;
    const char *why; /* NULL: there is none such */
};

struct lk_cli_command {
    const char *name;
    const char *arguments; /* as in the synopsis; empty: none */
    const char *summary;   /* one line, for the list of commands */
    const char *text;      /* paragraphs that say more */
    lk_option_set options; /* those it takes */
    lk_option_set idle;    /* those of them that have no effect: taken, but not in the help text */
    struct lk_refused_option refused;
    struct lk_own_help own_help[4];
    const char *busy_text; /* what BUSY means to it; NULL: lk_outcome_text() */
    struct {
        int min, max; /* how many arguments it takes */
    } words;
    lk_option_set for_words;       /* with one of these, it needs no arguments */
    lk_option_set for_tail;        /* with one of these, it needs no command */
    bool has_tail;                 /* needs `--` and a command of the user's behind it */
    bool only_reads;               /* a store that is not there is not made: it counts as empty */
    bool has_own_stop;             /* what SIGTSTP does to it is its own matter (interrupt.h) */
    unsigned outcomes;             /* what it can end in: bits of lk_outcome */
    const char *more_codes;        /* lines for exit codes that are no outcome's; NULL: none */
    struct lk_example examples[8]; /* ended by one without a line */

    /*
     * Does it. Returns the exit code. One of the two: `at_store` is called with the store of the
     * command line, which is opened before and closed after; `handle` opens what it needs.
     */
    int (*handle)(const struct lk_cli *cli, const struct lk_command_line *line);
    int (*at_store)(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store);
};

/*
 * The parts of the table, in the order in which help lists them; each ends with a row without a
 * name. Its rows name the handlers, so they are the program's (src/cli/command_*.c).
 */
extern const struct lk_cli_command lk_cli_lock_commands[];
extern const struct lk_cli_command lk_cli_work_commands[];
extern const struct lk_cli_command lk_cli_store_commands[];

/* The table, in the order in which help lists it. NULL: there are not so many. */
const struct lk_cli_command *lk_cli_command_at(size_t index);

/* NULL if there is none of that name. */
const struct lk_cli_command *lk_cli_command_by_name(const char *name);

/* Whether its help lists an option, and with which text. */
bool lk_cli_command_lists(const struct lk_cli_command *command, enum lk_option_id id);
const char *lk_cli_command_option_help(const struct lk_cli_command *command, enum lk_option_id id);

/* What ending with an outcome means to it. */
const char *lk_cli_command_outcome_text(const struct lk_cli_command *command, lk_outcome outcome);

/* LK_INVALID: says that there is no such command, and which one may be meant. */
lk_outcome lk_cli_command_unknown(const char *name, lk_error *error);

/* ---- a command line -------------------------------------------------------------------------- */

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
