/* SPDX-License-Identifier: Apache-2.0 */
/* lk run: from the command line to src/cli/run, which does all of it. */
#include "cli/run/run.h"

#include "cli/cli.h"
#include "cli/parse/ask.h"
#include "cli/print/say.h"
#include "cli/title.h"

int lk_cli_run_command(const struct lk_cli *cli, const struct lk_command_line *line) {
    char command_note[LK_COMMAND_NOTE_BYTES_MAX + 1];
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
        lk_command_note(line->tail, command_note);
        options.request.note = command_note;
    }
    options.request.owner = lk_command_line_text(line, LK_OPTION_OWNER);
    return lk_cli_run(&options);
}
