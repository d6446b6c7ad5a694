/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands that end a claim, or wait for its end, have in common. */
#ifndef LK_CLI_COMMANDS_RESULT_H
#define LK_CLI_COMMANDS_RESULT_H

#include "cli/cli.h"

/*
 * Waits until an item is done or parked, and prints what came of it. Returns the exit code: 0 if it
 * is done, 1 if it was parked or is not there, 75 if it is neither after wait_ms.
 */
int lk_cli_await_result(const struct lk_cli *cli, lk_store *store, const char *queue,
                        const char *id, int64_t wait_ms);

/*
 * The token of the claim on the item of a command line QUEUE ID: that of --token; that of the claim
 * for CMD of lk work, whose end is known by it then; 0: any.
 */
uint64_t lk_cli_claim_token(const struct lk_command_line *line);

#endif
