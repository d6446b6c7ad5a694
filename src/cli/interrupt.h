/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of plain commands: Ctrl-C and its like end a wait, and ^Z stops where it does no harm. */
#ifndef LK_CLI_INTERRUPT_H
#define LK_CLI_INTERRUPT_H

#include <stdbool.h>

#include "cli/cli.h"
#include "cli/run/wait.h"
#include "lockkeeper/lockkeeper.h"

/* ---- the end of a wait ----------------------------------------------------------------------- */

/*
 * Ctrl-C while a plain command waits in the queue: the request must not stay there for its ttl.
 * A thread waits for the signals that end a program and turns the first into lk_cancel_now().
 */

struct lk_interrupt;

/*
 * Begins to watch. A second signal ends the program at once, if the wait does not end before.
 * `store`: of which a message says that it is away while the wait goes on, and, if that is so, that
 * it `has_no_limit`; NULL: none is printed.
 * NULL when the system has no more of what it needs. To be called while no other thread is running,
 * so that all inherit the blocked signals.
 */
struct lk_interrupt *lk_interrupt_open(lk_store *store, bool has_no_limit);

/* What a wait must name to be ended by a signal. */
lk_cancel *lk_interrupt_cancel(struct lk_interrupt *interrupt);

/* Ends the watch. Returns the signal that came, or 0. The signals stay blocked. */
int lk_interrupt_end(struct lk_interrupt *interrupt);

/* The same, if that was not called, and frees it; a further signal ends the program. Accepts
 * NULL. */
int lk_interrupt_close(struct lk_interrupt *interrupt);

/* ---- ^Z -------------------------------------------------------------------------------------- */

/* ^Z for commands that do not handle it themselves. */

/*
 * From here on SIGTSTP stops this process as usual, but never inside a transaction that other
 * processes may wait for (base/thread.h). Must be called before any other thread is started. If
 * no thread can be created, nothing changes.
 */
void lk_stop_outside_transactions(void);

/* ---- a command that waits -------------------------------------------------------------------- */

/* A plain command that waits: signals end the wait, lines on stderr say what it waits for. */

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

/* Whether what was printed on stdout has arrived: a token that no reader has got ends nothing. */
bool lk_waiting_is_printed(const struct lk_cli *cli);

#endif
