/* SPDX-License-Identifier: Apache-2.0 */
/* lk run and lk work: from the command line to src/cli/run and src/cli/work, which do the rest. */
#include "cli/run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/program.h"
#include "cli/cli.h"
#include "cli/parse/ask.h"
#include "cli/print/say.h"
#include "cli/work/item.h"
#include "cli/work/pool.h"

/* ---- lk run ---------------------------------------------------------------------------------- */

enum { NOTE_BYTES_MAX = LK_COMMAND_NOTE_BYTES_MAX + 40 };

/* Listings show the command, and that the lease may be there without it. */
static void make_note(const struct lk_command_line *line, char ret_note[NOTE_BYTES_MAX + 1]) {
    const char *at_least = lk_command_line_text(line, LK_OPTION_AT_LEAST);

    lk_command_note(line->tail, ret_note);
    if (at_least != NULL) {
        size_t size = strlen(at_least);
        bool is_bare = size > 0 && at_least[size - 1] >= '0' && at_least[size - 1] <= '9';
        size_t used = strlen(ret_note);

        (void)snprintf(ret_note + used, NOTE_BYTES_MAX + 1 - used, " (at least %.20s%s)", at_least,
                       is_bare ? "s" : "");
    }
}

int lk_cli_run_command(const struct lk_cli *cli, const struct lk_command_line *line) {
    char command_note[NOTE_BYTES_MAX + 1];
    lk_error error;

    if (lk_ask_check_parts(line, &error) != LK_OK) {
        return lk_say_failure(cli, LK_INVALID, error.text);
    }
    if (lk_command_line_has(line, LK_OPTION_QUEUE)
        && lk_command_line_text(line, LK_OPTION_OWNER) == NULL) {
        return lk_say_failure(
            cli, LK_INVALID,
            "run: --queue needs --owner: the next run would be another owner, and "
            "could not take the place of this one");
    }
    struct lk_run_options options = {
        .store_url = lk_command_line_text(line, LK_OPTION_STORE),
        .request = lk_ask_from_line(line),
        .command = line->tail,
        .cleanup = lk_command_line_text(line, LK_OPTION_CLEANUP),
        .report = lk_command_line_text(line, LK_OPTION_REPORT),
        .max_time_ms = lk_command_line_number(line, LK_OPTION_MAX_TIME, 0),
        .on_lost = (enum lk_run_on_lost)lk_command_line_number(line, LK_OPTION_ON_LOST,
                                                               LK_RUN_ON_LOST_KILL),
        .inherit = lk_command_line_has(line, LK_OPTION_INHERIT),
        .verbose = lk_command_line_has(line, LK_OPTION_VERBOSE),
        .quiet = cli->quiet,
        .tells_busy = cli->is_conflict_told,
        .busy_exit_code = cli->conflict_exit_code,
    };
    if (options.request.note == NULL) {
        make_note(line, command_note);
        options.request.note = command_note;
    }
    options.request.owner = lk_command_line_text(line, LK_OPTION_OWNER);
    options.request.at_least_ms = lk_command_line_number(line, LK_OPTION_AT_LEAST, 0);
    return lk_cli_run(&options);
}

/* ---- lk work --------------------------------------------------------------------------------- */

static lk_outcome check(const struct lk_command_line *line, lk_error *error) {
    if (lk_command_line_has(line, LK_OPTION_ANNOUNCE_ONLY) && line->tail != NULL
        && line->tail[0] != NULL) {
        return lk_error_set(error, LK_INVALID,
                            "work: --announce-only runs no command; see: %s help work",
                            lk_program());
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
        .stop_after_ms = lk_command_line_number(line, LK_OPTION_STOP_AFTER, -1),
        .backoff_ms = lk_command_line_number(line, LK_OPTION_BACKOFF, 0),
        .note = lk_command_line_text(line, LK_OPTION_NOTE),
        .drain = lk_command_line_has(line, LK_OPTION_DRAIN),
    };
    int exit_code = lk_cli_pool(cli, &options);
    free(queue);
    return exit_code;
}
