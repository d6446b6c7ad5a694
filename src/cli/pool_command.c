/* SPDX-License-Identifier: Apache-2.0 */
/* lk work: from the command line to src/cli/pool, which does all of it. */
#include <stdlib.h>

#include "cli/ask.h"
#include "cli/pool/pool.h"
#include "cli/say.h"

int lk_cli_work(const struct lk_cli *cli, const struct lk_command_line *line) {
    char *queue;
    lk_error error;
    lk_outcome outcome = lk_ask_path(line->words[0], &queue, &error);

    if (outcome != LK_OK) {
        return lk_say_failure(cli, outcome, error.text);
    }
    const struct lk_pool_options options = {
        .store_url = lk_command_line_text(line, LK_OPTION_STORE),
        .queue = queue,
        .command = line->tail,
        .workers = (size_t)lk_command_line_number(line, LK_OPTION_WORKERS, 1),
        .ttl_ms = lk_command_line_number(line, LK_OPTION_TTL, 0),
        .max_attempts = (uint32_t)lk_command_line_number(line, LK_OPTION_MAX_ATTEMPTS, 0),
        .note = lk_command_line_text(line, LK_OPTION_NOTE),
        .drain = lk_command_line_has(line, LK_OPTION_DRAIN),
    };
    int exit_code = lk_cli_pool(cli, &options);
    free(queue);
    return exit_code;
}
