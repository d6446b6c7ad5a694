/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that is created for one item is freed with it: its words, its environment, its stdin
 * (a file in memory, so that no process has to write while CMD reads) and its guard.
 */
#include "cli/work/item.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"

static const char id_mark[] = "{id}";
static const char queue_name[] = "LK_QUEUE=";
static const char item_name[] = "LK_ITEM_ID=";

enum { ITEM_NAMES = 2, MARK_SIZE = sizeof id_mark - 1 };

/* What an item is run with; NULL and -1 where it is not there yet. */
struct setup {
    char *path; /* QUEUE/ID */
    char **words;
    struct lk_run_environment environment;
    char *variables[ITEM_NAMES];
    char **variables_and_rest;
    int input;
    int lost_descriptor;
};

/* ---- words ----------------------------------------------------------------------------------- */

/* How many bytes a word takes with every mark replaced, its end included. */
static size_t filled_size(const char *word, size_t id_size) {
    size_t size = strlen(word) + 1;

    for (const char *at = strstr(word, id_mark); at != NULL; at = strstr(at + MARK_SIZE, id_mark)) {
        size += id_size - MARK_SIZE;
    }
    return size;
}

/* Writes the filled word and its end; returns what is behind it. */
static char *fill(char *out, const char *word, const char *id) {
    const char *mark;

    while ((mark = strstr(word, id_mark)) != NULL) {
        out = mempcpy(out, word, (size_t)(mark - word));
        out = stpcpy(out, id);
        word = mark + MARK_SIZE;
    }
    return stpcpy(out, word) + 1;
}

char **lk_pool_item_words(char *const *command, const char *id) {
    size_t id_size = strlen(id);
    size_t count = 0;
    size_t size = 0;

    for (; command[count] != NULL; count++) {
        size += count == 0 ? strlen(command[0]) + 1 : filled_size(command[count], id_size);
    }
    char **words = malloc((count + 1) * sizeof *words + size);
    if (words == NULL) {
        return NULL;
    }
    char *text = (char *)(words + count + 1);
    for (size_t i = 0; i < count; i++) {
        words[i] = text;
        text = i == 0 ? stpcpy(text, command[0]) + 1 : fill(text, command[i], id);
    }
    words[count] = NULL;
    return words;
}

/* The id as it was pushed, or as its table has it; not percent-encoded as in paths. */
static const char *id_of(const lk_claim_info *claim) {
    return claim->row_id != NULL ? claim->row_id : claim->id;
}

/* ---- environment ----------------------------------------------------------------------------- */

static bool begins_with(const char *text, const char *name) {
    return strncmp(text, name, strlen(name)) == 0;
}

/* For commands that run below it, a claim is a lease on QUEUE/ID, and also an item. */
static bool make_environment(struct setup *setup, const struct lk_pool_cooldown *cooldown,
                             const lk_claim_info *claim) {
    const lk_result granted = {.paths = &setup->path,
                               .path_count = 1,
                               .owner = claim->owner,
                               .token = claim->token,
                               .ttl_ms = claim->ttl_ms};
    size_t count = 0;
    size_t used = 0;

    if (!lk_run_environment_init(&setup->environment, cooldown->store_url, &granted)) {
        return false;
    }
    setup->variables[0] = lk_text_make("%s%s", queue_name, claim->queue);
    setup->variables[1] = lk_text_make("%s%s", item_name, id_of(claim));
    if (setup->variables[0] == NULL || setup->variables[1] == NULL) {
        return false;
    }
    while (setup->environment.command[count] != NULL) {
        count++;
    }
    char **all = calloc(count + ITEM_NAMES + 1, sizeof *all);
    if (all == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        char *variable = setup->environment.command[i];
        if (!begins_with(variable, queue_name) && !begins_with(variable, item_name)) {
            all[used++] = variable;
        }
    }
    memcpy(all + used, setup->variables, sizeof setup->variables);
    setup->variables_and_rest = all;
    return true;
}

/* ---- stdin ----------------------------------------------------------------------------------- */

/* A file in memory with the value in it, at its beginning; -1 with errno. */
static int make_input(const lk_claim_info *claim) {
    int file = memfd_create("lk-value", MFD_CLOEXEC);
    const char *bytes = claim->value;
    size_t left = claim->value_size;

    while (file >= 0 && left > 0) {
        ssize_t written = write(file, bytes, left);
        if (written < 0 && errno != EINTR) {
            int error = errno;
            close(file);
            errno = error;
            return -1;
        }
        bytes += written > 0 ? written : 0;
        left -= written > 0 ? (size_t)written : 0;
    }
    if (file >= 0) {
        lseek(file, 0, SEEK_SET);
    }
    return file;
}

/* ---- all together ---------------------------------------------------------------------------- */

static void free_setup(struct setup *setup) {
    free(setup->path);
    free(setup->words);
    free(setup->variables_and_rest);
    for (size_t i = 0; i < ITEM_NAMES; i++) {
        free(setup->variables[i]);
    }
    lk_run_environment_done(&setup->environment);
    if (setup->input >= 0) {
        close(setup->input);
    }
    if (setup->lost_descriptor >= 0) {
        close(setup->lost_descriptor);
    }
}

/* False with errno. To be ended with free_setup() in both cases. */
static bool make_setup(struct setup *setup, const struct lk_pool_cooldown *cooldown,
                       const lk_claim_info *claim) {
    errno = ENOMEM; /* the allocations below may not set it */
    setup->path = lk_text_make("%s/%s", claim->queue, claim->id);
    setup->words = lk_pool_item_words(cooldown->command, id_of(claim));
    if (setup->path == NULL || setup->words == NULL || !make_environment(setup, cooldown, claim)) {
        return false;
    }
    setup->input = make_input(claim);
    setup->lost_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return setup->input >= 0 && setup->lost_descriptor >= 0;
}

static void note_lost(void *context, lk_lease *lease) {
    const struct setup *setup = context;

    (void)lease;
    eventfd_write(setup->lost_descriptor, 1);
}

static struct lk_pool_item_end run(const struct lk_pool_cooldown *cooldown,
                                   const struct setup *setup, const lk_claim_info *claim,
                                   const lk_lease *lease) {
    const struct lk_run_options usual = {.on_lost = LK_RUN_ON_LOST_KILL,
                                         .max_time_ms = cooldown->max_time_ms};
    const struct lk_run_cleanup no_cleanup = {.command = NULL};
    struct lk_run_terminal no_terminal = {.descriptor = -1};
    struct lk_run_guard guard;
    struct lk_run_child child;
    const struct lk_run_start start = {.command = setup->words,
                                       .environment = setup->variables_and_rest,
                                       .signals = cooldown->signals,
                                       .terminal = &no_terminal,
                                       .guard = &guard,
                                       .input = setup->input};
    const struct lk_run_job job = {.options = &usual,
                                   .lease = lease,
                                   .ttl_ms = claim->ttl_ms,
                                   .lost_descriptor = setup->lost_descriptor,
                                   .timer = cooldown->timer,
                                   .is_quiet = true,
                                   .signals = cooldown->signals,
                                   .terminal = &no_terminal,
                                   .guard = &guard,
                                   .child = &child,
                                   .signal_use = cooldown->signal_use,
                                   .context = cooldown->context};

    if (!lk_run_guard_start(&guard, &no_cleanup)) {
        return (struct lk_pool_item_end){.start_error = errno};
    }
    lk_run_supervise_begin(&job);
    int error = lk_run_child_start(&start, &child);
    struct lk_run_end end = {.exit_code = 0};
    if (error == 0) {
        end = lk_run_supervise(&job);
    }
    lk_run_guard_dismiss(&guard);
    return (struct lk_pool_item_end){.exit_code = end.exit_code,
                                     .is_lost = end.is_lost,
                                     .is_over_time = end.is_over_time,
                                     .signal = end.signal,
                                     .start_error = error};
}

struct lk_pool_item_end lk_pool_item_run(const struct lk_pool_cooldown *cooldown,
                                         const lk_claim_info *claim, lk_lease *lease) {
    struct setup setup = {.input = -1, .lost_descriptor = -1};
    struct lk_pool_item_end end;

    if (make_setup(&setup, cooldown, claim)) {
        lk_lease_on_lost(lease, note_lost, &setup);
        end = run(cooldown, &setup, claim, lease);
        lk_lease_on_lost(lease, NULL, NULL);
    } else {
        end = (struct lk_pool_item_end){.start_error = errno};
    }
    free_setup(&setup);
    return end;
}
