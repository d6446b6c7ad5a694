/* SPDX-License-Identifier: Apache-2.0 */
/* CMD for one item, or for a batch, under the claims, exactly as `lk run` runs it under leases. */
#ifndef LK_CLI_WORK_ITEM_H
#define LK_CLI_WORK_ITEM_H

#include "cli/run/supervise.h"
#include "cli/work/relay.h"
#include "cli/work/report.h"

/* What all calls of a worker have in common; everything is borrowed. */
struct lk_pool_job {
    const char *store_url; /* with its password: store/url.h */
    char *const *command;
    const struct lk_run_signals *signals;
    bool has_batches;    /* CMD reads lines of JSON, and not the value of one item */
    int64_t max_time_ms; /* --max-time; 0: none */
    int timer;           /* lk_run_timer_open() */
    int lost_descriptor; /* eventfd: made readable when a claim is lost that CMD has not ended */
    lk_store *store;     /* of the claims */
    struct lk_pool_channel *channel; /* what CMD reports; it is opened and closed for each CMD */
    void (*on_report)(void *context);
    void (*on_lost)(void *context, lk_lease *lease); /* from another thread */
    struct lk_run_outage_log *outage_log;            /* what is said of it; NULL: nothing */
    /* What signals mean; see supervise.h. */
    enum lk_run_signal_use (*signal_use)(void *context, int signal);
    void *context;
};

struct lk_pool_item_end {
    int exit_code;              /* CMD's, or that of LOST */
    bool is_lost;               /* a claim is, or its deadline was near */
    bool is_over_time;          /* CMD was ended because its time was up */
    int signal;                 /* that CMD died of; 0: it exited */
    int start_error;            /* of lk_run_child_start(), when CMD could not be started; or 0 */
    struct lk_pool_tail errors; /* the end of what it wrote to stderr */
};

/*
 * Runs CMD once for all of the items: their values on its stdin, the first one's id for {id} in its
 * words, and the claims in its environment. Returns when CMD has ended: by itself, because a claim
 * was lost, or because a signal asked for it. The leases' lost callbacks are unset then. `states`
 * has the enum lk_run_lease_state of each. `count` is 1 or more; without batches 1.
 */
struct lk_pool_item_end lk_pool_item_run(const struct lk_pool_job *job, const lk_work_item *items,
                                         const _Atomic unsigned char *states, size_t count);

/*
 * `command` with {id} replaced in every word but the first. To be freed as one piece with free();
 * NULL when memory is exhausted.
 */
char **lk_pool_item_words(char *const *command, const char *id);

/* Whether {id} is in a word of the command but the first. */
bool lk_pool_command_names_id(char *const *command);

#endif
