/* SPDX-License-Identifier: Apache-2.0 */
/* lk items, lk stats and lk queues: the state of queues (R16); lk drop and lk unpark change it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/program.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/print/human.h"
#include "cli/print/say.h"
#include "form/form.h"

enum { FAILURE_SIZE = 80 };

static int say_items(const struct lk_cli *cli, const char *queue, const lk_item_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        struct lk_object object;
        lk_form_write_item(lk_object_begin(&object), queue, &list->items[i]);
        int exit_code = lk_say_object(cli, LK_OK, &object);
        if (exit_code != 0) {
            return exit_code;
        }
    }
    return 0;
}

/* When the item is due, or how long its claim lives. */
static void add_time(struct lk_table *table, const lk_item_info *item) {
    if (item->due_in_ms >= 0) {
        lk_table_add_duration(table, item->due_in_ms);
    } else if (item->expires_in_ms >= 0) {
        lk_table_add_duration(table, item->expires_in_ms);
    } else {
        lk_table_add(table, "");
    }
}

/* "exit 3: no such file", of the last line of what is kept. */
static void add_failure(struct lk_table *table, const lk_item_info *item) {
    const char *error = item->last_error != NULL ? item->last_error : "";
    const char *line = strrchr(error, '\n');
    char text[FAILURE_SIZE];
    int used = 0;

    line = line != NULL ? line + 1 : error;
    if (item->has_last_exit) {
        used = snprintf(text, sizeof text, "exit %" PRId32 "%s", item->last_exit,
                        line[0] != '\0' ? ": " : "");
    }
    (void)snprintf(text + used, sizeof text - (size_t)used, "%s", line);
    lk_table_add(table, text);
}

/* The first bytes of it. */
static void add_progress(struct lk_table *table, const lk_item_info *item) {
    char text[FAILURE_SIZE];

    (void)snprintf(text, sizeof text, "%s", item->progress != NULL ? item->progress : "");
    lk_table_add(table, text);
}

static bool has_failed(const lk_item_info *item) {
    return item->has_last_exit || item->last_error != NULL;
}

static bool has_progress(const lk_item_info *item) {
    return item->progress != NULL;
}

/* A column is there only if an item has something for it. */
static bool has_any(const lk_item_list *list, bool (*has)(const lk_item_info *item)) {
    bool any = false;

    for (size_t i = 0; i < list->count; i++) {
        any = any || has(&list->items[i]);
    }
    return any;
}

static int write_items(const struct lk_cli *cli, const lk_item_list *list) {
    const char *titles[7] = {"ID", "STATE", "ATTEMPTS", "DUE/LEFT", "CLAIMANT"};
    const bool shows_progress = has_any(list, has_progress);
    const bool shows_failures = has_any(list, has_failed);
    size_t columns = 5;
    struct lk_table table;

    if (list->count == 0) {
        return 0;
    }
    if (shows_progress) {
        titles[columns++] = "PROGRESS";
    }
    if (shows_failures) {
        titles[columns++] = "LAST FAILURE";
    }
    lk_table_open(&table, titles, columns);
    for (size_t i = 0; i < list->count; i++) {
        const lk_item_info *item = &list->items[i];
        lk_table_add(&table, item->id);
        lk_table_add(&table, item->state);
        lk_table_add_number(&table, item->attempts);
        add_time(&table, item);
        lk_table_add_owner(&table, item->owner != NULL ? item->owner : "", item->user);
        if (shows_progress) {
            add_progress(&table, item);
        }
        if (shows_failures) {
            add_failure(&table, item);
        }
    }
    return lk_say_table(cli, &table);
}

/* On a terminal: "there is WHAT QUEUE in STORE". */
static void say_none(const struct lk_cli *cli, const struct lk_command_line *line,
                     const lk_store *store, const char *what, const char *queue) {
    char *text = lk_text_make("there is %s %s", what, queue);

    if (text != NULL) {
        lk_cli_say_empty(cli, line, store, text, NULL);
    }
    free(text);
}

int lk_cli_items(const struct lk_cli *cli, const struct lk_command_line *line) {
    char *queue;
    lk_store *store;
    lk_item_list *list = NULL;
    lk_error error;
    int exit_code;

    if (lk_cli_open_at_path(cli, line, &queue, &store, &exit_code) != LK_OK) {
        return exit_code;
    }
    lk_outcome outcome = lk_items(store, queue, &list, &error);
    if (outcome != LK_OK) {
        exit_code = lk_say_failure(cli, outcome, error.text);
    } else {
        exit_code = cli->json ? say_items(cli, queue, list) : write_items(cli, list);
        if (list->count == 0) {
            say_none(cli, line, store, "no item in the queue", queue);
        }
    }
    lk_item_list_free(list);
    lk_close(store);
    free(queue);
    return exit_code;
}

static void write_stats(const struct lk_cli *cli, const lk_queue_stats *stats) {
    const char *hint = lk_stats_hint(stats);
    char oldest[LK_HUMAN_DURATION_SIZE];

    (void)fprintf(cli->out,
                  "pushed %" PRIu64 "\nduplicates %" PRIu64 "\nclaims %" PRIu64 "\nsteals %" PRIu64
                  "\ndone %" PRIu64 "\nretried %" PRIu64 "\nparked %" PRIu64 "\n",
                  stats->pushed, stats->duplicates, stats->claims, stats->steals, stats->done,
                  stats->retried, stats->parked);
    (void)fprintf(cli->out,
                  "now ready %" PRIu64 ", delayed %" PRIu64 ", claimed %" PRIu64
                  ", parked %" PRIu64,
                  stats->ready_now, stats->delayed_now, stats->claimed_now, stats->parked_now);
    if (stats->done_now > 0) {
        (void)fprintf(cli->out, ", done and kept %" PRIu64, stats->done_now);
    }
    (void)fputc('\n', cli->out);
    if (stats->oldest_ready_ms >= 0) {
        lk_human_duration(stats->oldest_ready_ms, oldest);
        (void)fprintf(cli->out, "oldest ready for %s\n", oldest);
    }
    if (hint != NULL && !cli->quiet) {
        (void)fprintf(cli->err, "%s: HINT: %s\n", lk_program(), hint);
    }
}

/* Nothing was pushed there, or the counts are no longer kept. */
static bool is_unused(const lk_queue_stats *stats) {
    return stats->pushed + stats->claims + stats->done == 0
           && stats->ready_now + stats->delayed_now + stats->claimed_now + stats->parked_now
                      + stats->done_now
                  == 0;
}

int lk_cli_stats(const struct lk_cli *cli, const struct lk_command_line *line) {
    char *queue;
    lk_store *store;
    lk_queue_stats stats;
    lk_error error;
    int exit_code = 0;

    if (lk_cli_open_at_path(cli, line, &queue, &store, &exit_code) != LK_OK) {
        return exit_code;
    }
    lk_outcome outcome = lk_stats(store, queue, &stats, &error);
    if (outcome != LK_OK) {
        exit_code = lk_say_failure(cli, outcome, error.text);
    } else if (cli->json) {
        struct lk_object object;
        lk_form_write_stats(lk_object_begin(&object), queue, &stats);
        exit_code = lk_say_object(cli, LK_OK, &object);
    } else {
        write_stats(cli, &stats);
        if (is_unused(&stats)) {
            say_none(cli, line, store, "no queue", queue);
        }
    }
    lk_close(store);
    free(queue);
    return exit_code;
}

/* ---- lk queues ------------------------------------------------------------------------------- */

static int say_queues(const struct lk_cli *cli, const lk_queue_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        struct lk_object object;
        lk_form_write_stats(lk_object_begin(&object), list->queues[i].queue,
                            &list->queues[i].counts);
        int exit_code = lk_say_object(cli, LK_OK, &object);
        if (exit_code != 0) {
            return exit_code;
        }
    }
    return 0;
}

/* For how long the oldest ready item has been. */
static void add_oldest(struct lk_table *table, const lk_queue_stats *counts) {
    if (counts->oldest_ready_ms >= 0) {
        lk_table_add_duration(table, counts->oldest_ready_ms);
    } else {
        lk_table_add(table, "");
    }
}

static int write_queues(const struct lk_cli *cli, const lk_queue_list *list) {
    static const char *const titles[] = {"QUEUE", "READY",   "DELAYED", "CLAIMED", "PARKED",
                                         "DONE",  "RETRIED", "STEALS",  "OLDEST"};
    struct lk_table table;

    if (list->count == 0) {
        return 0;
    }
    lk_table_open(&table, titles, sizeof titles / sizeof titles[0]);
    for (size_t i = 0; i < list->count; i++) {
        const lk_queue_stats *counts = &list->queues[i].counts;
        lk_table_add(&table, list->queues[i].queue);
        lk_table_add_number(&table, counts->ready_now);
        lk_table_add_number(&table, counts->delayed_now);
        lk_table_add_number(&table, counts->claimed_now);
        lk_table_add_number(&table, counts->parked_now);
        lk_table_add_number(&table, counts->done);
        lk_table_add_number(&table, counts->retried);
        lk_table_add_number(&table, counts->steals);
        add_oldest(&table, counts);
    }
    return lk_say_table(cli, &table);
}

int lk_cli_queues(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store) {
    lk_queue_list *list = NULL;
    lk_error error;
    int exit_code;

    if (lk_queues(store, line->words[0], &list, &error) != LK_OK) {
        return lk_say_failure(cli, error.outcome, error.text);
    }
    exit_code = cli->json ? say_queues(cli, list) : write_queues(cli, list);
    if (list->count == 0) {
        lk_cli_say_empty(cli, line, store, "there is no queue", line->words[0]);
    }
    lk_queue_list_free(list);
    return exit_code;
}

/* ---- lk drop, lk unpark ---------------------------------------------------------------------- */

/* Items that are not claimed are removed, or made ready again (R16). */

/* How many items a call was about; a refusal has no count. */
static int say_count(const struct lk_cli *cli, const char *what, uint64_t count) {
    if (cli->json) {
        struct lk_object object;
        struct lk_form_writer *writer = lk_object_begin(&object);
        lk_form_open_answer(writer, LK_OK);
        lk_form_add_count(writer, what, count);
        lk_form_close(writer);
        return lk_say_object(cli, LK_OK, &object);
    }
    if (!cli->quiet) {
        (void)fprintf(cli->out, "%s %" PRIu64 "\n", what, count);
    }
    return 0;
}

/* An argument behind QUEUE, or the option in place of it, but not both. */
static lk_outcome check_words(const struct lk_command_line *line, enum lk_option_id id,
                              lk_error *error) {
    bool has_option = lk_command_line_has(line, id);
    bool has_word = line->word_count > 1;

    return has_option != has_word
               ? LK_OK
               : lk_error_set(error, LK_INVALID, "%s needs either an ID or --%s; see: %s help %s",
                              line->command->name, lk_option_at(id)->name, lk_program(),
                              line->command->name);
}

/* Many at a time; LOST if any was, after all others are dropped. */
static lk_outcome drop_words(const struct lk_command_line *line, lk_store *store,
                             uint64_t *ret_dropped, lk_error *error) {
    const char *const *ids = (const char *const *)line->words + 1;
    size_t left = line->word_count - 1;
    lk_outcome result = LK_OK;

    while (left > 0) {
        size_t count = left < LK_MANY_MAX ? left : LK_MANY_MAX;
        uint64_t dropped = 0;
        lk_error own;
        lk_outcome outcome = lk_drop(store, line->words[0], ids, count, &dropped, &own);

        *ret_dropped += dropped;
        if (outcome != LK_OK) {
            result = lk_error_copy(error, &own);
        }
        if (outcome != LK_OK && outcome != LK_LOST) {
            break;
        }
        ids += count;
        left -= count;
    }
    return result;
}

int lk_cli_drop(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store) {
    uint64_t dropped = 0;
    lk_error error;
    lk_outcome outcome = check_words(line, LK_OPTION_PARKED, &error);

    if (outcome == LK_OK) {
        outcome = line->word_count > 1 ? drop_words(line, store, &dropped, &error)
                                       : lk_drop_parked(store, line->words[0], &dropped, &error);
    }
    return outcome == LK_OK ? say_count(cli, "dropped", dropped)
                            : lk_say_failure(cli, outcome, error.text);
}

int lk_cli_unpark(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store) {
    uint64_t unparked = 0;
    lk_error error;
    lk_outcome outcome = check_words(line, LK_OPTION_ALL, &error);

    if (outcome == LK_OK && line->word_count > 1) {
        outcome = lk_unpark(store, line->words[0], line->words[1], &error);
        return lk_say_done(cli, outcome, &error);
    }
    if (outcome == LK_OK) {
        outcome = lk_unpark_all(store, line->words[0], &unparked, &error);
    }
    return outcome == LK_OK ? say_count(cli, "unparked", unparked)
                            : lk_say_failure(cli, outcome, error.text);
}
