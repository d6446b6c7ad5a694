/* SPDX-License-Identifier: Apache-2.0 */
/* lk backup: a copy of the store, while it is used. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/print/say.h"
#include "cli/store/url.h"
#include "form/form.h"

static int say_missing(const struct lk_cli *cli, const struct lk_command_line *line) {
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
        return say_missing(cli, line);
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
