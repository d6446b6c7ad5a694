/* SPDX-License-Identifier: Apache-2.0 */
/* What CMD and the clean-up command find in their environment. */
#ifndef LK_CLI_RUN_ENVIRONMENT_H
#define LK_CLI_RUN_ENVIRONMENT_H

#include <stdbool.h>

#include "lockkeeper/lockkeeper.h"

/* Bytes of "LK_EXIT=255" and the end. */
enum { LK_RUN_EXIT_TEXT_MAX = 16 };

enum { LK_RUN_LEASE_VARIABLES = 9 };

struct lk_run_environment {
    char **command;                      /* for CMD */
    char **cleanup;                      /* the same and LK_EXIT */
    char *owned[LK_RUN_LEASE_VARIABLES]; /* the LK_ variables; all NULL: inherited as they are */
    char exit_text[LK_RUN_EXIT_TEXT_MAX];
};

/*
 * This process's environment with LK_STORE (`store_url` without its password, with absolute paths:
 * CMD may change directory), LK_STORE_URL_FILE if it has one (store/url.h), LK_PATH, LK_OWNER,
 * LK_TOKEN, LK_TOKENS and LK_TTL_MS of `granted`, LK_OUTER, the leases around it, and LK_RUN_OWNER,
 * by which an LK_OWNER that CMD names itself is told from that of the lease (parse/ask.h); with
 * granted NULL (--inherit) as it is.
 * Borrows the rest of the environment. False when memory is exhausted. End with
 * lk_run_environment_done().
 */
bool lk_run_environment_init(struct lk_run_environment *environment, const char *store_url,
                             const lk_result *granted);
void lk_run_environment_done(struct lk_run_environment *environment);

/* Sets LK_EXIT of the clean-up command, 0 to 255. Safe between fork and exec. */
void lk_run_environment_set_exit(struct lk_run_environment *environment, int exit_code);

#endif
