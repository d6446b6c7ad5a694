/* SPDX-License-Identifier: Apache-2.0 */
/* lk work: from the command line to src/cli/work, which does all of it. */
#include <stdlib.h>

#include "base/error.h"
#include "cli/parse/ask.h"
#include "cli/print/say.h"
#include "cli/work/item.h"
#include "cli/work/pool.h"

static lk_outcome check(const struct lk_command_line *line, lk_error *error) {
    if (lk_command_line_has(line, LK_OPTION_ANNOUNCE_ONLY) && line->tail != NULL
        && line->tail[0] != NULL) {
        return lk_error_set(error, LK_INVALID,
                            "work: --announce-only runs no command; see: lk help work");
    }
    if (lk_command_line_number(line, LK_OPTION_BATCH, 1) > 1 && line->tail != NULL
        && lk_pool_command_names_id(line->tail)) {
        return lk_error_set(error, LK_INVALID,
                            "work: {id} is the id of one item, and with --batch there are "
                            "several: CMD finds their ids in LK_ITEMS");
    }
    return LK_OK;
}

static lk_work_loops loops_of(const struct lk_command_line *line) {
    if (lk_command_line_has(line, LK_OPTION_ANNOUNCE_ONLY)) {
        return LK_WORK_ANNOUNCES;
    }
    return lk_command_line_has(line, LK_OPTION_NO_ANNOUNCE) ? LK_WORK_CLAIMS : LK_WORK_ALL;
}

int lk_cli_work(const struct lk_cli *cli, const struct lk_command_line *line) {
    lk_work_table table;
    char *queue = NULL;
    lk_error error;
    lk_outcome outcome = lk_ask_table(line, &table, &error);

    if (outcome == LK_OK) {
        outcome = check(line, &error);
    }
    if (outcome == LK_OK) {
        outcome = lk_cli_check_table_store(line, &error);
    }
    if (outcome == LK_OK && line->word_count > 0) {
        outcome = lk_ask_path(line->words[0], &queue, &error);
    }
    if (outcome != LK_OK) {
        return lk_say_failure(cli, outcome, error.text);
    }
    const struct lk_pool_options options = {
        .store_url = lk_command_line_text(line, LK_OPTION_STORE),
        .queue = queue,
        .table = table.name != NULL ? &table : NULL,
        .loops = loops_of(line),
        .command = line->tail,
        .workers = (size_t)lk_command_line_number(line, LK_OPTION_WORKERS, 1),
        .batch = (size_t)lk_command_line_number(line, LK_OPTION_BATCH, 0),
        .ttl_ms = lk_command_line_number(line, LK_OPTION_TTL, 0),
        .max_attempts = (uint32_t)lk_command_line_number(line, LK_OPTION_MAX_ATTEMPTS, 0),
        .max_time_ms = lk_command_line_number(line, LK_OPTION_MAX_TIME, 0),
        .backoff_ms = lk_command_line_number(line, LK_OPTION_BACKOFF, 0),
        .note = lk_command_line_text(line, LK_OPTION_NOTE),
        .drain = lk_command_line_has(line, LK_OPTION_DRAIN),
    };
    int exit_code = lk_cli_pool(cli, &options);
    free(queue);
    return exit_code;
}
