/* SPDX-License-Identifier: Apache-2.0 */
/* lk get, put, del and values: the values that paths keep (R15). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/program.h"
#include "cli/cli.h"
#include "cli/parse/ask.h"
#include "cli/parse/caller.h"
#include "cli/parse/value.h"
#include "cli/print/human.h"
#include "cli/print/say.h"
#include "form/form.h"
#include "model/utf8.h"

/* The value as it is; text that does not end with a line end gets one. */
static void write_value(FILE *out, const lk_value *value) {
    const char *bytes = value->bytes;

    (void)fwrite(bytes, 1, value->size, out);
    if (value->size == 0
        || (bytes[value->size - 1] != '\n' && lk_utf8_is_valid(bytes, value->size))) {
        (void)fputc('\n', out);
    }
}

static int say_value(const struct lk_cli *cli, const char *path, const lk_value *value) {
    if (cli->json) {
        struct lk_object object;
        lk_form_write_value(lk_object_begin(&object), path, value);
        return lk_say_object(cli, LK_OK, &object);
    }
    write_value(cli->out, value);
    if (value->in_doubt && !cli->quiet) {
        (void)fprintf(cli->err,
                      "%s: in doubt: a holder of %s died before it put its value; a put ends the "
                      "doubt\n",
                      lk_program(), path);
    }
    return 0;
}

int lk_cli_get(const struct lk_cli *cli, const struct lk_command_line *line) {
    char *path;
    lk_store *store;
    lk_value *value = NULL;
    lk_error error;
    int exit_code;

    if (lk_cli_open_at_path(cli, line, &path, &store, &exit_code) != LK_OK) {
        return exit_code;
    }
    lk_outcome outcome = lk_value_get(store, path, &value, &error);
    exit_code =
        outcome == LK_OK ? say_value(cli, path, value) : lk_say_failure(cli, outcome, error.text);
    lk_value_free(value);
    lk_close(store);
    free(path);
    return exit_code;
}

/* Whether a part at `part` covers the path. */
static bool covers(const char *part, size_t size, const char *path) {
    path += path[0] == '/';
    return strncmp(part, path, size) == 0 && (path[size] == '\0' || path[size] == '/');
}

/*
 * R14: each root of a batch over several nodes has a token of its own. The one that `lk run` has
 * put into the environment for this path; NULL: none. *ret_size: its digits.
 */
static const char *token_of(const char *path, size_t *ret_size) {
    const char *paths = getenv("LK_PATH");
    const char *tokens = getenv("LK_TOKENS");

    while (paths != NULL && tokens != NULL) {
        size_t size = strcspn(paths, " ");

        *ret_size = strcspn(tokens, " ");
        if (covers(paths, size, path)) {
            return tokens;
        }
        paths = paths[size] == ' ' ? paths + size + 1 : NULL;
        tokens = tokens[*ret_size] == ' ' ? tokens + *ret_size + 1 : NULL;
    }
    return NULL;
}

/* LOST, and perhaps only because the token is that of another part of the lease. */
static int say_lost(const struct lk_cli *cli, const char *path, uint64_t token,
                    const lk_error *error) {
    size_t size = 0;
    const char *own = token_of(path, &size);
    char text[LK_ERROR_TEXT_MAX * 2];

    if (own == NULL || strtoumax(own, NULL, 10) == token) {
        return lk_say_done(cli, LK_LOST, error);
    }
    (void)snprintf(text, sizeof text, "%s: %.*s in LK_TOKENS is the token of %.*s", error->text,
                   (int)size, own, LK_ERROR_TEXT_MAX / 2, path);
    return lk_say_failure(cli, LK_LOST, text);
}

/* Puts these bytes; NULL deletes. */
static int put(const struct lk_cli *cli, const struct lk_command_line *line, const char *bytes,
               size_t size) {
    char made_owner[LK_OWNER_TEXT_SIZE];
    lk_store *store;
    lk_error error;
    int exit_code;

    if (lk_cli_open(cli, line, &store, &exit_code) != LK_OK) {
        return exit_code;
    }
    uint64_t token = (uint64_t)lk_command_line_number(line, LK_OPTION_TOKEN, 0);
    const char *owner = lk_ask_owner(line, 1, made_owner);
    lk_outcome outcome = lk_value_put(store, line->words[0], owner, token, bytes, size, &error);
    lk_close(store);
    if (outcome == LK_LOST && owner == made_owner && !lk_process_has_shell()) {
        return lk_say_lost_by_caller(cli, owner, "--owner or LK_OWNER names another one",
                                     error.text);
    }
    return outcome == LK_LOST && token != 0 ? say_lost(cli, line->words[0], token, &error)
                                            : lk_say_done(cli, outcome, &error);
}

int lk_cli_put(const struct lk_cli *cli, const struct lk_command_line *line) {
    struct lk_input input;
    lk_error error;

    if (lk_input_text(line->words[1], &input, &error) != LK_OK) {
        return lk_say_failure(cli, error.outcome, error.text);
    }
    int exit_code = put(cli, line, input.bytes, input.size);
    free(input.bytes);
    return exit_code;
}

int lk_cli_del(const struct lk_cli *cli, const struct lk_command_line *line) {
    return put(cli, line, NULL, 0);
}

/* ---- lk values ------------------------------------------------------------------------------- */

/*
 * Every value, or those at or below a path, with its size (R15). Written page by page, so that a
 * long list takes no memory and begins at once; hence no table with aligned columns.
 */

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
