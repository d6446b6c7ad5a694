/* SPDX-License-Identifier: Apache-2.0 */
/* lk queues: every queue, or those at or below a path, with its counts (R16). */
#include "cli/cli.h"
#include "cli/print/say.h"
#include "form/form.h"

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

static int write_queues(const struct lk_cli *cli, const lk_queue_list *list) {
    static const char *const titles[] = {"QUEUE",  "READY", "DELAYED", "CLAIMED",
                                         "PARKED", "DONE",  "RETRIED", "STEALS"};
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
