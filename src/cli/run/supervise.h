/* SPDX-License-Identifier: Apache-2.0 */
/* Supervises CMD until it exits; where lk ends it, until every process that it started is gone. */
#ifndef LK_CLI_RUN_SUPERVISE_H
#define LK_CLI_RUN_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/run/child.h"
#include "cli/run/deadline.h"
#include "cli/run/run.h"
#include "cli/run/status.h"

/* What to do with a signal that may be meant for CMD, or for lk. */
enum lk_run_signal_use {
    LK_RUN_PASS_ON, /* to CMD */
    LK_RUN_KEEP,    /* it was not for CMD */
    LK_RUN_END_NOW, /* CMD is ended: SIGTERM at once, SIGKILL as after --max-time */
};

/* What is supervised; everything is borrowed. */
struct lk_run_job {
    const struct lk_run_options *options;
    lk_store *store;                      /* of the leases */
    struct lk_run_outage_log *outage_log; /* what is said of it; NULL: nothing */
    struct lk_run_leases leases;          /* none with --inherit: nothing of ours can be lost */
    int64_t ttl_ms;                       /* of each lease */
    int lost_descriptor; /* eventfd: readable when a lease is found lost; -1 without leases */
    int timer;           /* lk_run_timer_open() */
    const int *report;   /* where CMD tells something; NULL, or -1: nowhere (any more) */
    void (*on_report)(void *context); /* it is readable */
    bool is_quiet;                    /* the caller says why CMD was ended */
    const struct lk_run_signals *signals;
    struct lk_run_terminal *terminal;
    struct lk_run_guard *guard;
    struct lk_run_child *child;
    /* NULL: every signal is passed on. */
    enum lk_run_signal_use (*signal_use)(void *context, int signal);
    void *context;
};

struct lk_run_end {
    int exit_code;       /* of lk; LOST and --max-time considered */
    bool is_lost;        /* a lease was lost, or so near its deadline that CMD was ended */
    const char *why;     /* that was; NULL: neither. Lives as long as the program */
    bool is_over_time;   /* CMD was ended because --max-time was up */
    int signal;          /* that CMD died of; 0: it exited */
    int terminal_signal; /* SIGINT or SIGQUIT: CMD died of it, and its terminal had sent it; or 0 */
    int64_t deadline_us; /* last confirmed, on lk_clock_now_us() */
};

/* Before CMD is started: tells the guard by when CMD must be dead. */
void lk_run_supervise_begin(const struct lk_run_job *job);

/*
 * Passes signals on, stops and continues with CMD, sends the guard each new deadline, and ends CMD
 * when any of its leases or its time is over. Returns when CMD has ended, is reaped and the guard
 * is notified; if lk ended it, only when no descendant is left either.
 */
struct lk_run_end lk_run_supervise(const struct lk_run_job *job);

#endif
