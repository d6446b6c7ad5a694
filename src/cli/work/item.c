/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that is created for one item, or for one batch, is freed with it: the words, the
 * environment, stdin and the guard. Stderr ends with the last process that has it open
 * (relay.h).
 */
#include "cli/work/item.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/text.h"
#include "cli/work/relay.h"
#include "form/writer.h"
#include "lockkeeper/lockkeeper.h"

/* ---- the stdin of CMD ------------------------------------------------------------------------ */

/* CMD's stdin: a file in memory, so that no process has to write while CMD reads. */

/* Both return the file, at its beginning, to be closed; -1 with errno. */

static int make_file(const char *bytes, size_t size) {
    int file = memfd_create("lk-value", MFD_CLOEXEC);

    while (file >= 0 && size > 0) {
        ssize_t written = write(file, bytes, size);
        if (written < 0 && errno != EINTR) {
            int error = errno;
            close(file);
            errno = error;
            return -1;
        }
        bytes += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    if (file >= 0) {
        lseek(file, 0, SEEK_SET);
    }
    return file;
}

/* The item's value. */
static int input_value(const lk_claim_info *claim) {
    return make_file(claim->value, claim->value_size);
}

static bool add_line(struct lk_buffer *lines, const lk_claim_info *claim) {
    struct lk_form_writer form = lk_form_writer_json(lines);

    lk_form_open_map(&form, NULL);
    lk_form_add_text(&form, "id", claim->id);
    if (claim->value != NULL) {
        lk_form_add_value(&form, "value", claim->value, claim->value_size);
    }
    lk_form_add_count(&form, "token", claim->token);
    lk_form_add_count(&form, "attempt", claim->attempt);
    lk_form_close(&form);
    lk_buffer_add_text(lines, "\n");
    return !lk_form_writer_failed(&form) && !lines->failed;
}

/* A line of JSON for each item: id, value (or value_base64) if it has one, token and attempt. */
static int input_lines(const lk_work_item *items, size_t count) {
    struct lk_buffer lines = {.max = 0};
    bool is_whole = true;
    int file = -1;

    for (size_t i = 0; i < count && is_whole; i++) {
        is_whole = add_line(&lines, items[i].claim);
    }
    if (is_whole) {
        file = make_file(lines.bytes, lines.size);
    } else {
        errno = ENOMEM;
    }
    int error = errno;
    lk_buffer_done(&lines);
    errno = error;
    return file;
}

/* ---- CMD ------------------------------------------------------------------------------------- */

static const char id_mark[] = "{id}";

/* What this sets for CMD: the queue, where it reports, and either of the others. */
static const char queue_name[] = "LK_QUEUE=";
static const char report_name[] = "LK_REPORT=";
static const char item_name[] = "LK_ITEM_ID=";
static const char items_name[] = "LK_ITEMS=";

enum { ITEM_NAMES = 3, MARK_SIZE = sizeof id_mark - 1 };

/* What CMD is run with; NULL and -1 where it is not there yet. */
struct setup {
    size_t count;      /* of items */
    lk_lease **leases; /* of each; borrowed */
    uint64_t *tokens;
    char **paths; /* QUEUE/ID */
    char **words;
    struct lk_run_environment environment;
    char *variables[ITEM_NAMES];
    char **variables_and_rest;
    int input;
    int report_number;           /* the descriptor's in CMD; -1: it has none */
    struct lk_pool_relay *relay; /* of its stderr; NULL: that is lk's own */
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

bool lk_pool_command_names_id(char *const *command) {
    for (size_t i = 1; command[0] != NULL && command[i] != NULL; i++) {
        if (strstr(command[i], id_mark) != NULL) {
            return true;
        }
    }
    return false;
}

/* The id as it was pushed, or as its table has it; not percent-encoded as in paths. */
static const char *id_of(const lk_claim_info *claim) {
    return claim->row_id != NULL ? claim->row_id : claim->id;
}

/* ---- environment ----------------------------------------------------------------------------- */

static bool begins_with(const char *text, const char *name) {
    return strncmp(text, name, strlen(name)) == 0;
}

static bool is_of_items(const char *variable) {
    return begins_with(variable, queue_name) || begins_with(variable, item_name)
           || begins_with(variable, items_name) || begins_with(variable, report_name);
}

/* LK_ITEMS: the ids, joined by spaces (R1: none has a space in it). NULL: no memory. */
static char *ids_variable(const lk_work_item *items, size_t count) {
    struct lk_buffer text = {.max = 0};

    lk_buffer_add_text(&text, items_name);
    for (size_t i = 0; i < count; i++) {
        lk_buffer_add_text(&text, i > 0 ? " " : "");
        lk_buffer_add_text(&text, items[i].claim->id);
    }
    lk_buffer_add(&text, "", 1);
    if (text.failed) {
        lk_buffer_done(&text);
        return NULL;
    }
    return text.bytes;
}

/* LK_QUEUE, LK_ITEM_ID or LK_ITEMS, and LK_REPORT. */
static bool make_variables(struct setup *setup, const struct lk_pool_job *job,
                           const lk_work_item *items) {
    const lk_claim_info *first = items[0].claim;

    setup->variables[0] = lk_text_make("%s%s", queue_name, first->queue);
    setup->variables[1] = job->has_batches ? ids_variable(items, setup->count)
                                           : lk_text_make("%s%s", item_name, id_of(first));
    if (setup->report_number >= 0) {
        setup->variables[2] = lk_text_make("%s%d", report_name, setup->report_number);
    }
    return setup->variables[0] != NULL && setup->variables[1] != NULL
           && (setup->report_number < 0 || setup->variables[2] != NULL);
}

/* For commands that run below it, a claim is a lease on QUEUE/ID, and also an item. */
static bool make_environment(struct setup *setup, const struct lk_pool_job *job,
                             const lk_work_item *items) {
    const lk_claim_info *first = items[0].claim;
    const lk_result granted = {.paths = setup->paths,
                               .path_count = setup->count,
                               .owner = first->owner,
                               .token = first->token,
                               .tokens = setup->tokens,
                               .token_count = setup->count,
                               .ttl_ms = first->ttl_ms};
    size_t count = 0;
    size_t used = 0;

    if (!lk_run_environment_init(&setup->environment, job->store_url, &granted)
        || !make_variables(setup, job, items)) {
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
        if (!is_of_items(variable)) {
            all[used++] = variable;
        }
    }
    memcpy(all + used, setup->variables, sizeof setup->variables);
    setup->variables_and_rest = all;
    return true;
}

/* ---- all together ---------------------------------------------------------------------------- */

static void free_setup(struct setup *setup) {
    for (size_t i = 0; setup->paths != NULL && i < setup->count; i++) {
        free(setup->paths[i]);
    }
    free(setup->paths);
    free(setup->tokens);
    free(setup->leases);
    free(setup->words);
    free(setup->variables_and_rest);
    for (size_t i = 0; i < ITEM_NAMES; i++) {
        free(setup->variables[i]);
    }
    lk_run_environment_done(&setup->environment);
    if (setup->input >= 0) {
        close(setup->input);
    }
}

static bool make_claims(struct setup *setup, const lk_work_item *items) {
    setup->leases = calloc(setup->count, sizeof *setup->leases);
    setup->tokens = calloc(setup->count, sizeof *setup->tokens);
    setup->paths = calloc(setup->count, sizeof *setup->paths);
    if (setup->leases == NULL || setup->tokens == NULL || setup->paths == NULL) {
        return false;
    }
    for (size_t i = 0; i < setup->count; i++) {
        const lk_claim_info *claim = items[i].claim;

        setup->leases[i] = items[i].lease;
        setup->tokens[i] = claim->token;
        setup->paths[i] = lk_text_make("%s/%s", claim->queue, claim->id);
        if (setup->paths[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* False with errno. To be ended with free_setup() in both cases. */
static bool make_setup(struct setup *setup, const struct lk_pool_job *job,
                       const lk_work_item *items) {
    const lk_claim_info *first = items[0].claim;

    errno = ENOMEM; /* the allocations below may not set it */
    setup->report_number = lk_pool_channel_number();
    setup->words = lk_pool_item_words(job->command, id_of(first));
    if (setup->words == NULL || !make_claims(setup, items)
        || !make_environment(setup, job, items)) {
        return false;
    }
    setup->input = job->has_batches ? input_lines(items, setup->count) : input_value(first);
    return setup->input >= 0 && lk_pool_channel_open(job->channel);
}

static void watch_leases(struct setup *setup, void (*callback)(void *context, lk_lease *lease),
                         void *context) {
    for (size_t i = 0; i < setup->count; i++) {
        lk_lease_on_lost(setup->leases[i], callback, context);
    }
}

static struct lk_pool_item_end run(const struct lk_pool_job *job, struct setup *setup,
                                   const _Atomic unsigned char *states, int64_t ttl_ms) {
    const struct lk_run_options usual = {.on_lost = LK_RUN_ON_LOST_KILL,
                                         .max_time_ms = job->max_time_ms};
    const struct lk_run_cleanup no_cleanup = {.command = NULL};
    struct lk_run_terminal no_terminal = {.descriptor = -1};
    struct lk_run_guard guard;
    struct lk_run_child child;
    struct lk_run_start start = {.command = setup->words,
                                 .environment = setup->variables_and_rest,
                                 .signals = job->signals,
                                 .terminal = &no_terminal,
                                 .guard = &guard,
                                 .input = setup->input,
                                 .report = setup->report_number >= 0 ? job->channel->output : 0,
                                 .report_number = setup->report_number};
    const struct lk_run_job run_job = {.options = &usual,
                                       .store = job->store,
                                       .outage_log = job->outage_log,
                                       .leases = {setup->leases, setup->count, states},
                                       .ttl_ms = ttl_ms,
                                       .lost_descriptor = job->lost_descriptor,
                                       .timer = job->timer,
                                       .report = &job->channel->input,
                                       .on_report = job->on_report,
                                       .is_quiet = true,
                                       .signals = job->signals,
                                       .terminal = &no_terminal,
                                       .guard = &guard,
                                       .child = &child,
                                       .signal_use = job->signal_use,
                                       .context = job->context};

    if (!lk_run_guard_start(&guard, &no_cleanup, -1)) {
        return (struct lk_pool_item_end){.start_error = -errno};
    }
    setup->relay = lk_pool_relay_start(&start.errors);
    lk_run_supervise_begin(&run_job);
    int error = lk_run_child_start(&start, &child);
    lk_pool_channel_hand_over(job->channel);
    if (setup->relay != NULL) {
        close(start.errors); /* the command has it */
    }
    struct lk_run_end end = {.exit_code = 0};
    if (error == 0) {
        end = lk_run_supervise(&run_job);
    }
    lk_run_guard_dismiss(&guard);
    return (struct lk_pool_item_end){.exit_code = end.exit_code,
                                     .is_lost = end.is_lost,
                                     .is_over_time = end.is_over_time,
                                     .signal = end.signal,
                                     .start_error = error};
}

struct lk_pool_item_end lk_pool_item_run(const struct lk_pool_job *job, const lk_work_item *items,
                                         const _Atomic unsigned char *states, size_t count) {
    struct setup setup = {.count = count, .input = -1, .report_number = -1};
    struct lk_pool_item_end end;
    eventfd_t former;

    if (make_setup(&setup, job, items)) {
        (void)eventfd_read(job->lost_descriptor, &former);
        watch_leases(&setup, job->on_lost, job->context);
        end = run(job, &setup, states, items[0].claim->ttl_ms);
        lk_pool_channel_read(job->channel); /* what it has written last */
        if (setup.relay != NULL) {
            lk_pool_relay_end(setup.relay, &end.errors);
        }
        watch_leases(&setup, NULL, NULL);
    } else {
        end = (struct lk_pool_item_end){.start_error = -errno};
    }
    lk_pool_channel_close(job->channel);
    free_setup(&setup);
    return end;
}
