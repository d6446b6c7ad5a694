/* SPDX-License-Identifier: Apache-2.0 */
/* One worker of a pool: a process that claims item after item and runs CMD for each. */
#ifndef LK_CLI_POOL_WORKER_H
#define LK_CLI_POOL_WORKER_H

#include "cli/pool/tally.h"
#include "cli/run/signals.h"

/* What a worker gets from the process that starts it; everything is borrowed. */
struct lk_pool_post {
    const struct lk_cli *cli;
    const struct lk_pool_options *options;
    const struct lk_run_signals *signals;
    struct lk_pool_tally *tally;
    const char *queue;
    size_t place;
    bool is_finder; /* R17: of a table's rows; claims nothing */
};

/* Orders to a worker. Nobody else sends these two, and hardly anybody has them ignored. */
enum { LK_POOL_ORDER_STOP = SIGUSR1, LK_POOL_ORDER_END = SIGUSR2 };

/*
 * The whole life of the worker, in a process of its own that was forked just now. Told to stop, or
 * sent SIGTERM, SIGINT or SIGHUP, it claims nothing more; told to end, or sent SIGQUIT, it ends
 * what it runs, too. Any of them may come any number of times. Returns the exit code: 0 when the
 * queue is drained or it was told to stop.
 */
int lk_pool_worker(const struct lk_pool_post *post);

#endif
