/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words before the cursor are read with the tables of commands and options, without checks:
 * errors of a line are reported when it is run. Texts from the store are offered only if they are
 * one plain word.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/slice.h"
#include "cli/cli.h"
#include "cli/complete_names.h"
#include "cli/parse/command_line.h"
#include "cli/print/human.h"

enum { PATIENCE_S = 2, FILES_MAX = 1000 };

/* Where the cursor is. */
struct place {
    const struct lk_cli_command *command; /* NULL: none yet */
    const struct lk_option *pending;      /* whose value is at the cursor; NULL: none */
    const char *store;                    /* of -S; NULL: the default one */
    const char *first_word;               /* the command's first argument; NULL: none yet */
    size_t word_count;                    /* arguments of the command before the cursor */
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
static const struct lk_option *option_of(const struct place *place, const char *word,
                                         const char **ret_value) {
    const struct lk_option *option = NULL;

    *ret_value = NULL;
    if (word[0] == '-' && word[1] == '-') {
        size_t size = strcspn(word + 2, "=");
        option = known_option(lk_option_by_name(
            word + 2, size, place->command != NULL ? place->command->options : 0));
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
        const struct lk_option *option = option_of(place, word, &value);
        if (option != NULL && option->kind != LK_KIND_FLAG && value == NULL) {
            place->pending = option;
        } else if (option != NULL && value != NULL) {
            note_value(place, option, value);
        }
    } else if (place->command == NULL) {
        place->command = lk_cli_command_by_name(word);
        place->is_lost = place->command == NULL;
    } else if (place->word_count++ == 0) {
        place->first_word = word;
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
    for (size_t i = 0; lk_cli_command_at(i) != NULL; i++) {
        const struct lk_cli_command *command = lk_cli_command_at(i);
        offer(place, "", command->name, command->summary);
    }
}

/* The lines of its help as one. */
static void offer_option(const struct place *place, enum lk_option_id id) {
    char name[64];
    char about[300];

    (void)snprintf(name, sizeof name, "--%s", lk_option_at(id)->name);
    (void)snprintf(about, sizeof about, "%s",
                   place->command != NULL ? lk_cli_command_option_help(place->command, id)
                                          : lk_option_at(id)->help);
    for (char *end = about; (end = strchr(end, '\n')) != NULL;) {
        *end = ' ';
    }
    offer(place, "", name, about);
}

static void offer_options(const struct place *place) {
    for (int id = 0; id < LK_OPTION_COUNT; id++) {
        bool is_common = id == LK_OPTION_STORE || id == LK_OPTION_HELP || id == LK_OPTION_VERSION;
        if (place->command != NULL ? lk_cli_command_lists(place->command, (enum lk_option_id)id)
                                   : is_common) {
            offer_option(place, (enum lk_option_id)id);
        }
    }
    if (place->command != NULL && place->command->has_tail) {
        offer(place, "", "--", "the command to run comes behind it");
    }
}

/* ---- out of the store ------------------------------------------------------------------------ */

/* One word without white space and without characters that affect a terminal. */
static bool is_plain_word(const char *text) {
    char *visible = lk_human_visible(text);
    bool is_plain = visible != NULL && strcmp(visible, text) == 0 && strpbrk(text, " \t") == NULL;

    free(visible);
    return is_plain;
}

/* Ends `names`. */
static void offer_names(const struct place *place, const char *prefix, struct lk_names names) {
    for (size_t i = 0; i < names.count; i++) {
        if (is_plain_word(names.texts[i])) {
            offer(place, prefix, names.texts[i], "");
        }
    }
    lk_names_done(&names);
}

static bool is_of(const struct place *place, const char *command) {
    return strcmp(place->command->name, command) == 0;
}

/* Of values, where the command is about them; of requests. */
static void offer_paths(const struct place *place) {
    bool is_of_values = is_of(place, "get") || is_of(place, "put") || is_of(place, "del");

    offer_names(place, "",
                is_of_values ? lk_complete_values_and_paths(place->store, place->current)
                             : lk_complete_paths(place->store, place->current));
}

static void offer_queues(const struct place *place) {
    offer_names(place, "", lk_complete_queues(place->store, place->current));
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
    if (is_of(place, "push")) {
        offer(place, prefix, "strict", "in the order of the items that have it");
    }
}

/* Behind `prefix`, which is the option that takes it. */
static void offer_part(const struct place *place, const char *prefix) {
    size_t prefix_size = strlen(prefix);

    if (strchr(place->current, '?') != NULL) {
        offer_modes(place);
    } else if (strncmp(place->current, prefix, prefix_size) == 0) {
        offer_names(place, prefix, lk_complete_paths(place->store, place->current + prefix_size));
    }
}

static void offer_part_word(const struct place *place) {
    offer_part(place, "");
}

/* What the command can be used for. */
static void offer_items(const struct place *place) {
    static const struct {
        const char *command;
        enum lk_names_of_items items;
    } uses[] = {{"done", LK_NAMES_CLAIMED},     {"retry", LK_NAMES_CLAIMED},
                {"progress", LK_NAMES_CLAIMED}, {"result", LK_NAMES_ANY},
                {"unpark", LK_NAMES_PARKED},    {"drop", LK_NAMES_NOT_CLAIMED},
                {"cancel", LK_NAMES_ANY}};

    for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++) {
        if (is_of(place, uses[i].command)) {
            offer_names(place, "",
                        lk_complete_items(place->store, place->first_word, uses[i].items));
        }
    }
}

/* ---- what may follow at the cursor ----------------------------------------------------------- */

/* Files whose names begin with what is typed behind `prefix`. */
static void offer_files(const struct place *place, const char *prefix) {
    size_t prefix_size = strlen(prefix);
    size_t count = 0;
    char **files;

    if (strncmp(place->current, prefix, prefix_size) != 0) {
        return;
    }
    files = lk_complete_files(place->current + prefix_size, FILES_MAX, &count);
    for (size_t i = 0; i < count; i++) {
        if (is_plain_word(files[i])) {
            offer(place, prefix, files[i], "");
        }
    }
    lk_complete_files_free(files, count);
}

static void offer_stores(const struct place *place, const char *prefix) {
    static const struct {
        const char *scheme, *about;
    } stores[] = {
        {"sqlite:", "a file on this machine"},
        {"lk://", "a Lockkeeper service"},
        {"lks://", "a Lockkeeper service, over TLS"},
        {"lk+unix:", "a Lockkeeper service of this machine"},
        {"redis://", "a Redis server or cluster"},
        {"rediss://", "a Redis server or cluster, over TLS"},
        {"postgresql://", "a PostgreSQL database"},
        {"mysql://", "a MySQL or MariaDB database"},
        {"shm:", "limits in this machine's memory"},
        {"mem:", "this process only, for tests"},
    };
    static const char *const of_files[] = {"sqlite:", "lk+unix:"};
    char file_prefix[64];

    for (size_t i = 0; i < sizeof stores / sizeof stores[0]; i++) {
        offer(place, prefix, stores[i].scheme, stores[i].about);
    }
    for (size_t i = 0; i < sizeof of_files / sizeof of_files[0]; i++) {
        (void)snprintf(file_prefix, sizeof file_prefix, "%s%s", prefix, of_files[i]);
        if (strlen(place->current) > strlen(file_prefix)) {
            offer_files(place, file_prefix);
        }
    }
}

static bool names_file(const struct lk_option *option) {
    return option == lk_option_at(LK_OPTION_DIR) || option == lk_option_at(LK_OPTION_UNIX)
           || option == lk_option_at(LK_OPTION_PUT_FILE)
           || option == lk_option_at(LK_OPTION_PASSWORD_FILE)
           || option == lk_option_at(LK_OPTION_TLS_CERT)
           || option == lk_option_at(LK_OPTION_TLS_KEY) || option == lk_option_at(LK_OPTION_TLS_CA)
           || option == lk_option_at(LK_OPTION_USERS) || option == lk_option_at(LK_OPTION_CONFIG);
}

static void offer_bounds(const struct place *place, const char *prefix) {
    static const char *const names[] = {
        "buffer-bytes=",  "connections=",     "event-bytes=", "live=",        "live-per-owner=",
        "live-per-root=", "request-seconds=", "strangers=",   "value-bytes=", "waiters-per-path="};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        offer(place, prefix, names[i], "");
    }
}

/* RIGHT,RIGHT:PREFIX: a right behind the last comma. */
static void offer_rights(const struct place *place, const char *prefix) {
    static const char *const names[] = {"lock", "read",  "put",   "break", "watch",
                                        "push", "claim", "admin", "all"};
    const char *comma = strrchr(place->current, ',');
    char before[160];

    (void)snprintf(before, sizeof before, "%.*s",
                   comma != NULL ? (int)(comma + 1 - place->current) : (int)strlen(prefix),
                   comma != NULL ? place->current : prefix);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        offer(place, before, names[i], "");
    }
}

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
    } else if (option->kind == LK_KIND_TIME || option->kind == LK_KIND_INSTANT) {
        for (const char *const *time = times; *time != NULL; time++) {
            offer(place, prefix, *time, "the next one");
        }
    } else if (option == lk_option_at(LK_OPTION_OWNER)) {
        offer_names(place, prefix, lk_complete_owners(place->store));
    } else if (option == lk_option_at(LK_OPTION_NEEDS)) {
        offer_part(place, prefix);
    } else if (option == lk_option_at(LK_OPTION_STORE)) {
        offer_stores(place, prefix);
    } else if (option == lk_option_at(LK_OPTION_BOUND)) {
        offer_bounds(place, prefix);
    } else if (option == lk_option_at(LK_OPTION_ALLOW)) {
        offer_rights(place, prefix);
    } else if (names_file(option)) {
        offer_files(place, prefix);
    }
}

static void offer_limits(const struct place *place) {
    offer(place, "", "live=", "live requests in all");
    offer(place, "", "live-per-owner=", "live requests of one owner");
    offer(place, "", "live-per-root=", "live requests under one root");
    offer(place, "", "waiters-per-path=", "requests waiting at one path");
    offer(place, "", "events=", "events kept at all times");
}

/*
 * What the command calls its argument number `index`, as "PATH" of "[PATH]..."; empty: it takes no
 * such argument.
 */
static struct lk_slice argument_at(const struct lk_cli_command *command, size_t index) {
    const char *next = command->arguments;

    for (size_t i = 0; next[0] != '\0' && strncmp(next, "--", 2) != 0; i++) {
        size_t size = strcspn(next, " ");
        bool is_repeated = size > 3 && strncmp(next + size - 3, "...", 3) == 0;
        if (i == index || is_repeated) {
            next += next[0] == '[' ? 1 : 0;
            return (struct lk_slice){.bytes = next, .size = strcspn(next, " .]")};
        }
        next += size + (next[size] == ' ' ? 1 : 0);
    }
    return (struct lk_slice){.bytes = next};
}

static void offer_prefixes(const struct place *place) {
    struct lk_names (*names)(const char *url, const char *word) =
        is_of(place, "queues")   ? lk_complete_queue_prefixes
        : is_of(place, "values") ? lk_complete_value_prefixes
                                 : lk_complete_paths;

    offer_names(place, "", names(place->store, place->current));
}

static void offer_file_words(const struct place *place) {
    offer_files(place, "");
}

static void offer_dialects(const struct place *place) {
    offer(place, "", "sqlite", "");
    offer(place, "", "postgresql", "");
    offer(place, "", "mysql", "");
}

static void offer_reports(const struct place *place) {
    offer(place, "", "done", "the item is removed, or kept with --result");
    offer(place, "", "retry", "it is returned");
    offer(place, "", "park", "it is set aside");
    offer(place, "", "progress", "lk work prints --note");
}

static void offer_words(const struct place *place) {
    static const struct {
        const char *argument;
        void (*offer)(const struct place *place);
    } kinds[] = {{"PART", offer_part_word},  {"PATH", offer_paths},
                 {"PREFIX", offer_prefixes}, {"QUEUE", offer_queues},
                 {"ID", offer_items},        {"COMMAND", offer_commands},
                 {"NAME=N", offer_limits},   {"DIALECT", offer_dialects},
                 {"FILE", offer_file_words}, {"done|retry|park|progress", offer_reports}};
    struct lk_slice argument = argument_at(place->command, place->word_count);

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (lk_slice_equal(argument, lk_slice_of(kinds[i].argument))) {
            kinds[i].offer(place);
        }
    }
}

/* A shell would report a program that a signal has ended. */
static void give_up(int signal) {
    (void)signal;
    _exit(0);
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
    (void)signal(SIGALRM, give_up);
    (void)alarm(PATIENCE_S);
    if (place.pending != NULL) {
        offer_values(&place, place.pending, "");
    } else if (place.is_in_tail || place.is_lost) {
        return; /* the shell completes the user's command */
    } else if (place.current[0] == '-') {
        const struct lk_option *option = option_of(&place, place.current, &value);
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
