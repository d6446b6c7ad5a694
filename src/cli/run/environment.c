/* SPDX-License-Identifier: Apache-2.0 */
/* Two environments, made before anything is forked: of CMD, and of the clean-up command. */
#include "cli/run/environment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/store/url.h"
#include "client/url.h"

static const char *const lease_names[LK_RUN_LEASE_VARIABLES] = {
    "LK_STORE=",  "LK_PATH=",  "LK_OWNER=",     "LK_TOKEN=",         "LK_TOKENS=",
    "LK_TTL_MS=", "LK_OUTER=", "LK_RUN_OWNER=", "LK_STORE_URL_FILE="};
enum { LK_TOKEN_DIGITS_MAX = 20, ALWAYS_SET = LK_RUN_LEASE_VARIABLES - 1 };

static const char exit_name[] = "LK_EXIT=";

static bool begins_with(const char *text, const char *name) {
    return strncmp(text, name, strlen(name)) == 0;
}

static bool is_of_lease(const char *variable) {
    for (size_t i = 0; i < LK_RUN_LEASE_VARIABLES; i++) {
        if (begins_with(variable, lease_names[i])) {
            return true;
        }
    }
    return false;
}

/* "NAME=" and the paths, joined by spaces (R1: none has a space in it). NULL: no memory. */
static char *joined_paths(const char *name, char *const *paths, size_t count) {
    size_t size = strlen(name) + 1;

    for (size_t i = 0; i < count; i++) {
        size += strlen(paths[i]) + 1;
    }
    char *text = malloc(size);
    if (text == NULL) {
        return NULL;
    }
    char *end = stpcpy(text, name);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            *end++ = ' ';
        }
        end = stpcpy(end, paths[i]);
    }
    return text;
}

/* "NAME=" and the token of each path, in the order of the paths, joined by spaces. */
static char *joined_tokens(const char *name, const lk_result *granted) {
    size_t size = strlen(name) + granted->path_count * (LK_TOKEN_DIGITS_MAX + 1) + 1;
    char *text = malloc(size);
    struct lk_text tokens;

    if (text == NULL) {
        return NULL;
    }
    tokens = lk_text_in(text, size);
    lk_text_format(&tokens, "%s", name);
    for (size_t i = 0; i < granted->path_count; i++) {
        lk_text_format(&tokens, "%s%" PRIu64, i > 0 ? " " : "",
                       i < granted->token_count ? granted->tokens[i] : granted->token);
    }
    return text;
}

/*
 * "NAME=" and the leases around this one: those that this process found around its own, and its
 * own, which LK_PATH and LK_TOKENS name. A word for each path: TOKEN:PATH.
 */
static char *outer_leases(const char *name) {
    const char *outer = getenv("LK_OUTER");
    const char *paths = getenv("LK_PATH");
    const char *tokens = getenv("LK_TOKENS");
    char *text = NULL;
    size_t size = 0;
    FILE *words = open_memstream(&text, &size);

    if (words == NULL) {
        return NULL;
    }
    (void)fprintf(words, "%s%s", name, outer != NULL ? outer : "");
    while (paths != NULL && *paths != '\0' && tokens != NULL && *tokens != '\0') {
        int path_size = (int)strcspn(paths, " ");
        int token_size = (int)strcspn(tokens, " ");
        (void)fprintf(words, " %.*s:%.*s", token_size, tokens, path_size, paths);
        paths += path_size + (paths[path_size] == ' ');
        tokens += token_size + (tokens[token_size] == ' ');
    }
    return fclose(words) == 0 ? text : NULL;
}

/* The store in every directory, and the file with its password, if it has one. */
static void describe_store(char **owned, const char *store_url) {
    char *url = lk_url_absolute(store_url);
    char *shown = url != NULL ? lk_url_without_password(url) : NULL;
    char *file = url != NULL ? lk_secret_url_offer(url) : NULL;

    owned[0] = shown != NULL ? lk_text_make("%s%s", lease_names[0], shown) : NULL;
    owned[ALWAYS_SET] = file != NULL ? lk_text_make("%s%s", lease_names[ALWAYS_SET], file) : NULL;
    free(file);
    free(shown);
    free(url);
}

static bool describe_lease(struct lk_run_environment *environment, const char *store_url,
                           const lk_result *granted) {
    char **owned = environment->owned;

    describe_store(owned, store_url);
    owned[1] = joined_paths(lease_names[1], granted->paths, granted->path_count);
    owned[2] = lk_text_make("%s%s", lease_names[2], granted->owner);
    owned[3] = lk_text_make("%s%" PRIu64, lease_names[3], granted->token);
    owned[4] = joined_tokens(lease_names[4], granted);
    owned[5] = lk_text_make("%s%" PRId64, lease_names[5],
                            granted->fixed ? granted->expires_in_ms : granted->ttl_ms);
    owned[6] = outer_leases(lease_names[6]);
    owned[7] = lk_text_make("%s%s", lease_names[7], granted->owner);
    for (size_t i = 0; i < ALWAYS_SET; i++) {
        if (owned[i] == NULL) {
            return false;
        }
    }
    return true;
}

bool lk_run_environment_init(struct lk_run_environment *environment, const char *store_url,
                             const lk_result *granted) {
    size_t count = 0;

    memset(environment, 0, sizeof *environment);
    for (char **variable = environ; *variable != NULL; variable++) {
        count++;
    }
    size_t room = count + LK_RUN_LEASE_VARIABLES + 2;
    environment->command = calloc(room, sizeof *environment->command);
    environment->cleanup = calloc(room, sizeof *environment->cleanup);
    if (environment->command == NULL || environment->cleanup == NULL
        || (granted != NULL && !describe_lease(environment, store_url, granted))) {
        lk_run_environment_done(environment);
        return false;
    }

    size_t commands = 0;
    size_t cleanups = 0;
    for (char **variable = environ; *variable != NULL; variable++) {
        if (granted != NULL && is_of_lease(*variable)) {
            continue;
        }
        environment->command[commands++] = *variable;
        if (!begins_with(*variable, exit_name)) {
            environment->cleanup[cleanups++] = *variable;
        }
    }
    for (size_t i = 0; i < LK_RUN_LEASE_VARIABLES; i++) {
        if (environment->owned[i] != NULL) {
            environment->command[commands++] = environment->owned[i];
            environment->cleanup[cleanups++] = environment->owned[i];
        }
    }
    environment->cleanup[cleanups] = environment->exit_text;
    lk_run_environment_set_exit(environment, 0);
    return true;
}

void lk_run_environment_done(struct lk_run_environment *environment) {
    for (size_t i = 0; i < LK_RUN_LEASE_VARIABLES; i++) {
        free(environment->owned[i]);
        environment->owned[i] = NULL;
    }
    free(environment->command);
    free(environment->cleanup);
    environment->command = NULL;
    environment->cleanup = NULL;
}

void lk_run_environment_set_exit(struct lk_run_environment *environment, int exit_code) {
    char digits[4];
    size_t count = 0;
    unsigned rest = (unsigned)exit_code & 0xffU;

    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    char *end = stpcpy(environment->exit_text, exit_name);
    while (count > 0) {
        *end++ = digits[--count];
    }
    *end = '\0';
}
