/* SPDX-License-Identifier: Apache-2.0 */
/* The store: opening it for every command, lk doctor, lk schema. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/parse/ask.h"
#include "cli/print/say.h"
#include "cli/store_is_there.h"
#include "client/url.h"
#include "form/form.h"
#include "sql/schema.h"

/* In place of a store that is not there, for a command that only reads: nothing is in it. */
static const char nothing[] = "mem:";

lk_outcome lk_cli_open(const struct lk_cli *cli, const struct lk_command_line *line,
                       lk_store **ret_store, int *ret_exit_code) {
    const char *url = lk_command_line_text(line, LK_OPTION_STORE);
    bool is_missing = line->command->only_reads && !lk_store_is_there(url);
    lk_error error;
    lk_outcome outcome = lk_open(is_missing ? nothing : url, ret_store, &error);

    if (outcome != LK_OK) {
        *ret_exit_code = lk_say_failure(cli, outcome, error.text);
    }
    return outcome;
}

/* As lk_store_url(), of a store that need not be there; for free(). NULL: memory, a bad URL. */
static char *store_name(const struct lk_command_line *line) {
    const char *url = lk_command_line_text(line, LK_OPTION_STORE);
    char *made = NULL;
    char *name = NULL;

    if (url != NULL || lk_url_default(&made, NULL) == LK_OK) {
        name = lk_url_without_password(url != NULL ? url : made);
    }
    free(made);
    return name;
}

void lk_cli_say_empty(const struct lk_cli *cli, const struct lk_command_line *line,
                      const char *what) {
    char *name = NULL;

    if (!cli->json && !cli->quiet && isatty(fileno(cli->out)) == 1) {
        name = store_name(line);
    }
    if (name != NULL) {
        (void)fprintf(cli->err, "lk: %s in %s%s\n", what, name,
                      lk_store_is_there(lk_command_line_text(line, LK_OPTION_STORE))
                          ? ""
                          : ", which does not exist yet");
    }
    free(name);
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

static void write_report(const struct lk_cli *cli, const lk_report *report) {
    if (cli->quiet) {
        return;
    }
    (void)fputs(report->text, cli->out);
    size_t size = strlen(report->text);
    if (size > 0 && report->text[size - 1] != '\n') {
        (void)fputc('\n', cli->out);
    }
    (void)fprintf(cli->out, "round trip: %" PRId64 " us\nclock offset: %" PRId64 " us\n",
                  report->round_trip_us, report->clock_offset_us);
    for (const char *warning = report->warnings; *warning != '\0';) {
        int length = (int)strcspn(warning, "\n");
        (void)fprintf(cli->out, "warning: %.*s\n", length, warning);
        warning += length;
        warning += *warning == '\n' ? 1 : 0;
    }
}

static int say_report(const struct lk_cli *cli, const lk_report *report) {
    struct lk_object object;

    if (!cli->json) {
        write_report(cli, report);
        return 0;
    }
    lk_form_write_report(lk_object_begin(&object), report);
    return lk_say_object(cli, LK_OK, &object);
}

static int say_missing(const struct lk_cli *cli, const struct lk_command_line *line) {
    char bytes[LK_ERROR_TEXT_MAX];
    char *name = store_name(line);
    lk_report report = {.text = bytes, .warnings = (char[]){""}};

    (void)snprintf(bytes, sizeof bytes, "store: %s\nstate: not there; the first lock makes it\n",
                   name != NULL ? name : "");
    free(name);
    if (cli->json) {
        return say_report(cli, &report);
    }
    (void)fputs(cli->quiet ? "" : bytes, cli->out);
    return 0;
}

int lk_cli_doctor(const struct lk_cli *cli, const struct lk_command_line *line) {
    lk_store *store;
    lk_report *report;
    lk_error error;
    int exit_code;

    if (!lk_store_is_there(lk_command_line_text(line, LK_OPTION_STORE))) {
        return say_missing(cli, line);
    }
    if (lk_cli_open(cli, line, &store, &exit_code) != LK_OK) {
        return exit_code;
    }
    if (lk_examine(store, &report, &error) == LK_OK) {
        exit_code = say_report(cli, report);
        lk_report_free(report);
    } else {
        exit_code = lk_say_failure(cli, error.outcome, error.text);
    }
    lk_close(store);
    return exit_code;
}

/* ---- schema ---------------------------------------------------------------------------------- */

struct dialect {
    const char *name;
    const char *(*text)(void);
};

/* By the schemes of the stores' URLs. */
static const struct dialect dialects[] = {{"sqlite", lk_sql_schema_sqlite},
                                          {"postgresql", lk_sql_schema_postgresql},
                                          {"postgres", lk_sql_schema_postgresql},
                                          {"mysql", lk_sql_schema_mysql},
                                          {"mariadb", lk_sql_schema_mysql}};

static const struct dialect *find_dialect(struct lk_slice name) {
    for (size_t i = 0; i < sizeof dialects / sizeof dialects[0]; i++) {
        if (lk_slice_equal(lk_slice_of(dialects[i].name), name)) {
            return &dialects[i];
        }
    }
    return NULL;
}

static bool is_service(struct lk_slice scheme) {
    return lk_slice_equal(scheme, lk_slice_of("lk"))
           || lk_slice_equal(scheme, lk_slice_of("lk+unix"))
           || lk_slice_equal(scheme, lk_slice_of("lks"));
}

/* That of the store, which need not be there yet. A service keeps its own in a SQLite file. */
static lk_outcome dialect_of_store(const struct lk_command_line *line,
                                   const struct dialect **ret_dialect, lk_error *error) {
    const char *url = lk_command_line_text(line, LK_OPTION_STORE);
    const struct dialect *dialect;
    struct lk_url split;
    lk_outcome outcome;

    url = url != NULL ? url : secure_getenv("LK_STORE");
    outcome = lk_url_split(url != NULL && url[0] != '\0' ? url : "sqlite:", &split, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    dialect = find_dialect(is_service(split.scheme) ? lk_slice_of("sqlite") : split.scheme);
    if (dialect == NULL) {
        return lk_error_set(error, LK_UNSUPPORTED, "a store of %.*s: is not made of SQL",
                            split.scheme.size < 32 ? (int)split.scheme.size : 32,
                            split.scheme.bytes);
    }
    *ret_dialect = dialect;
    return LK_OK;
}

int lk_cli_schema(const struct lk_cli *cli, const struct lk_command_line *line) {
    const char *name = line->words[0];
    const struct dialect *dialect = NULL;
    lk_outcome outcome = LK_OK;
    lk_error error;

    if (name == NULL) {
        outcome = dialect_of_store(line, &dialect, &error);
    } else if ((dialect = find_dialect(lk_slice_of(name))) == NULL) {
        outcome =
            lk_error_set(&error, LK_INVALID,
                         "\"%s\" is no dialect; there are sqlite, postgresql and mysql", name);
    }
    if (outcome != LK_OK) {
        return lk_say_failure(cli, outcome, error.text);
    }
    if (cli->json) {
        struct lk_object object;
        struct lk_form_writer *form = lk_object_begin(&object);
        lk_form_open_answer(form, LK_OK);
        lk_form_add_text(form, "dialect", dialect->name);
        lk_form_add_text(form, "sql", dialect->text());
        lk_form_close(form);
        return lk_say_object(cli, LK_OK, &object);
    }
    (void)fputs(dialect->text(), cli->out);
    return 0;
}
