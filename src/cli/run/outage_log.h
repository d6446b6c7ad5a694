/* SPDX-License-Identifier: Apache-2.0 */
/* Messages about a store that does not answer, while lk waits and while CMD runs. */
#ifndef LK_CLI_RUN_OUTAGE_LOG_H
#define LK_CLI_RUN_OUTAGE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "lockkeeper/lockkeeper.h"

enum { LK_RUN_OUTAGE_LOOK_MS = 500 };

enum lk_run_outage_news {
    LK_RUN_OUTAGE_NOTHING,
    LK_RUN_OUTAGE_AWAY, /* a line is due */
    LK_RUN_OUTAGE_BACK,
};

/* Start from all zero bytes, but for `may_say` and `has_no_limit`. */
struct lk_run_outage_log {
    int64_t next_ms; /* of the outage: when the next line is due */
    bool has_said;
    bool has_said_why;
    bool has_no_limit; /* the wait goes on until the store is back */

    /* Asked before each line, of processes that share a stderr and a store. NULL: always. */
    bool (*may_say)(void *context, enum lk_run_outage_news news);
    void *context;
};

/*
 * What is to be said of a store that has been away for so long, and counts it as said: the first
 * line after a second, another one when the outage is twice as old, or when its reason is known.
 */
enum lk_run_outage_news lk_run_outage_log_next(struct lk_run_outage_log *log, int64_t away_ms,
                                               bool knows_why);

/*
 * To be called every LK_RUN_OUTAGE_LOOK_MS: prints a line on stderr when the store has been away
 * for a second, after as long again each time, and when it is back. With a lease the line says how
 * long that is still promised; NULL: lk waits for one. Does not block.
 */
void lk_run_outage_log_look(struct lk_run_outage_log *log, lk_store *store, const lk_lease *lease);

#endif
