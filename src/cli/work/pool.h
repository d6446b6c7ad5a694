/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `lk work`: a pool of workers over a queue. Each worker is a process that does what `lk run` does,
 * once for every item it claims (worker.h). The parent process starts them, replaces those that
 * die, passes signals on and prints the progress. The input is the parsed command line, the result
 * is an exit code.
 */
#ifndef LK_CLI_WORK_POOL_H
#define LK_CLI_WORK_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/cli.h"

enum {
    LK_POOL_WORKERS_MAX = LK_WORKERS_MAX,
    LK_POOL_SLOTS_MAX = LK_POOL_WORKERS_MAX + 1, /* and a finder of a table's rows */
    LK_POOL_EXIT_PARKED = 1,
};

/* The parsed command line. Everything it points to is borrowed. */
struct lk_pool_options {
    const char *store_url;      /* -S; NULL: as lk_open(NULL) finds it */
    const char *queue;          /* NULL: the table's name */
    const lk_work_table *table; /* R17; NULL: the queue is no table */
    lk_work_loops loops;        /* of a table */
    char *const *command; /* argv of CMD, ended by NULL; {id} in a word but the first is replaced;
                             NULL where nothing is worked on */
    size_t workers;
    size_t batch;          /* CMD gets up to so many items at once; 0: one, in another form */
    int64_t ttl_ms;        /* of a claim; 0: 60 s */
    uint32_t max_attempts; /* 0: no maximum */
    int64_t max_time_ms;   /* of CMD for one item; 0: none */
    int64_t stop_after_ms; /* how long CMD may go on after the first signal; -1: until it ends */
    int64_t backoff_ms;    /* until an item is claimed again that failed once; 0: 1 s */
    const char *note;      /* NULL: none */
    bool drain;            /* end when nothing is left */
};

/*
 * Works until the queue is drained, or a signal ends it: the first lets running commands end, the
 * second ends them. An item that fails has a line on stderr, and the end of the pool one with its
 * counts. To be called from the main thread, once, while no other thread is running and
 * no store is open: it forks. Returns the exit code of `lk`:
 * LK_POOL_EXIT_PARKED for a queue that was drained while an item was parked. A failure is printed.
 */
int lk_cli_pool(const struct lk_cli *cli, const struct lk_pool_options *options);

#endif
