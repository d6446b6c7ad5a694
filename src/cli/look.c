/* SPDX-License-Identifier: Apache-2.0 */
/* lk ls and lk show: who holds what, who waits, and for whom (R20). */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/human.h"
#include "cli/say.h"
#include "cli/table.h"
#include "form/form.h"

enum { MODE_SIZE = 48 };

static void mode_text(const lk_entry *entry, char ret_text[MODE_SIZE]) {
    if (entry->limit != 0) {
        (void)snprintf(ret_text, MODE_SIZE, "shared %" PRIu32 "/%" PRIu32, entry->units,
                       entry->limit);
    } else {
        (void)snprintf(ret_text, MODE_SIZE, "%s", entry->shared ? "shared" : "exclusive");
    }
}

static const char *state_text(const lk_entry *entry) {
    if (!entry->held) {
        return "waiting";
    }
    return entry->revoked ? "revoked" : "held";
}

static int say_entries(const struct lk_cli *cli, const lk_listing *listing, bool with_blockers) {
    for (size_t i = 0; i < listing->count; i++) {
        json_t *object = lk_form_entry(&listing->entries[i], with_blockers);
        int exit_code = lk_say_object(cli, LK_OK, object);
        if (exit_code != 0) {
            return exit_code;
        }
    }
    return 0;
}

/* ---- ls -------------------------------------------------------------------------------------- */

static void add_row(struct lk_table *table, const lk_entry *entry) {
    char mode[MODE_SIZE];

    mode_text(entry, mode);
    lk_table_add(table, entry->path);
    lk_table_add(table, state_text(entry));
    lk_table_add(table, mode);
    lk_table_add(table, entry->owner);
    lk_table_add_duration(table, entry->age_ms);
    lk_table_add_duration(table, entry->expires_in_ms);
    lk_table_add_number(table, entry->held ? entry->token : entry->ticket);
    lk_table_add(table, entry->note != NULL ? entry->note : "");
}

static int write_table(const struct lk_cli *cli, const lk_listing *listing) {
    static const char *const titles[] = {"PATH", "STATE", "MODE",         "OWNER",
                                         "AGE",  "LEFT",  "TOKEN/TICKET", "NOTE"};
    struct lk_table table;

    if (listing->count == 0) {
        return 0;
    }
    lk_table_open(&table, titles, sizeof titles / sizeof titles[0]);
    for (size_t i = 0; i < listing->count; i++) {
        add_row(&table, &listing->entries[i]);
    }
    bool written = lk_table_write(&table, cli->out, cli->colour);
    lk_table_close(&table);
    return written ? 0 : lk_say_failure(cli, LK_INTERNAL, "memory is exhausted");
}

int lk_cli_ls(const struct lk_cli *cli, const struct lk_command_line *line) {
    lk_store *store;
    lk_listing *listing = NULL;
    lk_error error;
    int exit_code;

    if (lk_cli_open(cli, line, &store, &exit_code) != LK_OK) {
        return exit_code;
    }
    lk_outcome outcome =
        lk_list(store, line->word_count > 0 ? line->words[0] : NULL, &listing, &error);
    if (outcome != LK_OK) {
        exit_code = lk_say_failure(cli, outcome, error.text);
    } else {
        exit_code = cli->json ? say_entries(cli, listing, false) : write_table(cli, listing);
    }
    lk_listing_free(listing);
    lk_close(store);
    return exit_code;
}

/* ---- show ------------------------------------------------------------------------------------ */

static void write_visible(FILE *out, const char *text) {
    char *visible = lk_human_visible(text);
    (void)fputs(visible != NULL ? visible : "?", out);
    free(visible);
}

static void write_note(FILE *out, const char *note) {
    if (note != NULL && note[0] != '\0') {
        (void)fputs(", note: ", out);
        write_visible(out, note);
    }
}

/* Whom a waiting request waits for: one line each, as branches below it. */
static void write_blockers(FILE *out, const lk_entry *entry) {
    size_t unnamed =
        entry->position > entry->blocker_count ? entry->position - entry->blocker_count : 0;

    for (size_t i = 0; i < entry->blocker_count; i++) {
        const lk_blocker_info *blocker = &entry->blockers[i];
        bool last = i + 1 == entry->blocker_count && unnamed == 0;
        char left[LK_HUMAN_DURATION_SIZE];

        lk_human_duration(blocker->expires_in_ms, left);
        (void)fprintf(out, "         %s for ", last ? "`-" : "|-");
        write_visible(out, blocker->owner);
        (void)fprintf(out, ", who %s %s, %s left", blocker->held ? "holds" : "waits ahead for",
                      blocker->path, left);
        write_note(out, blocker->note);
        (void)fputc('\n', out);
    }
    if (unnamed > 0) {
        (void)fprintf(out, "         `- and %zu more\n", unnamed);
    }
}

/* One request of `count` parts, whose first is `parts[0]`. */
static void write_request(const struct lk_cli *cli, const lk_entry *parts, size_t count) {
    char age[LK_HUMAN_DURATION_SIZE];
    char left[LK_HUMAN_DURATION_SIZE];
    char mode[MODE_SIZE];

    (void)fprintf(cli->out, "%s%-9s%s", cli->colour ? (parts->held ? "\x1b[32m" : "\x1b[33m") : "",
                  state_text(parts), cli->colour ? "\x1b[0m" : "");
    write_visible(cli->out, parts->owner);
    for (size_t i = 0; i < count; i++) {
        mode_text(&parts[i], mode);
        (void)fprintf(cli->out, "%s%s %s", i == 0 ? ": " : " + ", parts[i].path, mode);
    }
    lk_human_duration(parts->age_ms, age);
    lk_human_duration(parts->expires_in_ms, left);
    (void)fprintf(cli->out, "; for %s, %s left, %s %" PRIu64, age, left,
                  parts->held ? "token" : "ticket", parts->held ? parts->token : parts->ticket);
    write_note(cli->out, parts->note);
    (void)fputc('\n', cli->out);
    if (!parts->held) {
        write_blockers(cli->out, parts);
    }
}

static int write_requests(const struct lk_cli *cli, const char *path, const lk_listing *listing) {
    size_t first = 0;

    if (listing->count == 0 && !cli->quiet) {
        (void)fprintf(cli->out, "nobody holds %s or waits for it\n", path);
    }
    while (first < listing->count) {
        const lk_entry *parts = &listing->entries[first];
        size_t count = 1;
        while (first + count < listing->count
               && parts[count].request_index == parts->request_index) {
            count++;
        }
        write_request(cli, parts, count);
        first += count;
    }
    return 0;
}

int lk_cli_show(const struct lk_cli *cli, const struct lk_command_line *line) {
    lk_store *store;
    lk_listing *listing = NULL;
    lk_error error;
    int exit_code;

    if (lk_cli_open(cli, line, &store, &exit_code) != LK_OK) {
        return exit_code;
    }
    lk_outcome outcome = lk_show(store, line->words[0], &listing, &error);
    if (outcome != LK_OK) {
        exit_code = lk_say_failure(cli, outcome, error.text);
    } else {
        exit_code = cli->json ? say_entries(cli, listing, true)
                              : write_requests(cli, line->words[0], listing);
    }
    lk_listing_free(listing);
    lk_close(store);
    return exit_code;
}
