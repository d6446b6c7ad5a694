/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `lk run`: a command under a lease. The input is the parsed command line, the result is an exit
 * code; run.c has the steps in between, in order.
 */
#ifndef LK_CLI_RUN_RUN_H
#define LK_CLI_RUN_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "lockkeeper/lockkeeper.h"

/* What lk does to CMD when the lease is lost while CMD runs (--on-lost). */
enum lk_run_on_lost { LK_RUN_ON_LOST_KILL = 0, LK_RUN_ON_LOST_WARN = 1 };

/* Exit codes that belong to `run` alone; the others are those of the outcomes. */
enum {
    LK_RUN_EXIT_MAX_TIME = 124,       /* --max-time is up */
    LK_RUN_EXIT_NOT_EXECUTABLE = 126, /* CMD cannot be executed */
    LK_RUN_EXIT_NOT_FOUND = 127,      /* CMD is not found */
    LK_RUN_EXIT_SIGNAL = 128,         /* + N: died of signal N */
};

/* The parsed command line. Everything it points to is borrowed. Start from all zero bytes. */
struct lk_run_options {
    const char *store_url; /* -S; NULL: as lk_open(NULL) finds it */
    /*
     * From lk_request_init(): parts, owner (NULL: a fresh one, never $LK_OWNER), style, wait_ms,
     * ttl_ms or until_unix_ms, shared, limit, units, note. `cancel` is set by lk_cli_run().
     */
    struct lk_request request;
    char *const *command; /* argv of CMD, ended by NULL; at least one word */
    const char *cleanup;  /* --cleanup, for /bin/sh -c; NULL: none */
    const char *report;   /* --report: a descriptor or a file; NULL: none */
    int64_t max_time_ms;  /* --max-time; 0: none */
    enum lk_run_on_lost on_lost;
    bool inherit;       /* --inherit: run under the lease of the environment, take nothing */
    bool verbose;       /* -v: print the blockers although stderr is no terminal */
    bool quiet;         /* -q: say nothing of waiting, BUSY and TIMEOUT */
    bool tells_busy;    /* say BUSY and TIMEOUT */
    int busy_exit_code; /* -E: for BUSY and TIMEOUT; 75 unless given */
};

/*
 * Waits for the lease, runs CMD under it, keeps it alive, releases it however CMD ends. To be
 * called from the main thread, once, while no other thread is running and the standard descriptors
 * are open: it blocks signals, becomes a subreaper and waits for children. Returns the exit code
 * of `lk`; a failure is printed on stderr as `lk: OUTCOME: text`.
 */
int lk_cli_run(const struct lk_run_options *options);

#endif
