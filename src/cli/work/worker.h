/* SPDX-License-Identifier: Apache-2.0 */
/* One worker of a pool: a process that claims item after item and runs CMD for each. */
#ifndef LK_CLI_WORK_WORKER_H
#define LK_CLI_WORK_WORKER_H

#include "cli/run/signals.h"
#include "cli/work/counters.h"

/* What a worker gets from the process that starts it; everything is borrowed. */
struct lk_pool_slot {
    const struct lk_cli *cli;
    const struct lk_pool_options *options;
    const struct lk_run_signals *signals;
    struct lk_pool_counters *counters;
    const char *queue;
    size_t index;
    bool is_finder; /* R17: of a table's rows; claims nothing */
};

/* Orders to a worker. Other programs do not send these two, and rarely have them ignored. */
enum { LK_POOL_ORDER_STOP = SIGUSR1, LK_POOL_ORDER_END = SIGUSR2 };

/*
 * Runs the worker, in a process of its own that was just forked. After LK_POOL_ORDER_STOP, SIGTERM,
 * SIGINT or SIGHUP it claims nothing more; after the order to end, or SIGQUIT, it also ends the
 * command that it runs. Each signal may come any number of times. Returns the exit code: 0 when the
 * queue is drained or the worker was ordered to stop.
 */
int lk_pool_worker(const struct lk_pool_slot *slot);

#endif
