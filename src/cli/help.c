/* SPDX-License-Identifier: Apache-2.0 */
/* Help and version. All that can be generated comes from the tables. */
#include <stdlib.h>
#include <string.h>

#include "base/program.h"
#include "cli/cli.h"
#include "cli/print/say.h"
#include "form/form.h"

enum {
    OPTION_COLUMN = 28, /* where an option's explanation begins */
    COMMAND_COLUMN = 10,
    EXIT_CODE_MAX = 255,
};

/* What the commands from this one on are for; NULL: what those before it are for. */
static const char *heading_of(const char *command) {
    static const char *const headings[][2] = {{"run", "locks"},
                                              {"get", "values"},
                                              {"push", "work"},
                                              {"watch", "administration"},
                                              {"help", "this program"}};

    for (size_t i = 0; i < sizeof headings / sizeof headings[0]; i++) {
        if (strcmp(command, headings[i][0]) == 0) {
            return headings[i][1];
        }
    }
    return NULL;
}

void lk_help_overview(FILE *out) {
    (void)fputs("lk: locks, semaphores and batches with leases, for processes and machines.\n\n"
                "usage: lk [-S URL] COMMAND ...\n\n"
                "Commands:\n",
                out);
    for (size_t i = 0; lk_cli_command_at(i) != NULL; i++) {
        const struct lk_cli_command *command = lk_cli_command_at(i);
        const char *heading = heading_of(command->name);

        if (heading != NULL) {
            (void)fprintf(out, " %s\n", heading);
        }
        (void)fprintf(out, "  %-*s%s\n", COMMAND_COLUMN, command->name, command->summary);
    }
    (void)fputs("\n"
                "The store is -S URL, else $LK_STORE, else the one that lockkeeper.conf names, in\n"
                "${XDG_CONFIG_HOME:-~/.config} or /etc (store = URL). Else it is a file of this\n"
                "user alone, lockkeeper/locks.db under ${XDG_STATE_HOME:-~/.local/state}, made on\n"
                "first use: it does not exclude other users, sudo or containers.\n"
                "  sqlite:PATH   a file on this machine, no server\n"
                "  lk://HOST     a Lockkeeper service (lk serve), or several; lk+unix:PATH\n"
                "  redis://HOST  a Redis server or cluster; rediss://HOST over TLS\n"
                "  postgresql://HOST/DATABASE\n"
                "  mysql://HOST/DATABASE (or mariadb:)\n"
                "  shm:NAME      limits in this machine's memory\n"
                "  mem:          this process only, for tests\n\n"
                "A duration is 250ms, 10s, 1.5m, 1h30m, 3d or 2w; a bare number is seconds.\n"
                "Options may come anywhere before --.\n\n"
                "Examples:\n"
                "  lk run backup -- ./backup.sh\n"
                "  lk run 'pool?limit=3' -- make test\n"
                "  lk show deploy\n\n"
                "Help for one command: lk help COMMAND\n",
                out);
}

/* `-w, --wait D`: returns how many columns it took. */
static int write_option_name(FILE *out, const struct lk_option *option) {
    char letter[] = "    ";

    if (option->letter != 0) {
        letter[0] = '-';
        letter[1] = option->letter;
        letter[2] = ',';
    }
    return fprintf(out, "  %s--%s%s%s", letter, option->name, option->value != NULL ? " " : "",
                   option->value != NULL ? option->value : "");
}

static void write_option(FILE *out, const struct lk_cli_command *command, enum lk_option_id id) {
    int column = write_option_name(out, lk_option_at(id));

    if (column >= OPTION_COLUMN) {
        (void)fputc('\n', out);
        column = 0;
    }
    for (const char *line = lk_cli_command_option_help(command, id); *line != '\0';) {
        int size = (int)strcspn(line, "\n");
        (void)fprintf(out, "%*s%.*s\n", OPTION_COLUMN - column, "", size, line);
        line += size;
        line += *line == '\n' ? 1 : 0;
        column = 0;
    }
}

static void write_exit_codes(FILE *out, const struct lk_cli_command *command) {
    for (int code = 0; code <= EXIT_CODE_MAX; code++) {
        for (int outcome = 0; outcome < LK_OUTCOME_COUNT; outcome++) {
            if ((command->outcomes & (1u << outcome)) != 0
                && lk_outcome_exit_code((lk_outcome)outcome) == code) {
                (void)fprintf(out, "  %3d  %s: %s\n", code, lk_outcome_name((lk_outcome)outcome),
                              lk_cli_command_outcome_text(command, (lk_outcome)outcome));
            }
        }
    }
    for (const char *line = command->more_codes; line != NULL && *line != '\0';) {
        int size = (int)strcspn(line, "\n");
        (void)fprintf(out, "  %.*s\n", size, line);
        line += size + 1;
    }
}

void lk_help_command(FILE *out, const struct lk_cli_command *command) {
    (void)fprintf(out, "lk %s: %s\n\nusage: lk %s [options]%s%s\n\n%s\n\nOptions:\n", command->name,
                  command->summary, command->name, command->arguments[0] != '\0' ? " " : "",
                  command->arguments, command->text);
    for (int id = 0; id < LK_OPTION_COUNT; id++) {
        if (lk_cli_command_lists(command, (enum lk_option_id)id)) {
            write_option(out, command, (enum lk_option_id)id);
        }
    }
    (void)fputs("\nExamples:\n", out);
    for (const struct lk_example *example = command->examples; example->line != NULL; example++) {
        (void)fprintf(out, "  %s\n      %s\n", example->line, example->what);
    }
    (void)fputs("\nExit codes:\n", out);
    write_exit_codes(out, command);
}

static void write_help(FILE *out, const struct lk_cli_command *command) {
    if (command != NULL) {
        lk_help_command(out, command);
    } else {
        lk_help_overview(out);
    }
}

/* A success with one text. */
static int say_text(const struct lk_cli *cli, const char *name, const char *text) {
    struct lk_object object;
    struct lk_form_writer *form = lk_object_begin(&object);

    lk_form_open_answer(form, LK_OK);
    lk_form_add_text(form, name, text);
    lk_form_close(form);
    return lk_say_object(cli, LK_OK, &object);
}

int lk_help_say(const struct lk_cli *cli, const struct lk_cli_command *command) {
    char *text = NULL;
    size_t size = 0;
    char *named;
    FILE *memory;
    int exit_code = 0;

    memory = open_memstream(&text, &size);
    if (memory != NULL) {
        write_help(memory, command);
    }
    named = memory != NULL && fclose(memory) == 0 ? lk_program_in(text) : NULL;
    if (named == NULL) {
        exit_code = lk_say_failure(cli, LK_INTERNAL, "memory is exhausted");
    } else if (cli->json) {
        exit_code = say_text(cli, "text", named);
    } else {
        (void)fputs(named, cli->out);
    }
    free(named);
    free(text);
    return exit_code;
}

int lk_cli_help(const struct lk_cli *cli, const struct lk_command_line *line) {
    if (line->word_count == 0) {
        return lk_help_say(cli, NULL);
    }
    const struct lk_cli_command *command = lk_cli_command_by_name(line->words[0]);
    if (command == NULL) {
        lk_error error;

        return lk_say_failure(cli, lk_cli_command_unknown(line->words[0], &error), error.text);
    }
    return lk_help_say(cli, command);
}

int lk_cli_version(const struct lk_cli *cli, const struct lk_command_line *line) {
    (void)line;
    if (cli->json) {
        return say_text(cli, "version", lk_version());
    }
    (void)fprintf(cli->out, "%s %s\n", lk_program(), lk_version());
    return 0;
}
