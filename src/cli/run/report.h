/* SPDX-License-Identifier: Apache-2.0 */
/* lk run --report: one line of JSON that says what came of the run, for scripts and logs. */
#ifndef LK_CLI_RUN_REPORT_H
#define LK_CLI_RUN_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "lockkeeper/lockkeeper.h"

/* What came of a run. The texts and structs that it points to are borrowed. */
struct lk_run_report {
    int descriptor;            /* that the line is written to; -1: none is asked for */
    const lk_request *request; /* as it was asked */
    const lk_result *result;   /* of the ask; NULL: there was none */
    lk_outcome outcome;        /* LK_GRANTED: CMD could run; else `error` says why not */
    char error[LK_ERROR_TEXT_MAX];
    int64_t waited_ms;  /* from the start of the program to the grant, or to the refusal */
    int64_t granted_us; /* on lk_clock_now_us(); 0: not granted */
    int64_t stays_ms;   /* --at-least: for how long the lease is held still; 0: it has ended */
    int signal;         /* that CMD died of, or that ended the wait; 0: none */
    bool is_lost;
    char why[LK_ERROR_TEXT_MAX + 64]; /* it was lost, or could not be released; empty: neither */
};

/*
 * Opens what `target` names: a descriptor that was inherited, by its number, or else a file, which
 * is made or appended to. CMD does not inherit it. LK_OK with *ret_descriptor, for the caller to
 * close; LK_INVALID: there is no such descriptor that can be written to, or no such file can be;
 * LK_DENIED.
 */
lk_outcome lk_run_report_open(const char *target, int *ret_descriptor, lk_error *error);

/*
 * Writes the line. A reader that takes nothing for a second does not delay lk: then, and where the
 * disk is full, a line on stderr says that the report could not be written.
 */
void lk_run_report_write(const struct lk_run_report *report, int exit_code);

#endif
