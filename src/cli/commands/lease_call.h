/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands about one lease have in common: the store, the request, and its answer. */
#ifndef LK_CLI_COMMANDS_LEASE_CALL_H
#define LK_CLI_COMMANDS_LEASE_CALL_H

#include "cli/cli.h"
#include "cli/parse/caller.h"
#include "model/part.h"

/* A checked request with its owner. */
struct lk_lease_call {
    lk_store *store; /* NULL until lk_lease_call_open() */
    lk_request request;
    bool is_of_run; /* the owner is that of the lk run around the call, and was not named by it */
    char made_owner[LK_OWNER_TEXT_SIZE];
    char *run_parts[LK_PARTS_MAX]; /* what the parts became by lk_lease_call_join_run() */
};

/*
 * Takes the request from the line, which it borrows from. LK_OK; else the failure is printed and
 * *ret_exit_code is set.
 */
lk_outcome lk_lease_call_init(const struct lk_cli *cli, const struct lk_command_line *line,
                              struct lk_lease_call *ret_call, int *ret_exit_code);

/*
 * Whether the command is about the lease of the lk run around it, which is live: the owner is that
 * of the run, the paths are those of its lease, and so is the token, if one is named. That run
 * relies on the lease to its end, and releases it.
 */
bool lk_lease_call_is_of_run(const struct lk_command_line *line);

/*
 * Of an acquire that lk_lease_call_is_of_run(): makes it ask for what the run holds, with the ttl
 * that the run chose, so that it changes nothing. LK_OK; LK_DEADLOCK with a sentence: the lease
 * would have to become stronger. End with lk_lease_call_leave_run().
 */
lk_outcome lk_lease_call_join_run(struct lk_lease_call *call, lk_error *error);
void lk_lease_call_leave_run(struct lk_lease_call *call);

/* Bounds the wait of the request by what is left of its time. Returns that; 0: it does not wait. */
int64_t lk_lease_call_bound_wait(struct lk_lease_call *call);

/* Prints the outcome of a call. `result` is NULL only when memory is exhausted. */
int lk_lease_call_say(const struct lk_cli *cli, const struct lk_lease_call *call,
                      const lk_result *result, const lk_error *error);

/*
 * The same for an ask; a grant prints its token, and with --value the value on a second line. Notes
 * on stderr say that the lease is older than the call.
 */
int lk_lease_call_say_asked(const struct lk_cli *cli, const struct lk_lease_call *call,
                            const lk_result *result, const lk_error *error);

#endif
