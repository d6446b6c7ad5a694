/* SPDX-License-Identifier: Apache-2.0 */
/* lk get, put and del: the values that paths keep (R15). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/parse/ask.h"
#include "cli/parse/caller.h"
#include "cli/parse/input.h"
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
                      "lk: in doubt: a holder of %s died before it put its value; a put ends the "
                      "doubt\n",
                      path);
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
