/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of the table of commands are made of. */
#ifndef LK_CLI_COMMAND_ROWS_H
#define LK_CLI_COMMAND_ROWS_H

#include "cli/parse/command_line.h"

#define BIT(name) LK_OPTION_BIT(LK_OPTION_##name)

/* The options of every command. `run` and `work` leave stdout to CMD, and so take no --json. */
#define PLAIN_OPTIONS (BIT(QUIET) | BIT(STORE) | BIT(HELP) | BIT(VERSION))
#define COMMON_OPTIONS (PLAIN_OPTIONS | BIT(JSON))

/* What fills in a PART that does not say it; renew and release compare paths and ignore it. */
#define MODE_OPTIONS (BIT(SHARED) | BIT(EXCLUSIVE) | BIT(LIMIT) | BIT(UNITS))
#define REQUEST_OPTIONS                                                                            \
    (MODE_OPTIONS | BIT(OWNER) | BIT(TTL) | BIT(UNTIL) | BIT(TRY) | BIT(WAIT) | BIT(QUEUE)         \
     | BIT(NOTE) | BIT(CONFLICT_EXIT_CODE))

#define ENDS(outcome) (1u << (outcome))
#define ENDS_COMMON                                                                                \
    (ENDS(LK_INVALID) | ENDS(LK_UNAVAILABLE) | ENDS(LK_INTERNAL) | ENDS(LK_DENIED)                 \
     | ENDS(LK_UNSUPPORTED))
#define ENDS_ASK                                                                                   \
    (ENDS_COMMON | ENDS(LK_GRANTED) | ENDS(LK_WAITING) | ENDS(LK_BUSY) | ENDS(LK_TIMEOUT)          \
     | ENDS(LK_DEADLOCK) | ENDS(LK_FULL) | ENDS(LK_LOST))

#endif
