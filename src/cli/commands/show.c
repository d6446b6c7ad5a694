/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lk ls: each part of every live request.
 *
 * lk show: the holders and waiters of a path, and what blocks each waiter, to the holders (R20).
 *
 * If all requests are for one path, they are one queue: a line each, numbered, needs no chains. The
 * listing is all of the queue, so these lines are right however long it is, where a store names
 * only the first blockers. Requests with several or different paths are drawn with their chains.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/print/human.h"
#include "cli/print/say.h"
#include "cli/print/wait_graph.h"

/* ---- lk ls ----------------------------------------------------------------------------------- */

static void add_entry(struct lk_table *table, const lk_entry *entry) {
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

static int write_entries(const struct lk_cli *cli, const lk_listing *listing) {
    static const char *const titles[] = {"PATH", "STATE", "MODE",         "OWNER",
                                         "AGE",  "LEFT",  "TOKEN/TICKET", "NOTE"};
    struct lk_table table;

    if (listing->count == 0) {
        return 0;
    }
    lk_table_open(&table, titles, sizeof titles / sizeof titles[0]);
    for (size_t i = 0; i < listing->count; i++) {
        add_entry(&table, &listing->entries[i]);
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
    exit_code = cli->json ? lk_entries_say(cli, listing, false) : write_entries(cli, listing);
    if (listing->count == 0) {
        lk_cli_say_empty(cli, line, store, "nothing is held and nothing waits", line->words[0]);
    }
    lk_listing_free(listing);
    return exit_code;
}

/* ---- lk show --------------------------------------------------------------------------------- */

/* How many listings are read to follow a chain that leaves the path of the command. */
enum { LISTINGS_MAX = 32 };

enum { STATE_SIZE = 40 };

/* The listing of the path, and others for the rest of the chains. */
struct seen {
    lk_listing *listings[LISTINGS_MAX];
    size_t count;
    struct lk_wait_graph *waits;
};

static bool know_waits(struct seen *seen) {
    lk_wait_graph_free(seen->waits);
    seen->waits = lk_wait_graph_new((const lk_listing *const *)seen->listings, seen->count);
    return seen->waits != NULL;
}

/*
 * A blocker may wait at a path that is unrelated to the one of the command. It is looked up too. It
 * may have been granted or ended meanwhile; then the chain ends there.
 */
static bool look_further(lk_store *store, struct seen *seen) {
    const char *former = NULL;
    size_t hopeless = 0; /* blockers that were looked up and not found */

    while (know_waits(seen)) {
        const char *path = lk_wait_graph_unknown(seen->waits, hopeless);
        if (path != NULL && former != NULL && strcmp(path, former) == 0) {
            path = lk_wait_graph_unknown(seen->waits, ++hopeless);
        }
        if (path == NULL || seen->count == LISTINGS_MAX
            || lk_show(store, path, &seen->listings[seen->count], NULL) != LK_OK) {
            return true;
        }
        former = path;
        seen->count++;
    }
    return false;
}

static void close_seen(struct seen *seen) {
    lk_wait_graph_free(seen->waits);
    for (size_t i = 0; i < seen->count; i++) {
        lk_listing_free(seen->listings[i]);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

/* The chain below a request that waits, for free(); NULL when memory is exhausted. */
static char *chain_text(const struct lk_cli *cli, struct lk_wait_graph *waits,
                        const lk_entry *entry) {
    struct lk_chain chain;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL) {
        return NULL;
    }
    lk_chain_make(waits, entry->ticket, entry->owner, &chain);
    for (size_t i = 0; i < chain.count; i++) {
        (void)fputs("         ", out);
        lk_chain_write(out, &chain, i, cli->drawn);
        (void)fputc('\n', out);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* All parts with their modes, the note, and the owner that it is `behind`, which may be NULL; for
 * free(). NULL when memory is exhausted. */
static char *parts_text(const lk_entry *parts, size_t count, const char *behind) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        char mode[LK_ENTRY_MODE_SIZE];
        lk_entry_mode_text(&parts[i], mode);
        (void)fprintf(out, "%s%s %s", i > 0 ? " + " : "", parts[i].path, mode);
    }
    if (parts->note != NULL && parts->note[0] != '\0') {
        (void)fprintf(out, " (%s)", parts->note);
    }
    if (behind != NULL) {
        (void)fprintf(out, ", behind %.*s", lk_human_owner_size(behind), behind);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* Takes over the text, which may be NULL: memory is exhausted. */
static void add_row(struct lk_table *table, const char *state, const lk_entry *entry, char *text) {
    lk_table_add_coloured(table, state, lk_entry_colour(entry));
    lk_table_add_owner(table, entry->owner, entry->user);
    lk_table_add_duration(table, entry->age_ms);
    lk_table_add_duration(table, entry->expires_in_ms);
    lk_table_add_number(table, entry->held ? entry->token : entry->ticket);
    lk_table_add(table, text != NULL ? text : "?");
    free(text);
}

/* ---- a queue at one path --------------------------------------------------------------------- */

static bool is_one_queue(const lk_listing *listing) {
    for (size_t i = 1; i < listing->count; i++) {
        if (strcmp(listing->entries[i].path, listing->entries[0].path) != 0) {
            return false;
        }
    }
    return true;
}

static bool is_exclusive(const lk_entry *entry) {
    return entry->limit == 0 && !entry->shared;
}

/* The units that a request takes of the limit of another one for the same path (R7). */
static uint64_t units_of(const lk_entry *entry) {
    return is_exclusive(entry) ? 0 : entry->units;
}

/* Of all held requests: one that was granted after another began to wait counts for that, too. */
static uint64_t units_held(const lk_listing *listing) {
    uint64_t units = 0;

    for (size_t i = 0; i < listing->count; i++) {
        units += listing->entries[i].held ? units_of(&listing->entries[i]) : 0;
    }
    return units;
}

/*
 * The owner of the request that this one is behind: the last before it of those that block it, or
 * else the last holder after it. A request blocks it if both conflict or, where the units in use
 * leave too few of its limit, if it counts for that (R20). The limit of the other one does not
 * matter. NULL: none.
 */
static const char *owner_ahead(const lk_listing *listing, size_t index, uint64_t units_in_use) {
    const lk_entry *entry = &listing->entries[index];
    bool is_full = entry->limit != 0 && units_in_use + entry->units > entry->limit;

    for (size_t i = 1; i < listing->count; i++) {
        size_t at =
            (index + listing->count - i) % listing->count; /* down to 0, then from the end */
        const lk_entry *other = &listing->entries[at];
        if ((at < index || other->held)
            && (is_full || is_exclusive(entry) || is_exclusive(other))) {
            return other->owner;
        }
    }
    return NULL;
}

static int write_queue(const struct lk_cli *cli, struct lk_table *table,
                       const lk_listing *listing) {
    size_t place = 0;
    uint64_t units_in_use = units_held(listing); /* and those of the waiting requests ahead */

    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        char state[STATE_SIZE];
        if (entry->held) {
            add_row(table, lk_entry_state_text(entry), entry, parts_text(entry, 1, NULL));
        } else {
            (void)snprintf(state, sizeof state, "%s #%zu", lk_entry_state_text(entry), ++place);
            add_row(table, state, entry,
                    parts_text(entry, 1, owner_ahead(listing, i, units_in_use)));
            units_in_use += units_of(entry);
        }
    }
    return lk_say_table(cli, table);
}

/* ---- requests with their chains -------------------------------------------------------------- */

static void add_request(const struct lk_cli *cli, struct lk_table *table,
                        struct lk_wait_graph *waits, const lk_entry *parts, size_t count) {
    add_row(table, lk_entry_state_text(parts), parts, parts_text(parts, count, NULL));
    if (!parts->held) {
        lk_table_add_below(table, chain_text(cli, waits, parts));
    }
}

static int write_requests(const struct lk_cli *cli, const struct seen *seen) {
    static const char *const titles[] = {"STATE", "OWNER",        "AGE",
                                         "LEFT",  "TOKEN/TICKET", "PARTS (NOTE)"};
    const lk_listing *listing = seen->listings[0];
    struct lk_table table;

    lk_table_open(&table, titles, sizeof titles / sizeof titles[0]);
    if (is_one_queue(listing)) {
        return write_queue(cli, &table, listing);
    }
    for (size_t first = 0, count; first < listing->count; first += count) {
        const lk_entry *parts = &listing->entries[first];
        count = 1;
        while (first + count < listing->count
               && parts[count].request_index == parts->request_index) {
            count++;
        }
        add_request(cli, &table, seen->waits, parts, count);
    }
    return lk_say_table(cli, &table);
}

/* Takes over the listing. */
static int show(const struct lk_cli *cli, lk_store *store, const char *path, lk_listing *listing) {
    struct seen seen = {.listings = {listing}, .count = 1};
    int exit_code = 0;

    if (listing->count > 0) {
        exit_code = is_one_queue(listing) || look_further(store, &seen)
                        ? write_requests(cli, &seen)
                        : lk_say_failure(cli, LK_INTERNAL, "memory is exhausted");
    } else if (!cli->quiet) {
        (void)fprintf(cli->out, "no request holds %s or waits for it\n", path);
    }
    close_seen(&seen);
    return exit_code;
}

int lk_cli_show(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store) {
    lk_listing *listing;
    lk_error error;
    int exit_code;

    if (lk_show(store, line->words[0], &listing, &error) != LK_OK) {
        return lk_say_failure(cli, error.outcome, error.text);
    }
    if (!cli->json) {
        return show(cli, store, line->words[0], listing);
    }
    exit_code = lk_entries_say(cli, listing, true);
    lk_listing_free(listing);
    return exit_code;
}
