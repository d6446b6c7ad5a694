/* SPDX-License-Identifier: Apache-2.0 */
/* lk ls: each part of every live request. */
#include "cli/cli.h"
#include "cli/print/say.h"

static void add_row(struct lk_table *table, const lk_entry *entry) {
    char mode[LK_ENTRY_MODE_SIZE];

    lk_entry_mode_text(entry, mode);
    lk_table_add(table, entry->path);
    lk_table_add_coloured(table, lk_entry_state_text(entry), lk_entry_colour(entry));
    lk_table_add(table, mode);
    lk_table_add_owner(table, entry->owner, entry->user);
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
    return lk_say_table(cli, &table);
}

int lk_cli_ls(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store) {
    lk_listing *listing;
    lk_error error;
    int exit_code;

    if (lk_list(store, line->words[0], &listing, &error) != LK_OK) {
        return lk_say_failure(cli, error.outcome, error.text);
    }
    exit_code = cli->json ? lk_entries_say(cli, listing, false) : write_table(cli, listing);
    if (listing->count == 0) {
        lk_cli_say_empty(cli, line, store, "nothing is held and nothing waits", line->words[0]);
    }
    lk_listing_free(listing);
    return exit_code;
}
