/* SPDX-License-Identifier: Apache-2.0 */
/* The store: opening it for every command, lk doctor, lk backup. */
#include "client/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/program.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/parse/ask.h"
#include "cli/print/diagnosis.h"
#include "cli/print/human.h"
#include "cli/print/say.h"
#include "cli/run/open.h"
#include "cli/run/wait.h"
#include "cli/store/url.h"
#include "client/default_store.h"
#include "client/url.h"
#include "form/form.h"

/* In place of a store that is not there, for a command that only reads: nothing is in it. */
static const char nothing[] = "mem:";

lk_outcome lk_cli_check_table_store(const struct lk_command_line *line, lk_error *error) {
    if (!lk_command_line_has(line, LK_OPTION_TABLE)
        || lk_store_is_there(lk_command_line_text(line, LK_OPTION_STORE))) {
        return LK_OK;
    }
    char *name = lk_cli_store_name(line);
    (void)lk_error_set(error, LK_INVALID,
                       "R17: the table is in the store's own database, which does not exist: %.*s",
                       LK_ERROR_TEXT_MAX / 2, name != NULL ? name : "");
    free(name);
    return LK_INVALID;
}

int64_t lk_cli_wait_ms(const struct lk_command_line *line) {
    bool is_try =
        lk_command_line_has(line, LK_OPTION_TRY) || line->command->at_store == lk_cli_claim;

    return lk_budget_left_ms(lk_command_line_number(line, LK_OPTION_WAIT, is_try ? 0 : LK_FOREVER));
}

/* Makes it if it is not there, unless the command only reads or could not use it. */
static lk_outcome open_store(const struct lk_command_line *line, const char *url,
                             lk_store **ret_store, lk_error *error) {
    bool only_reads = line->command->only_reads;
    lk_outcome outcome = lk_cli_check_table_store(line, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    if (line->command->handle == lk_cli_hold && !lk_store_binds_to_process(url)) {
        return lk_run_open(url, lk_cli_wait_ms(line), ret_store, error); /* it blocks signals */
    }
    if (!only_reads && !lk_store_binds_to_process(url)) {
        return lk_store_open_within(url, lk_cli_wait_ms(line), NULL, ret_store, error);
    }
    outcome = lk_open_if_there(url, NULL, ret_store, error);
    if (outcome != LK_NONE) {
        return outcome;
    }
    return only_reads ? lk_open(nothing, ret_store, error)
                      : lk_error_set(error, LK_UNSUPPORTED,
                                     "in this store a lease ends with the process that took it: %s "
                                     "run holds one while a command runs, and makes the store",
                                     lk_program());
}

lk_outcome lk_cli_open(const struct lk_cli *cli, const struct lk_command_line *line,
                       lk_store **ret_store, int *ret_exit_code) {
    const char *url = lk_command_line_text(line, LK_OPTION_STORE);
    bool is_told = !cli->json && !cli->quiet && !line->command->only_reads;
    struct lk_own_store own = lk_own_store_find(is_told ? url : nothing);
    lk_error error;
    lk_outcome outcome = open_store(line, url, ret_store, &error);

    if (outcome != LK_OK) {
        const char *text = outcome == LK_CANCELLED ? "ended by a signal" : error.text;
        *ret_exit_code = lk_say_failure(cli, outcome, text);
    } else {
        lk_own_store_say_new(&own, cli->err);
    }
    lk_own_store_done(&own);
    return outcome;
}

void lk_cli_close(lk_store *store) {
    if (!lk_run_wait_log_is_left()) {
        lk_close(store);
    }
}

char *lk_cli_store_name(const struct lk_command_line *line) {
    const char *url = lk_command_line_text(line, LK_OPTION_STORE);
    struct lk_default_store standard = {.url = NULL};
    char *name = NULL;

    if (url != NULL || lk_default_store_find(&standard, NULL) == LK_OK) {
        name = lk_url_without_password(url != NULL ? url : standard.url);
    }
    lk_default_store_done(&standard);
    return name;
}

/* Whether lk_cli_open() has opened `nothing` in the place of a store that is not there. */
static bool is_missing(const struct lk_command_line *line, const lk_store *store) {
    const char *url = lk_command_line_text(line, LK_OPTION_STORE);

    return strcmp(lk_store_url(store), nothing) == 0 && (url == NULL || strcmp(url, nothing) != 0);
}

void lk_cli_say_empty(const struct lk_cli *cli, const struct lk_command_line *line,
                      const lk_store *store, const char *what, const char *prefix) {
    char *shown = prefix != NULL && prefix[0] != '\0' ? lk_human_visible(prefix) : NULL;
    char *name = NULL;

    if (!cli->json && !cli->quiet && isatty(fileno(cli->out)) == 1) {
        name = lk_cli_store_name(line);
    }
    if (name != NULL) {
        (void)fprintf(cli->err, "%s: %s%s%s in %s%s\n", lk_program(), what,
                      shown != NULL ? " at or below " : "", shown != NULL ? shown : "", name,
                      is_missing(line, store) ? ", which does not exist yet" : "");
    }
    free(name);
    free(shown);
}

lk_outcome lk_cli_open_at_path(const struct lk_cli *cli, const struct lk_command_line *line,
                               char **ret_path, lk_store **ret_store, int *ret_exit_code) {
    char *path;
    lk_error error;
    lk_outcome outcome = lk_ask_path(line->words[0], &path, &error);

    if (outcome != LK_OK) {
        *ret_exit_code = lk_say_failure(cli, outcome, error.text);
        return outcome;
    }
    outcome = lk_cli_open(cli, line, ret_store, ret_exit_code);
    if (outcome != LK_OK) {
        free(path);
        return outcome;
    }
    *ret_path = path;
    return LK_OK;
}

lk_outcome lk_cli_check_shared(const lk_store *store, lk_error *error) {
    if (strncmp(lk_store_url(store), "mem:", 4) == 0) {
        return lk_error_set(error, LK_UNSUPPORTED,
                            "mem: is the memory of one process: no other process can use it; "
                            "name a store that others can reach");
    }
    return LK_OK;
}

/* ---- doctor ---------------------------------------------------------------------------------- */

/*
 * What names the store: an option, a variable, or a line of a configuration file. Before the line
 * with its URL, so that it is a field of the report with --json.
 */
static const char *named_by(const struct lk_command_line *line,
                            const struct lk_default_store *standard) {
    if (lk_command_line_has(line, LK_OPTION_STORE)) {
        return "-S";
    }
    return standard->named_by != NULL ? standard->named_by
                                      : "nothing; it is the store of this user alone";
}

/* The report with that line before it, for free(); NULL: memory is exhausted. */
static char *with_origin(const struct lk_command_line *line, const char *text) {
    struct lk_default_store standard = {.url = NULL};

    (void)lk_default_store_find(&standard, NULL);
    char *made = lk_text_make("named by: %s\n%s", named_by(line, &standard), text);
    lk_default_store_done(&standard);
    return made;
}

static void write_report(const struct lk_cli *cli, const lk_report *report, bool is_verbose) {
    if (cli->quiet) {
        return;
    }
    if (is_verbose || !lk_diagnosis_say(cli->out, report->text)) {
        size_t size = strlen(report->text);

        (void)fputs(report->text, cli->out);
        (void)fputs(size > 0 && report->text[size - 1] != '\n' ? "\n" : "", cli->out);
    }
    (void)fprintf(cli->out, "round trip: %" PRId64 " us\nclock offset: %" PRId64 " us\n",
                  report->round_trip_us, report->clock_offset_us);
    for (const char *warning = report->warnings; *warning != '\0';) {
        int length = (int)strcspn(warning, "\n");
        (void)fprintf(cli->out, "warning: %.*s\n", length, warning);
        warning += length;
        warning += *warning == '\n' ? 1 : 0;
    }
    if (report->warnings[0] == '\0') {
        (void)fputs("all is well\n", cli->out);
    }
}

static int say_report(const struct lk_cli *cli, const struct lk_command_line *line,
                      const lk_report *report) {
    char *text = with_origin(line, report->text);
    lk_report whole = *report;
    struct lk_object object;

    if (text == NULL) {
        return lk_say_failure(cli, LK_INTERNAL, "memory is exhausted");
    }
    whole.text = text;
    if (cli->json) {
        lk_form_write_report(lk_object_begin(&object), &whole);
        free(text);
        return lk_say_object(cli, LK_OK, &object);
    }
    write_report(cli, &whole, lk_command_line_has(line, LK_OPTION_VERBOSE));
    free(text);
    return 0;
}

static int say_missing(const struct lk_cli *cli, const struct lk_command_line *line) {
    char bytes[LK_ERROR_TEXT_MAX];
    char *name = lk_cli_store_name(line);
    lk_report report = {.text = bytes, .warnings = (char[]){""}};

    (void)snprintf(bytes, sizeof bytes, "store: %s\nstate: not there; the first lock makes it\n",
                   name != NULL ? name : "");
    free(name);
    if (cli->json) {
        return say_report(cli, line, &report);
    }
    char *text = with_origin(line, bytes);
    (void)fputs(cli->quiet || text == NULL ? "" : text, cli->out);
    free(text);
    return 0;
}

int lk_cli_doctor(const struct lk_cli *cli, const struct lk_command_line *line) {
    lk_store *store;
    lk_report *report;
    lk_error error;
    int exit_code;
    lk_outcome outcome =
        lk_open_if_there(lk_command_line_text(line, LK_OPTION_STORE), NULL, &store, &error);

    if (outcome == LK_NONE) {
        return say_missing(cli, line);
    }
    if (outcome != LK_OK) {
        return lk_say_failure(cli, outcome, error.text);
    }
    if (lk_examine(store, &report, &error) == LK_OK) {
        exit_code = say_report(cli, line, report);
        lk_report_free(report);
    } else {
        exit_code = lk_say_failure(cli, error.outcome, error.text);
    }
    lk_close(store);
    return exit_code;
}

/* ---- lk backup ------------------------------------------------------------------------------- */

/* A copy of the store, while it is used. */

static int say_no_copy(const struct lk_cli *cli, const struct lk_command_line *line) {
    char text[LK_ERROR_TEXT_MAX];
    char *name = lk_cli_store_name(line);

    (void)snprintf(text, sizeof text, "there is nothing to copy; the store is not there: %s",
                   name != NULL ? name : "");
    free(name);
    return lk_say_failure(cli, LK_UNAVAILABLE, text);
}

static int say_copied(const struct lk_cli *cli, const char *path) {
    struct stat status = {.st_size = 0};
    struct lk_object object;
    struct lk_form_writer *form;

    (void)stat(path, &status);
    if (cli->json) {
        form = lk_object_begin(&object);
        lk_form_open_answer(form, LK_OK);
        lk_form_add_text(form, "file", path);
        lk_form_add_number(form, "bytes", (int64_t)status.st_size);
        lk_form_close(form);
        return lk_say_object(cli, LK_OK, &object);
    }
    if (!cli->quiet) {
        (void)fprintf(cli->out, "%s: %" PRIdMAX " bytes\n", path, (intmax_t)status.st_size);
    }
    return 0;
}

int lk_cli_backup(const struct lk_cli *cli, const struct lk_command_line *line) {
    lk_store *store;
    lk_error error;
    lk_outcome outcome =
        lk_open_if_there(lk_command_line_text(line, LK_OPTION_STORE), NULL, &store, &error);

    if (outcome == LK_NONE) {
        return say_no_copy(cli, line);
    }
    if (outcome == LK_OK) {
        outcome = lk_cli_check_shared(store, &error);
        if (outcome == LK_OK) {
            outcome = lk_backup(store, line->words[0], &error);
        }
        lk_close(store);
    }
    return outcome == LK_OK ? say_copied(cli, line->words[0])
                            : lk_say_failure(cli, outcome, error.text);
}
