/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words before the cursor are read with the tables of commands and options, without checks:
 * errors of a line are reported when it is run. Texts from the store are offered only if they are
 * one plain word.
 */
#include "cli/complete.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/print/human.h"
#include "cli/store_is_there.h"
#include "lockkeeper/lockkeeper.h"

enum { PATIENCE_S = 2, CANDIDATES_MAX = 1000 };

/* Where the cursor is. */
struct place {
    const struct lk_cli_command *command; /* NULL: none yet */
    const struct lk_option *pending;      /* whose value is at the cursor; NULL: none */
    const char *store;                    /* of -S; NULL: the default one */
    bool is_in_tail;                      /* behind `--`: a command of the user's */
    bool is_lost;                         /* behind an unknown command */
    const char *current;
    FILE *out;
};

/* ---- the walk -------------------------------------------------------------------------------- */

static const struct lk_option *known_option(enum lk_option_id id) {
    return id != LK_OPTION_COUNT ? lk_option_at(id) : NULL;
}

/* The option that a word begins, if its value is missing; *ret_value is a value joined to it. */
static const struct lk_option *option_of(const char *word, const char **ret_value) {
    const struct lk_option *option = NULL;

    *ret_value = NULL;
    if (word[0] == '-' && word[1] == '-') {
        size_t size = strcspn(word + 2, "=");
        option = known_option(lk_option_by_name(word + 2, size));
        *ret_value = word[2 + size] == '=' ? word + 3 + size : NULL;
        return option;
    }
    for (const char *letter = word + 1; *letter != '\0'; letter++) {
        option = known_option(lk_option_by_letter(*letter));
        if (option == NULL || option->kind != LK_KIND_FLAG) {
            *ret_value = letter[1] != '\0' ? letter + 1 : NULL;
            return option;
        }
    }
    return option;
}

static void note_value(struct place *place, const struct lk_option *option, const char *value) {
    if (option == lk_option_at(LK_OPTION_STORE)) {
        place->store = value;
    }
}

static void walk(struct place *place, const char *word) {
    const char *value;

    if (place->is_lost) {
        return;
    }
    if (place->pending != NULL) {
        note_value(place, place->pending, word);
        place->pending = NULL;
    } else if (place->is_in_tail) {
        return;
    } else if (strcmp(word, "--") == 0) {
        place->is_in_tail = place->command == NULL || place->command->has_tail;
    } else if (word[0] == '-' && word[1] != '\0') {
        const struct lk_option *option = option_of(word, &value);
        if (option != NULL && option->kind != LK_KIND_FLAG && value == NULL) {
            place->pending = option;
        } else if (option != NULL && value != NULL) {
            note_value(place, option, value);
        }
    } else if (place->command == NULL) {
        place->command = lk_cli_command_by_name(word);
        place->is_lost = place->command == NULL;
    }
}

/* ---- candidates ------------------------------------------------------------------------------ */

/* Offers `prefix` and `text` together if they begin with the current word. */
static void offer(const struct place *place, const char *prefix, const char *text,
                  const char *about) {
    size_t size = strlen(place->current);
    size_t prefix_size = strlen(prefix);
    bool fits = size <= prefix_size
                    ? strncmp(place->current, prefix, size) == 0
                    : strncmp(place->current, prefix, prefix_size) == 0
                          && strncmp(place->current + prefix_size, text, size - prefix_size) == 0;
    if (fits) {
        (void)fprintf(place->out, "%s%s\t%s\n", prefix, text, about);
    }
}

static void offer_commands(const struct place *place) {
    for (const struct lk_cli_command *command = lk_cli_commands; command->name != NULL; command++) {
        offer(place, "", command->name, command->summary);
    }
}

/* Up to the first line end: one line is enough. */
static void offer_option(const struct place *place, const struct lk_option *option) {
    char name[64];
    char about[80];

    (void)snprintf(name, sizeof name, "--%s", option->name);
    (void)snprintf(about, sizeof about, "%.*s", (int)strcspn(option->help, "\n"), option->help);
    offer(place, "", name, about);
}

static void offer_options(const struct place *place) {
    for (int id = 0; id < LK_OPTION_COUNT; id++) {
        bool is_common = id == LK_OPTION_STORE || id == LK_OPTION_HELP || id == LK_OPTION_VERSION;
        if (place->command != NULL ? (place->command->options & LK_OPTION_BIT(id)) != 0
                                   : is_common) {
            offer_option(place, lk_option_at((enum lk_option_id)id));
        }
    }
    if (place->command != NULL && place->command->has_tail) {
        offer(place, "", "--", "the command to run comes behind it");
    }
}

/* ---- out of the store ------------------------------------------------------------------------ */

/* NULL when the store cannot be read. */
static lk_listing *read_store(const struct place *place) {
    lk_listing *listing = NULL;
    lk_store *store;

    if (!lk_store_is_there(place->store) || lk_open(place->store, &store, NULL) != LK_OK) {
        return NULL;
    }
    if (lk_list(store, NULL, &listing, NULL) != LK_OK) {
        listing = NULL;
    }
    lk_close(store);
    return listing;
}

/* One word without white space and without characters that affect a terminal. */
static bool is_plain_word(const char *text) {
    char *visible = lk_human_visible(text);
    bool is_plain = visible != NULL && strcmp(visible, text) == 0 && strpbrk(text, " \t") == NULL;

    free(visible);
    return is_plain;
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts texts and offers each once, without a description. */
static void offer_texts(const struct place *place, const char *prefix, const char **texts,
                        size_t count) {
    if (count > 1) {
        qsort(texts, count, sizeof texts[0], compare_texts);
    }
    for (size_t i = 0; i < count && i < CANDIDATES_MAX; i++) {
        if ((i == 0 || strcmp(texts[i - 1], texts[i]) != 0) && is_plain_word(texts[i])) {
            offer(place, prefix, texts[i], "");
        }
    }
}

static void offer_owners(const struct place *place, const char *prefix) {
    lk_listing *listing = read_store(place);
    const char **owners = listing != NULL ? calloc(listing->count + 1, sizeof owners[0]) : NULL;

    for (size_t i = 0; owners != NULL && i < listing->count; i++) {
        owners[i] = listing->entries[i].owner;
    }
    if (owners != NULL) {
        offer_texts(place, prefix, owners, listing->count);
    }
    free(owners);
    lk_listing_free(listing);
}

/* The path of every request, and every path above one. */
static void offer_paths(const struct place *place) {
    lk_listing *listing = read_store(place);
    enum { DEPTH_MAX = 32 };
    size_t room = listing != NULL ? listing->count * DEPTH_MAX : 0;
    char **texts = room > 0 ? calloc(room, sizeof texts[0]) : NULL;
    size_t count = 0;

    for (size_t i = 0; texts != NULL && i < listing->count; i++) {
        const char *path = listing->entries[i].path;
        for (size_t size = strcspn(path, "/"); count < room;
             size += 1 + strcspn(path + size + 1, "/")) {
            texts[count] = strndup(path, size);
            count += texts[count] != NULL ? 1 : 0;
            if (path[size] == '\0') {
                break;
            }
        }
    }
    if (texts != NULL) {
        offer_texts(place, "", (const char **)texts, count);
    }
    for (size_t i = 0; i < count; i++) {
        free(texts[i]);
    }
    free(texts);
    lk_listing_free(listing);
}

/* ---- what may follow at the cursor ----------------------------------------------------------- */

static void offer_values(const struct place *place, const struct lk_option *option,
                         const char *prefix) {
    static const char *const durations[] = {"10s", "1m", "10m", "1h", "1d", NULL};
    static const char *const times[] = {"12:00", "17:00", "23:59", NULL};

    if (option->kind == LK_KIND_CHOICE) {
        for (const char *const *choice = option->choices; *choice != NULL; choice++) {
            offer(place, prefix, *choice, "");
        }
    } else if (option->kind == LK_KIND_DURATION) {
        for (const char *const *duration = durations; *duration != NULL; duration++) {
            offer(place, prefix, *duration, "");
        }
    } else if (option->kind == LK_KIND_TIME) {
        for (const char *const *time = times; *time != NULL; time++) {
            offer(place, prefix, *time, "the next one");
        }
    } else if (option == lk_option_at(LK_OPTION_OWNER)) {
        offer_owners(place, prefix);
    } else if (option == lk_option_at(LK_OPTION_STORE)) {
        offer(place, prefix, "sqlite:", "a file on this machine");
        offer(place, prefix, "mem:", "this process only, for tests");
    }
}

/* The path is complete; offers its modes. */
static void offer_modes(const struct place *place) {
    char prefix[600];
    size_t size = strcspn(place->current, "?");

    if (size >= sizeof prefix - 1) {
        return; /* no path is that long */
    }
    (void)snprintf(prefix, sizeof prefix, "%.*s?", (int)size, place->current);
    offer(place, prefix, "shared", "with other shared ones");
    offer(place, prefix, "limit=", "so many units at once");
}

static void offer_limits(const struct place *place) {
    offer(place, "", "live=", "live requests in all");
    offer(place, "", "live-per-owner=", "live requests of one owner");
    offer(place, "", "live-per-root=", "live requests under one root");
    offer(place, "", "waiters-per-path=", "requests waiting at one path");
    offer(place, "", "events=", "events kept at all times");
}

static void offer_words(const struct place *place) {
    const struct lk_cli_command *command = place->command;
    bool takes_parts = strstr(command->arguments, "PART") != NULL;

    if (takes_parts && strchr(place->current, '?') != NULL) {
        offer_modes(place);
    } else if (takes_parts || strstr(command->arguments, "PATH") != NULL
               || strstr(command->arguments, "PREFIX") != NULL) {
        offer_paths(place);
    } else if (strstr(command->arguments, "COMMAND") != NULL) {
        offer_commands(place);
    } else if (strstr(command->arguments, "NAME=N") != NULL) {
        offer_limits(place);
    } else if (strstr(command->arguments, "DIALECT") != NULL) {
        offer(place, "", "sqlite", "");
    }
}

void lk_complete(char *const *words, FILE *out) {
    struct place place = {.out = out};
    const char *value;

    if (words[0] == NULL) {
        return;
    }
    for (; words[1] != NULL; words++) {
        walk(&place, words[0]);
    }
    place.current = words[0];
    (void)alarm(PATIENCE_S);
    if (place.pending != NULL) {
        offer_values(&place, place.pending, "");
    } else if (place.is_in_tail || place.is_lost) {
        return; /* the shell completes the user's command */
    } else if (place.current[0] == '-') {
        const struct lk_option *option = option_of(place.current, &value);
        if (option != NULL && value != NULL && place.current[1] == '-') {
            char prefix[64];
            (void)snprintf(prefix, sizeof prefix, "--%s=", option->name);
            offer_values(&place, option, prefix);
        } else {
            offer_options(&place);
        }
    } else if (place.command == NULL) {
        offer_commands(&place);
    } else {
        offer_words(&place);
    }
}
