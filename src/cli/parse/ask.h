/* SPDX-License-Identifier: Apache-2.0 */
/* A request of the public API, filled from the command line; `run` and `acquire` ask alike. */
#ifndef LK_CLI_PARSE_ASK_H
#define LK_CLI_PARSE_ASK_H

#include "cli/parse/command_line.h"
#include "lockkeeper/lockkeeper.h"
#include "model/part.h"

/* ---- the lease of a lk run ------------------------------------------------------------------- */

/*
 * That a plain command is under, as the environment describes it: LK_OWNER, LK_PATH, LK_TOKENS, and
 * LK_RUN_OWNER, which is LK_OWNER unless CMD has named another one.
 */

/* Whether the owner is $LK_OWNER as lk run has set it: --owner and CMD name none. */
bool lk_run_lease_owns(const struct lk_command_line *line);

/* Whether one of the parts has a path that is related (R5) to one of the lease's. */
bool lk_run_lease_is_near(const char *const *parts, size_t count,
                          const struct lk_part_defaults *defaults);

/* Whether the parts have exactly the paths of the lease, in any order (R3). */
bool lk_run_lease_has_paths(const char *const *parts, size_t count,
                            const struct lk_part_defaults *defaults);

/* Whether it is one of the lease's tokens. */
bool lk_run_lease_has_token(uint64_t token);

/* The token of the lease at exactly this path; 0: it has none. */
uint64_t lk_run_lease_token_at(const char *path);

/* ---- requests -------------------------------------------------------------------------------- */

/*
 * Checks the parts of the command line: LK_OK, or LK_INVALID with the part and the byte that is
 * wrong in *error.
 */
lk_outcome lk_ask_check_parts(const struct lk_command_line *line, lk_error *error);

/*
 * Everything but the owner: parts, defaults of parts, style, ttl or end, note. Borrows from the
 * line.
 */
lk_request lk_ask_from_line(const struct lk_command_line *line);

/*
 * The path argument of a command, normalised (R1). LK_OK with *ret_path, to be freed; LK_INVALID
 * with the byte that is wrong, or LK_INTERNAL.
 */
lk_outcome lk_ask_path(const char *text, char **ret_path, lk_error *error);

/*
 * The owner of a plain command about the first `path_count` words: --owner, else $LK_OWNER, else
 * one made for the caller (caller.h) in `made`, where room is. Returns which.
 *
 * An LK_OWNER that lk run has set for its CMD counts only if one of the paths is related (R5) to
 * those of its lease, which would otherwise be in the way. CMD may have threads and jobs, which
 * must exclude each other: for all other paths the owner is the same as outside of the run.
 */
const char *lk_ask_owner(const struct lk_command_line *line, size_t path_count, char made[129]);

/* The same for a command about a claim, for which all commands of a program have one owner. */
const char *lk_ask_claimant(const struct lk_command_line *line, char made[129]);

/* R16: the delay of an item, by --delay, or by --at and this machine's clock. 0: none. */
int64_t lk_ask_delay_ms(const struct lk_command_line *line);

/*
 * R17: the table of --table, which borrows from the line; its name is NULL where none was given.
 * LK_OK, or LK_INVALID: an option of a table without a table.
 */
lk_outcome lk_ask_table(const struct lk_command_line *line, lk_work_table *ret_table,
                        lk_error *error);

#endif
