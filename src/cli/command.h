/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of `lk`, declared once: name, arguments, options, help, exit codes, handler. The
 * parser checks a command line against this table and the help texts are made from it.
 */
#ifndef LK_CLI_COMMAND_H
#define LK_CLI_COMMAND_H

#include <limits.h>

#include "cli/parse/option.h"
#include "lockkeeper/lockkeeper.h"

struct lk_cli;
struct lk_command_line;

enum { LK_WORDS_ANY = INT_MAX };

struct lk_example {
    const char *line; /* what to type; NULL ends the list */
    const char *what; /* what it does */
};

struct lk_cli_command {
    const char *name;
    const char *arguments; /* as in the synopsis; empty: none */
    const char *summary;   /* one line, for the list of commands */
    const char *text;      /* paragraphs that say more */
    lk_option_set options; /* those it takes */
    struct {
        int min, max; /* how many arguments it takes */
    } words;
    lk_option_set for_words; /* with one of these, it needs no arguments */
    lk_option_set for_tail;  /* with one of these, it needs no command */
    bool has_tail;           /* needs `--` and a command of the user's behind it */
    bool only_reads;         /* a store that is not there is not made: it counts as empty */
    bool has_own_stop;       /* what SIGTSTP does to it is its own matter (stop.h) */
    unsigned outcomes;       /* what it can end in: bits of lk_outcome */
    const char *more_codes;  /* lines for exit codes that are no outcome's; NULL: none */
    struct lk_example examples[5];

    /*
     * Does it. Returns the exit code. One of the two: `at_store` is called with the store of the
     * command line, which is opened before and closed after; `handle` opens what it needs.
     */
    int (*handle)(const struct lk_cli *cli, const struct lk_command_line *line);
    int (*at_store)(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store);
};

/* The table, in the order in which help lists it, ended by one without a name. */
extern const struct lk_cli_command lk_cli_commands[];

/* NULL if there is none of that name. */
const struct lk_cli_command *lk_cli_command_by_name(const char *name);

/* The command whose name is most like `name`; NULL if none is like it. */
const struct lk_cli_command *lk_cli_command_like(const char *name);

#endif
