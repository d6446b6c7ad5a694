/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: describe COMMAND begin|end
 *
 * A command's manual page in scdoc, out of the table that the parser and the help texts use, so
 * that it cannot say anything else. `begin` is what comes before the sections of its own that a
 * page may have (NAME.scd), `end` what comes behind them. COMMAND `lk` is the program as a whole.
 */
#include <stdio.h>
#include <string.h>

#include "cli/parse/command_line.h"
#include "cli/parse/option.h"
#include "lockkeeper/lockkeeper.h"

enum { EXIT_CODE_MAX = 255 };

/* Writes up to `size` bytes of a text as they are, whatever scdoc would make of them. */
static void write_plain(const char *text, size_t size) {
    for (size_t i = 0; i < size && text[i] != '\0'; i++) {
        if (strchr("*_\\`", text[i]) != NULL) {
            putchar('\\');
        }
        putchar(text[i]);
    }
}

static void write_all(const char *text) {
    write_plain(text, strlen(text));
}

static void write_strong(const char *text) {
    putchar('*');
    write_all(text);
    putchar('*');
}

static void write_option(const struct lk_cli_command *command, enum lk_option_id id) {
    const struct lk_option *option = lk_option_at(id);
    char name[64];

    if (option->letter != 0) {
        (void)snprintf(name, sizeof name, "-%c", option->letter);
        write_strong(name);
        (void)fputs(", ", stdout);
    }
    (void)snprintf(name, sizeof name, "--%s", option->name);
    write_strong(name);
    if (option->value != NULL) {
        (void)printf(" _%s_", option->value);
    }
    (void)fputs("\n\t", stdout);
    for (const char *line = lk_cli_command_option_help(command, id); *line != '\0';) {
        size_t size = strcspn(line, "\n");
        write_plain(line, size);
        putchar(line[size] == '\n' ? ' ' : '\n');
        line += size + (line[size] == '\n' ? 1 : 0);
    }
    putchar('\n');
}

static void write_outcome(lk_outcome outcome, const char *text) {
    (void)printf("*%d*\n\t%s: ", lk_outcome_exit_code(outcome), lk_outcome_name(outcome));
    write_all(text);
    (void)fputs("\n\n", stdout);
}

/* Lines of the form `CODE  words`, as the table of commands has them. */
static void write_more_codes(const char *lines) {
    while (lines != NULL && *lines != '\0') {
        size_t size = strcspn(lines, "\n");
        const char *code = lines + strspn(lines, " ");
        size_t code_size = strcspn(code, " ");
        const char *words = code + code_size + strspn(code + code_size, " ");
        putchar('*');
        if (*code == '*') {
            (void)fputs("other", stdout);
        } else {
            write_plain(code, code_size);
        }
        (void)fputs("*\n\t", stdout);
        (void)fputs(*words == '-' ? "\\" : "", stdout); /* no list */
        write_plain(words, (size_t)(lines + size - words));
        (void)fputs("\n\n", stdout);
        lines += size + (lines[size] == '\n' ? 1 : 0);
    }
}

/* `command` NULL: of the program as a whole. */
static void write_exit_codes(const struct lk_cli_command *command, unsigned outcomes,
                             const char *more) {
    (void)fputs("# EXIT STATUS\n\n", stdout);
    for (int code = 0; code <= EXIT_CODE_MAX; code++) {
        for (int outcome = 0; outcome < LK_OUTCOME_COUNT; outcome++) {
            if ((outcomes & (1u << outcome)) != 0
                && lk_outcome_exit_code((lk_outcome)outcome) == code) {
                write_outcome((lk_outcome)outcome,
                              command != NULL
                                  ? lk_cli_command_outcome_text(command, (lk_outcome)outcome)
                                  : lk_outcome_text((lk_outcome)outcome));
            }
        }
    }
    write_more_codes(more);
}

static void begin_command(const struct lk_cli_command *command) {
    (void)printf("lk-%s(1) \"Lockkeeper %s\" \"Lockkeeper\"\n\n# NAME\n\nlk-%s - %s\n\n",
                 command->name, lk_version(), command->name, command->summary);
    (void)printf("# SYNOPSIS\n\n*lk %s* [options] ", command->name);
    write_all(command->arguments);
    (void)fputs("\n\n# DESCRIPTION\n\n", stdout);
    write_all(command->text);
    (void)fputs("\n\nPARTs, durations, stores, owners: *lk*(1).\n\n# OPTIONS\n\n", stdout);
    for (int id = 0; id < LK_OPTION_COUNT; id++) {
        if (lk_cli_command_lists(command, (enum lk_option_id)id)) {
            write_option(command, (enum lk_option_id)id);
        }
    }
}

static void end_command(const struct lk_cli_command *command) {
    write_exit_codes(command, command->outcomes, command->more_codes);
    (void)fputs("# EXAMPLES\n\n", stdout);
    for (const struct lk_example *example = command->examples; example->line != NULL; example++) {
        write_strong(example->line);
        (void)fputs("\n\t", stdout);
        write_all(example->what);
        (void)fputs("\n\n", stdout);
    }
    (void)fputs("# SEE ALSO\n\n*lk*(1), *lockkeeper-rules*(7), *lk-stores*(7)\n", stdout);
}

static void begin_program(void) {
    (void)printf("lk(1) \"Lockkeeper %s\" \"Lockkeeper\"\n\n# NAME\n\n"
                 "lk - locks, semaphores and batches with leases, for processes and machines\n\n"
                 "# SYNOPSIS\n\n*lk* [*-S* _URL_] _COMMAND_ ...\n\n# COMMANDS\n\n",
                 lk_version());
    for (size_t i = 0; lk_cli_command_at(i) != NULL; i++) {
        const struct lk_cli_command *command = lk_cli_command_at(i);
        (void)printf("*lk-%s*(1)\n\t%s\n\n", command->name, command->summary);
    }
}

static void end_program(void) {
    unsigned outcomes = 0;

    for (size_t i = 0; lk_cli_command_at(i) != NULL; i++) {
        const struct lk_cli_command *command = lk_cli_command_at(i);
        outcomes |= command->outcomes;
    }
    write_exit_codes(NULL, outcomes, NULL);
    (void)fputs("# SEE ALSO\n\n*lockkeeper-rules*(7), *lk-stores*(7), *liblockkeeper*(3), "
                "*flock*(1)\n",
                stdout);
}

int main(int argc, char **argv) {
    bool begins = argc == 3 && strcmp(argv[2], "begin") == 0;
    const struct lk_cli_command *command = argc == 3 ? lk_cli_command_by_name(argv[1]) : NULL;

    if (argc != 3 || (command == NULL && strcmp(argv[1], "lk") != 0)
        || (!begins && strcmp(argv[2], "end") != 0)) {
        (void)fputs("usage: describe COMMAND|lk begin|end\n", stderr);
        return 64;
    }
    if (command == NULL) {
        (begins ? begin_program : end_program)();
    } else {
        (begins ? begin_command : end_command)(command);
    }
    return ferror(stdout) != 0 || fflush(stdout) != 0 ? 70 : 0;
}
