/* SPDX-License-Identifier: Apache-2.0 */
/* The whole of `lk` around its commands: parse, choose, handle, and see that stdout took it. */
#include "cli/cli.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/program.h"
#include "cli/interrupt.h"
#include "cli/print/say.h"
#include "cli/run/open.h"

/* Colour is used on terminals only, unless $NO_COLOR declines it (no-color.org). */
static bool wants_colour(FILE *out) {
    const char *no_colour = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");

    return isatty(fileno(out)) == 1 && (no_colour == NULL || no_colour[0] == '\0')
           && (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

/* Whether the user's characters are UTF-8, by the variables that say so, in their order. */
static bool speaks_utf8(void) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && value[0] != '\0') {
            return strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL;
        }
    }
    return false;
}

/* -E: the caller has said what a conflict means to it, and that it is no failure. */
static bool tells_conflict(const struct lk_command_line *line) {
    return lk_command_line_has(line, LK_OPTION_VERBOSE)
           || !(lk_command_line_has(line, LK_OPTION_QUIET)
                || lk_command_line_has(line, LK_OPTION_CONFLICT_EXIT_CODE));
}

static struct lk_cli cli_of(const struct lk_command_line *line, FILE *out, FILE *err) {
    bool takes_json =
        line->command == NULL || (line->command->options & LK_OPTION_BIT(LK_OPTION_JSON)) != 0;

    return (struct lk_cli){
        .out = out,
        .err = err,
        .json = takes_json && lk_command_line_has(line, LK_OPTION_JSON),
        .quiet = lk_command_line_has(line, LK_OPTION_QUIET),
        .is_conflict_told = tells_conflict(line),
        .conflict_exit_code = (int)lk_command_line_number(line, LK_OPTION_CONFLICT_EXIT_CODE,
                                                          lk_outcome_exit_code(LK_BUSY)),
        .colour = wants_colour(out),
        .drawn = isatty(fileno(out)) == 1 && speaks_utf8(),
    };
}

static int handle_at_store(const struct lk_cli *cli, const struct lk_command_line *line) {
    lk_store *store;
    int exit_code;

    if (lk_cli_open(cli, line, &store, &exit_code) == LK_OK) {
        exit_code = line->command->at_store(cli, line, store);
        lk_cli_close(store);
    }
    return exit_code;
}

static int handle(const struct lk_cli *cli, const struct lk_command_line *line) {
    bool helps = lk_command_line_has(line, LK_OPTION_HELP);
    bool tells_version = lk_command_line_has(line, LK_OPTION_VERSION);

    if (helps || tells_version || !line->command->has_tail) {
        /* A closed pipe is a write error: see finish(). CMD of `run` must not inherit this. */
        (void)signal(SIGPIPE, SIG_IGN);
    }
    if (!helps && !tells_version && !line->command->has_own_stop) {
        lk_stop_outside_transactions();
    }
    if (helps) {
        return lk_help_say(cli, line->command);
    }
    if (tells_version) {
        return lk_cli_version(cli, line);
    }
    return line->command->at_store != NULL ? handle_at_store(cli, line)
                                           : line->command->handle(cli, line);
}

/* A pipe or a socket whose other end is closed. */
static bool reader_has_left(FILE *out) {
    struct pollfd end = {.fd = fileno(out)};

    return poll(&end, 1, 0) == 1 && (end.revents & POLLERR) != 0;
}

/*
 * Checks that the output was written. A full disk is a failure. If the reader has left, as head(1)
 * does, the exit code says so without a message, as for a program that SIGPIPE ends.
 */
static int finish(const struct lk_cli *cli, int exit_code) {
    bool failed = ferror(cli->out) != 0;

    errno = 0;
    if (fflush(cli->out) != 0 || failed) {
        if (errno == EPIPE || (errno == 0 && reader_has_left(cli->out))) {
            return LK_EXIT_SIGNAL + SIGPIPE;
        }
        (void)fprintf(cli->err, "%s: INTERNAL: standard output could not be written%s%s\n",
                      lk_program(), errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "");
        return lk_outcome_exit_code(LK_INTERNAL);
    }
    return exit_code;
}

int lk_cli_main(int argc, char *const *argv, FILE *out, FILE *err) {
    struct lk_command_line line;
    lk_error error;
    int exit_code;

    lk_budget_begin();
    if (argc > 1 && strcmp(argv[1], LK_COMPLETE_COMMAND) == 0) {
        lk_complete(&argv[2], out);
        return 0;
    }
    lk_outcome outcome =
        lk_command_line_parse(argc, argv, lk_clock_wall_us() / 1000, &line, &error);
    struct lk_cli cli = cli_of(&line, out, err);
    if (outcome == LK_OK) {
        exit_code = handle(&cli, &line);
    } else {
        exit_code = lk_say_failure(&cli, outcome, error.text);
    }
    exit_code = finish(&cli, exit_code);
    lk_command_line_done(&line);
    return exit_code;
}
