/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lease of the lk run that a plain command is under, as the environment describes it: LK_OWNER,
 * LK_PATH, LK_TOKENS, and LK_RUN_OWNER, which is LK_OWNER unless CMD has named another one.
 */
#ifndef LK_CLI_PARSE_RUN_LEASE_H
#define LK_CLI_PARSE_RUN_LEASE_H

#include "cli/parse/command_line.h"
#include "model/part.h"

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

#endif
