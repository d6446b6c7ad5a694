/* SPDX-License-Identifier: Apache-2.0 */
/* lk limits: the bounds that a store keeps (R22), and how many events (R21). */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/parse/value.h"
#include "cli/print/say.h"
#include "form/form.h"
#include "model/part.h"

static const struct {
    const char *name;
    size_t offset; /* in lk_limits */
    int64_t max;
    const char *unset; /* what 0 means */
} limits_known[] = {
    {"live", offsetof(lk_limits, live), LK_LIMIT_MAX, "no bound"},
    {"live-per-owner", offsetof(lk_limits, live_per_owner), LK_LIMIT_MAX, "no bound"},
    {"live-per-root", offsetof(lk_limits, live_per_root), LK_LIMIT_MAX, "no bound"},
    {"waiters-per-path", offsetof(lk_limits, waiters_per_path), LK_LIMIT_MAX, "no bound"},
    {"events", offsetof(lk_limits, events), LK_EVENTS_KEPT_MAX, "only while a watch runs"},
};
enum { LIMITS_KNOWN = sizeof limits_known / sizeof limits_known[0] };

static uint64_t *limit_at(lk_limits *limits, size_t index) {
    return (uint64_t *)((char *)limits + limits_known[index].offset);
}

/* Parses one NAME=N into its field. */
static lk_outcome parse_limit(const char *word, lk_limits *limits, lk_error *error) {
    size_t name_size = strcspn(word, "=");
    int64_t number;

    for (size_t i = 0; i < LIMITS_KNOWN; i++) {
        if (strlen(limits_known[i].name) != name_size
            || memcmp(limits_known[i].name, word, name_size) != 0) {
            continue;
        }
        if (word[name_size] != '=') {
            return lk_error_set(error, LK_INVALID, "\"%s\" needs a number: %s=N", word, word);
        }
        if (*limit_at(limits, i) != LK_LIMIT_AS_IS) {
            return lk_error_set(error, LK_INVALID, "\"%s\" is set twice", limits_known[i].name);
        }
        if (lk_number_parse(word + name_size + 1, 0, limits_known[i].max, &number, error)
            != LK_OK) {
            return LK_INVALID;
        }
        *limit_at(limits, i) = (uint64_t)number;
        return LK_OK;
    }
    return lk_error_set(error, LK_INVALID,
                        "\"%s\" is no bound; there are live, live-per-owner, live-per-root, "
                        "waiters-per-path and events",
                        word);
}

static lk_outcome parse_limits(const struct lk_command_line *line, lk_limits *limits,
                               lk_error *error) {
    lk_outcome outcome = LK_OK;

    for (size_t i = 0; i < LIMITS_KNOWN; i++) {
        *limit_at(limits, i) = LK_LIMIT_AS_IS;
    }
    for (size_t i = 0; i < line->word_count && outcome == LK_OK; i++) {
        outcome = parse_limit(line->words[i], limits, error);
    }
    return outcome;
}

static void write_limits(const struct lk_cli *cli, lk_limits *limits) {
    for (size_t i = 0; i < LIMITS_KNOWN; i++) {
        uint64_t limit = *limit_at(limits, i);
        (void)fprintf(cli->out, "%s %" PRIu64, limits_known[i].name, limit);
        if (limit == 0) {
            (void)fprintf(cli->out, " (%s)", limits_known[i].unset);
        }
        (void)fputc('\n', cli->out);
    }
}

/* Sets the bounds that are named, if any, and prints all bounds. */
static int set_and_say(const struct lk_cli *cli, const struct lk_command_line *line,
                       lk_store *store, const lk_limits *wanted) {
    lk_limits limits = {.size = sizeof limits};
    lk_error error;
    lk_outcome outcome = LK_OK;

    if (line->word_count > 0) {
        outcome = lk_limits_set(store, wanted, &error);
    }
    if (outcome == LK_OK) {
        outcome = lk_limits_get(store, &limits, &error);
    }
    if (outcome != LK_OK) {
        return lk_say_failure(cli, outcome, error.text);
    }
    if (cli->json) {
        struct lk_object object;
        lk_form_write_limits(lk_object_begin(&object), &limits);
        return lk_say_object(cli, LK_OK, &object);
    }
    if (!cli->quiet) {
        write_limits(cli, &limits);
    }
    return 0;
}

int lk_cli_limits(const struct lk_cli *cli, const struct lk_command_line *line) {
    lk_limits wanted = {.size = sizeof wanted};
    lk_store *store;
    lk_error error;
    int exit_code;

    if (parse_limits(line, &wanted, &error) != LK_OK) {
        return lk_say_failure(cli, LK_INVALID, error.text);
    }
    if (lk_cli_open(cli, line, &store, &exit_code) == LK_OK) {
        exit_code = set_and_say(cli, line, store, &wanted);
        lk_close(store);
    }
    return exit_code;
}
