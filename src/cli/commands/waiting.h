/* SPDX-License-Identifier: Apache-2.0 */
/* A plain command that waits: signals end the wait, lines on stderr say what it waits for. */
#ifndef LK_CLI_COMMANDS_WAITING_H
#define LK_CLI_COMMANDS_WAITING_H

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/run/wait_log.h"

struct lk_waiting {
    struct lk_interrupt *interrupt;
    struct lk_run_wait_log *log;
};

/*
 * Begins a wait at the open store: for the lease of `request`, or, if that is NULL, for work of
 * `queue`; `wait_ms` is its limit, LK_FOREVER or 0: none. What is borrowed stays until the program
 * ends. False, after the failure is printed, if the system has no room for it.
 */
bool lk_waiting_begin(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store,
                      const lk_request *request, const char *queue, int64_t wait_ms,
                      struct lk_waiting *ret_waiting);

/*
 * Ends the wait. Returns the signal that came, or 0: then no signal ends the program before
 * lk_waiting_close(), so that the caller can print what it has been granted.
 */
int lk_waiting_end(struct lk_waiting *waiting);
void lk_waiting_close(struct lk_waiting *waiting);

/* Whether what was printed on stdout has arrived: a token that nobody has read ends nothing. */
bool lk_waiting_is_printed(const struct lk_cli *cli);

#endif
