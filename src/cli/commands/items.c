/* SPDX-License-Identifier: Apache-2.0 */
/* lk items and lk stats: the state of queues (R16). */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/print/say.h"
#include "form/form.h"

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

static int write_items(const struct lk_cli *cli, const lk_item_list *list) {
    static const char *const titles[] = {"ID", "STATE", "ATTEMPTS", "DUE/LEFT", "CLAIMANT"};
    struct lk_table table;

    if (list->count == 0) {
        return 0;
    }
    lk_table_open(&table, titles, sizeof titles / sizeof titles[0]);
    for (size_t i = 0; i < list->count; i++) {
        const lk_item_info *item = &list->items[i];
        lk_table_add(&table, item->id);
        lk_table_add(&table, item->state);
        lk_table_add_number(&table, item->attempts);
        add_time(&table, item);
        lk_table_add_owner(&table, item->owner != NULL ? item->owner : "");
    }
    return lk_say_table(cli, &table);
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
    }
    lk_item_list_free(list);
    lk_close(store);
    free(queue);
    return exit_code;
}

static void write_stats(const struct lk_cli *cli, const lk_queue_stats *stats) {
    const char *hint = lk_stats_hint(stats);

    (void)fprintf(cli->out,
                  "pushed %" PRIu64 "\nduplicates %" PRIu64 "\nclaims %" PRIu64 "\nsteals %" PRIu64
                  "\ndone %" PRIu64 "\nretried %" PRIu64 "\nparked %" PRIu64 "\n",
                  stats->pushed, stats->duplicates, stats->claims, stats->steals, stats->done,
                  stats->retried, stats->parked);
    (void)fprintf(cli->out,
                  "now ready %" PRIu64 ", delayed %" PRIu64 ", claimed %" PRIu64 ", parked %" PRIu64
                  "\n",
                  stats->ready_now, stats->delayed_now, stats->claimed_now, stats->parked_now);
    if (hint != NULL && !cli->quiet) {
        (void)fprintf(cli->err, "lk: HINT: %s\n", hint);
    }
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
    lk_close(store);
    if (outcome != LK_OK) {
        exit_code = lk_say_failure(cli, outcome, error.text);
    } else if (cli->json) {
        struct lk_object object;
        lk_form_write_stats(lk_object_begin(&object), queue, &stats);
        exit_code = lk_say_object(cli, LK_OK, &object);
    } else {
        write_stats(cli, &stats);
    }
    free(queue);
    return exit_code;
}
