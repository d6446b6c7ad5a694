/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lk break and lk audit: ending requests of other owners, and the record of it (R12). lk limits:
 * the bounds of a store.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/program.h"
#include "cli/cli.h"
#include "cli/parse/caller.h"
#include "cli/parse/value.h"
#include "cli/print/broken.h"
#include "cli/print/human.h"
#include "cli/print/say.h"
#include "form/form.h"
#include "model/part.h"

/*
 * Listings show only the first part of an owner that lk made, so that is what is typed. Sets
 * *owner to the one owner at the path that is shown so; it stays if there is none. LK_INVALID:
 * there are several. `ret_owner` has room for it.
 */
static lk_outcome find_shown_owner(lk_store *store, const char *path, const char **owner,
                                   char ret_owner[LK_OWNER_TEXT_SIZE], lk_error *error) {
    lk_listing *listing;
    const char *shown = *owner;
    size_t size = strlen(shown);

    lk_outcome outcome = lk_list(store, path, &listing, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    ret_owner[0] = '\0';
    for (size_t i = 0; i < listing->count && outcome == LK_OK; i++) {
        const char *known = listing->entries[i].owner;
        if (strncmp(known, shown, size) != 0 || lk_human_owner_size(known) != (int)size
            || strcmp(known, ret_owner) == 0) {
            continue;
        }
        if (ret_owner[0] != '\0') {
            outcome =
                lk_error_set(error, LK_INVALID,
                             "more than one owner is shown as \"%s\"; --json names them", shown);
        }
        (void)snprintf(ret_owner, LK_OWNER_TEXT_SIZE, "%s", known);
    }
    *owner = ret_owner[0] != '\0' ? ret_owner : shown;
    lk_listing_free(listing);
    return outcome;
}

static int say_broken(const struct lk_cli *cli, lk_store *store, const lk_break_request *request,
                      size_t count) {
    if (cli->json) {
        struct lk_object object;
        lk_form_write_broken(lk_object_begin(&object), count);
        return lk_say_object(cli, LK_OK, &object);
    }
    if (!cli->quiet && !lk_broken_say(cli->out, store, request, count)) {
        (void)fprintf(cli->err, "%s: there is no request%s at %s\n", lk_program(),
                      request->owner != NULL ? " of this owner" : "", request->path);
    }
    return 0;
}

int lk_cli_break(const struct lk_cli *cli, const struct lk_command_line *line) {
    char by[LK_OWNER_TEXT_SIZE];
    char owner[LK_OWNER_TEXT_SIZE];
    lk_store *store;
    lk_error error;
    size_t count = 0;
    int exit_code;

    if (lk_command_line_text(line, LK_OPTION_REASON) == NULL) {
        return lk_say_failure(cli, LK_INVALID, "break needs --reason TEXT: it goes on record");
    }
    if (lk_cli_open(cli, line, &store, &exit_code) != LK_OK) {
        return exit_code;
    }
    lk_shell_user(by);
    lk_break_request request = {
        .size = sizeof request,
        .path = line->words[0],
        .reason = lk_command_line_text(line, LK_OPTION_REASON),
        .by = by,
        .owner = lk_command_line_text(line, LK_OPTION_OWNER),
        .at_once = lk_command_line_has(line, LK_OPTION_NOW),
    };
    lk_outcome outcome = LK_OK;
    if (request.owner != NULL && request.owner[0] != '\0') {
        outcome = find_shown_owner(store, request.path, &request.owner, owner, &error);
    }
    if (outcome == LK_OK) {
        outcome = lk_break(store, &request, &count, &error);
    }
    exit_code = outcome == LK_OK ? say_broken(cli, store, &request, count)
                                 : lk_say_failure(cli, outcome, error.text);
    lk_close(store);
    return exit_code;
}

int lk_cli_cancel(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store) {
    char by[LK_OWNER_TEXT_SIZE];
    const lk_cancel_request request = {
        .size = sizeof request,
        .queue = line->words[0],
        .id = line->words[1],
        .reason = lk_command_line_text(line, LK_OPTION_REASON),
        .by = by,
        .at_once = lk_command_line_has(line, LK_OPTION_NOW),
    };
    bool is_claimed;
    lk_error error;
    lk_outcome outcome;

    if (request.reason == NULL) {
        return lk_say_failure(cli, LK_INVALID, "cancel needs --reason TEXT: it goes on record");
    }
    lk_shell_user(by);
    outcome = lk_cancel_item(store, &request, &is_claimed, &error);
    if (outcome != LK_OK) {
        return lk_say_failure(cli, outcome, error.text);
    }
    if (cli->json) {
        struct lk_object object;
        struct lk_form_writer *writer = lk_object_begin(&object);
        lk_form_open_answer(writer, LK_OK);
        lk_form_add_boolean(writer, "claimed", is_claimed);
        lk_form_close(writer);
        return lk_say_object(cli, LK_OK, &object);
    }
    if (!cli->quiet) {
        lk_cancelled_say(cli->out, store, &request, is_claimed);
    }
    return 0;
}

/* One break as a paragraph; false when memory is exhausted. */
static bool write_entry(FILE *out, const lk_audit_entry *entry) {
    char *owner = lk_human_owner_of(entry->owner, entry->user);
    char *by = lk_human_visible(entry->by);
    char *reason = lk_human_visible(entry->reason);
    char *note = lk_human_visible(entry->note != NULL ? entry->note : "");
    bool whole = owner != NULL && by != NULL && reason != NULL && note != NULL;

    if (whole) {
        char when[64] = "";
        time_t at_s = (time_t)(entry->at_unix_ms / 1000);
        struct tm local;
        if (localtime_r(&at_s, &local) != NULL) {
            (void)strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S %z", &local);
        }
        (void)fprintf(out, "%s  %s  ", when, entry->path);
        if (entry->owner[0] == '\0') {
            (void)fprintf(out, "an item, not claimed\n    cancelled by %s: %s\n", by, reason);
        } else {
            (void)fprintf(out, "%s by %s%s%s%s, ticket %" PRIu64 "\n    broken by %s: %s\n",
                          entry->held ? "held" : "waited for", owner, note[0] != '\0' ? " (" : "",
                          note, note[0] != '\0' ? ")" : "", entry->ticket, by, reason);
        }
    }
    free(note);
    free(reason);
    free(by);
    free(owner);
    return whole;
}

static int say_audit(const struct lk_cli *cli, const lk_audit *audit) {
    for (size_t i = 0; i < audit->count; i++) {
        if (cli->json) {
            struct lk_object object;
            lk_form_write_audit_entry(lk_object_begin(&object), &audit->entries[i]);
            int exit_code = lk_say_object(cli, LK_OK, &object);
            if (exit_code != 0) {
                return exit_code;
            }
        } else if (!write_entry(cli->out, &audit->entries[i])) {
            return lk_say_failure(cli, LK_INTERNAL, "memory is exhausted");
        }
    }
    return 0;
}

int lk_cli_audit(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store) {
    lk_audit *audit;
    lk_error error;
    int exit_code;

    if (lk_audit_read(store, line->words[0], &audit, &error) != LK_OK) {
        return lk_say_failure(cli, error.outcome, error.text);
    }
    exit_code = say_audit(cli, audit);
    if (audit->count == 0) {
        lk_cli_say_empty(cli, line, store, "no break is on record", line->words[0]);
    }
    lk_audit_free(audit);
    return exit_code;
}

/* ---- lk limits ------------------------------------------------------------------------------- */

/* The bounds that a store keeps (R22), and how many events (R21). */

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
