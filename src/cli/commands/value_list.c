/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lk values: every value, or those at or below a path, with its size (R15). Written page by page,
 * so that a long list takes no memory and begins at once; hence no table with aligned columns.
 */
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/print/human.h"
#include "cli/print/say.h"
#include "form/form.h"

static int say_values(const struct lk_cli *cli, const lk_value_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        struct lk_object object;
        lk_form_write_value_info(lk_object_begin(&object), &list->values[i]);
        int exit_code = lk_say_object(cli, LK_OK, &object);
        if (exit_code != 0) {
            return exit_code;
        }
    }
    return 0;
}

static int write_values(const struct lk_cli *cli, const lk_value_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        const lk_value_info *value = &list->values[i];
        char *path = lk_human_visible(value->path);

        if (path == NULL) {
            return lk_say_failure(cli, LK_INTERNAL, "no memory for the list");
        }
        (void)fprintf(cli->out, "%5zu  %s%s\n", value->size, path,
                      value->in_doubt ? "  (in doubt)" : "");
        free(path);
    }
    return 0;
}

/* A page, the first one below a title. */
static int say_page(const struct lk_cli *cli, const lk_value_list *list, bool is_first) {
    if (cli->json) {
        return say_values(cli, list);
    }
    if (is_first) {
        (void)fprintf(cli->out, "%sBYTES  PATH%s\n", cli->colour ? "\x1b[1m" : "",
                      cli->colour ? "\x1b[0m" : "");
    }
    return write_values(cli, list);
}

int lk_cli_values(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store) {
    lk_value_list *list = NULL;
    bool has_said = false;
    int exit_code = 0;
    bool has_more;

    do {
        lk_value_list *page = NULL;
        lk_error error;

        if (lk_values(store, line->words[0], list != NULL ? list->reached : NULL, &page, &error)
            != LK_OK) {
            lk_value_list_free(list);
            return lk_say_failure(cli, error.outcome, error.text);
        }
        lk_value_list_free(list);
        list = page;
        if (list->count > 0) {
            exit_code = say_page(cli, list, !has_said);
            has_said = true;
        }
        has_more = list->reached != NULL && !ferror(cli->out);
    } while (exit_code == 0 && has_more);
    lk_value_list_free(list);
    if (!has_said) {
        lk_cli_say_empty(cli, line, store, "there is no value", line->words[0]);
    }
    return exit_code;
}
