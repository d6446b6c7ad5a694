/* SPDX-License-Identifier: Apache-2.0 */
/* CMD for one item, under its claim, exactly as `lk run` runs it under a lease. */
#ifndef LK_CLI_WORK_ITEM_H
#define LK_CLI_WORK_ITEM_H

#include "cli/run/supervise.h"

/* What every item of a worker has in common; everything is borrowed. */
struct lk_pool_cooldown {
    const char *store_url; /* without any password */
    char *const *command;
    const struct lk_run_signals *signals;
    int64_t max_time_ms; /* --max-time; 0: none */
    int timer;           /* lk_run_timer_open() */
    /* What signals mean; see supervise.h. */
    enum lk_run_signal_use (*signal_use)(void *context, int signal);
    void *context;
};

struct lk_pool_item_end {
    int exit_code; /* CMD's, or that of LOST */
    bool is_lost;
    bool is_over_time; /* CMD was ended because its time was up */
    int signal;        /* that CMD died of; 0: it exited */
    int start_error;   /* errno, when CMD could not be started at all; 0: it was */
};

/*
 * Runs CMD with the item's value on its stdin, {id} in its words and the claim in its environment.
 * Returns when CMD has ended: by itself, because the claim was lost, or because a signal asked for
 * it. The lease's lost callback is unset then.
 */
struct lk_pool_item_end lk_pool_item_run(const struct lk_pool_cooldown *cooldown,
                                         const lk_claim_info *claim, lk_lease *lease);

/*
 * `command` with {id} replaced in every word but the first. To be freed as one piece with free();
 * NULL when memory is exhausted.
 */
char **lk_pool_item_words(char *const *command, const char *id);

#endif
