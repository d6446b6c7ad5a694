/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a run, in order: wait for the lease, confirm it, start the guard and CMD, supervise
 * until CMD has ended, clean up, release. Each step is a file of its own.
 *
 * Everything that lk opens is closed by exec; what it was given is passed on as it is.
 */
#include "cli/run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "cli/print/broken.h"
#include "cli/print/say.h"
#include "cli/run/deadline.h"
#include "cli/run/descriptors.h"
#include "cli/run/guard.h"
#include "cli/run/inherit.h"
#include "cli/run/open.h"
#include "cli/run/report.h"
#include "cli/run/signals.h"
#include "cli/run/status.h"
#include "cli/run/supervise.h"
#include "cli/run/wait.h"
#include "cli/store/url.h"
#include "client/lease.h"

enum {
    DEFAULT_TTL_MS = 60000, /* bounds the time that CMD gets to end, if the lease has no ttl */
    CONFIRM_PATIENCE_MAX_MS = 10000,
};

struct run {
    const struct lk_run_options *options;
    struct lk_cli cli; /* how outcomes are printed */
    char owner[129];
    lk_request request;
    struct lk_run_signals signals;
    struct lk_run_terminal terminal;
    struct lk_run_wait wait; /* with the lease; none with --inherit */
    struct lk_run_environment environment;
    struct lk_run_cleanup cleanup;
    struct lk_run_guard guard;
    int timer;
    int lost_descriptor;
    bool has_started; /* CMD: what --at-least is for */
    struct lk_run_report report;
};

/* Keeps the reason for the report. */
static void note_refusal(struct run *run, lk_outcome outcome, const char *text) {
    run->report.outcome = outcome;
    (void)snprintf(run->report.error, sizeof run->report.error, "%s",
                   text[0] != '\0' ? text : lk_outcome_text(outcome));
}

/* Prints the reason, too. Returns the exit code. */
static int refuse(struct run *run, lk_outcome outcome, const char *text) {
    note_refusal(run, outcome, text);
    return lk_say_failure(&run->cli, outcome, text);
}

static int fail(struct run *run, const char *what) {
    lk_error error;

    (void)lk_run_explain_lack(what, &error);
    return refuse(run, error.outcome, error.text);
}

/* ---- the lease ------------------------------------------------------------------------------- */

/*
 * A grant after a wait may have been made while this process did not run, or the answer may have
 * been delayed. Only a renewal shows that the lease is still held.
 */
static lk_outcome confirm(struct run *run, lk_error *error) {
    const lk_result *result = run->wait.result;
    lk_request renewal = run->request;

    /* An immediate grant uses its ticket as its token (R4). */
    if (result->token == result->ticket || result->fixed) {
        return LK_OK;
    }
    int64_t patience_ms = lk_lease_remaining_ms(run->wait.lease) / 2;
    if (patience_ms > CONFIRM_PATIENCE_MAX_MS) {
        patience_ms = CONFIRM_PATIENCE_MAX_MS;
    }
    renewal.patience_ms = patience_ms > 0 ? patience_ms : 1;
    return lk_renew(run->wait.store, &renewal, result->token, NULL, error);
}

/* The ask was not granted. Prints the reason. Returns the exit code. */
static int refuse_asked(struct run *run) {
    struct lk_run_wait *wait = &run->wait;

    if (wait->result == NULL) {
        return refuse(run, wait->outcome, wait->error.text);
    }
    note_refusal(run, wait->outcome, wait->error.text);
    return lk_say_result(&run->cli, wait->store, wait->result);
}

/* Whether the lease is held; otherwise *ret_exit_code, which -E may have made 0, after printing the
 * reason. */
static bool obtain(struct run *run, int *ret_exit_code) {
    struct lk_run_wait *wait = &run->wait;
    lk_error error;

    if (run->request.owner == NULL) {
        lk_owner_make(run->owner);
        run->request.owner = run->owner;
    }
    lk_run_wait(wait, run->options, &run->request, &run->signals);
    run->report.waited_ms = lk_budget_spent_ms();
    run->report.result = wait->result;
    if (wait->signal != 0) {
        run->report.outcome = LK_CANCELLED;
        run->report.signal = wait->signal;
        *ret_exit_code = LK_RUN_EXIT_SIGNAL + wait->signal;
        return false;
    }
    if (wait->outcome != LK_GRANTED) {
        *ret_exit_code = refuse_asked(run);
        return false;
    }
    run->report.granted_us = lk_clock_now_us();
    lk_outcome outcome = confirm(run, &error);
    if (outcome == LK_OK) {
        lk_say_requeued(&run->cli, wait->result);
        return true;
    }
    run->report.granted_us = 0;
    if (outcome == LK_UNAVAILABLE) {
        lk_lease_release_later(wait->lease, wait->store);
    } else {
        (void)lk_lease_release_now_for_good(wait->lease, NULL);
    }
    wait->lease = NULL;
    *ret_exit_code = refuse(run, outcome, error.text);
    return false;
}

static void note_lost(void *context, lk_lease *lease) {
    const struct run *run = context;

    (void)lease;
    eventfd_write(run->lost_descriptor, 1);
}

/*
 * A lost lease may still block other requests until its deadline: if it was broken without "now",
 * or CMD was ended before the deadline because the store did not answer. It is released, if that
 * succeeds before the deadline, whatever --at-least says. A bound lease ends with its connection,
 * which is closed here.
 */
static void give_back_lost(struct run *run, int64_t deadline_us) {
    int64_t left_ms = (deadline_us - lk_clock_now_us()) / 1000;

    if (left_ms > 0 && !run->request.bound) {
        lk_request release = run->request;
        release.patience_ms = left_ms;
        lk_release(run->wait.store, &release, run->wait.result->token, NULL, NULL);
    }
    lk_lease_abandon(run->wait.lease);
}

/* After a loss, once nothing of CMD is left: by whom, when and why, if the store knows it. One that
 * is away is not waited for. */
static void say_break(struct run *run) {
    lk_error error;
    bool is_asked = !run->options->quiet || run->report.descriptor >= 0;
    char *broken = is_asked && lk_away_ms(run->wait.store, &error) == 0
                       ? lk_broken_by(run->wait.store, run->wait.result)
                       : NULL;

    if (broken != NULL && !run->options->quiet) {
        lk_run_status("LOST", "the lease was %s", broken);
    }
    if (broken != NULL) {
        (void)snprintf(run->report.why, sizeof run->report.why, "the lease was %s", broken);
    }
    free(broken);
}

static void note_lost_because(struct run *run, const char *why) {
    run->report.is_lost = true;
    (void)snprintf(run->report.why, sizeof run->report.why, "%s", why);
}

/* Returns the exit code, LOST considered. */
static int give_back(struct run *run, const struct lk_run_end *end) {
    lk_error error;

    if (run->wait.lease == NULL) {
        return end->exit_code;
    }
    lk_lease_on_lost(run->wait.lease, NULL, NULL);
    if (end->is_lost) {
        bool is_gone = lk_lease_is_lost(run->wait.lease);
        note_lost_because(run, end->why);
        give_back_lost(run, end->deadline_us);
        if (is_gone) {
            say_break(run);
        }
        return end->exit_code;
    }
    int64_t stay_ms = run->has_started ? lk_lease_stay_ms(run->wait.lease) : 0;
    lk_outcome outcome = run->has_started ? lk_lease_release_for_good(run->wait.lease, &error)
                                          : lk_lease_release_now_for_good(run->wait.lease, &error);
    if (outcome == LK_LOST) {
        note_lost_because(run, "the lease was not held any more when the command ended");
        lk_run_status("LOST", "%s", run->report.why);
        say_break(run);
        return lk_outcome_exit_code(LK_LOST);
    }
    if (outcome != LK_OK) {
        (void)snprintf(run->report.why, sizeof run->report.why,
                       "the lease could not be %s and ends by its ttl: %s",
                       stay_ms > 0 ? "kept for --at-least" : "released", error.text);
        lk_run_status("UNAVAILABLE", "%s", run->report.why);
    } else {
        run->report.stays_ms = stay_ms;
    }
    return end->exit_code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static struct lk_run_end say_not_started(const struct run *run, int error) {
    return (struct lk_run_end){.exit_code =
                                   lk_run_child_say_failure(run->options->command[0], error),
                               .deadline_us = LK_RUN_NEVER_US};
}

/* The ttl by which the lease is renewed, even if the store promises more (shm:); with a fixed end,
 * the time that is left; of a bound lease, the time that is promised. */
static int64_t ttl_of(const struct run *run) {
    int64_t asked_ms = run->request.ttl_ms > 0 ? run->request.ttl_ms : DEFAULT_TTL_MS;

    if (run->wait.lease == NULL) {
        return DEFAULT_TTL_MS;
    }
    return run->request.bound || run->wait.result->fixed || run->wait.result->ttl_ms <= 0
               ? lk_lease_remaining_ms(run->wait.lease)
               : lk_min(run->wait.result->ttl_ms, asked_ms);
}

static struct lk_run_end run_command(struct run *run) {
    struct lk_run_outage_log outage_log = {.next_ms = 0};
    bool tells_outages = !run->options->quiet && run->wait.store != NULL;
    struct lk_run_child child;
    const struct lk_run_start start = {.command = run->options->command,
                                       .environment = run->environment.command,
                                       .signals = &run->signals,
                                       .terminal = &run->terminal,
                                       .guard = &run->guard};
    const struct lk_run_job job = {.options = run->options,
                                   .store = run->wait.store,
                                   .outage_log = tells_outages ? &outage_log : NULL,
                                   .leases = {&run->wait.lease, run->wait.lease != NULL ? 1 : 0},
                                   .ttl_ms = ttl_of(run),
                                   .lost_descriptor = run->lost_descriptor,
                                   .timer = run->timer,
                                   .signals = &run->signals,
                                   .terminal = &run->terminal,
                                   .guard = &run->guard,
                                   .child = &child};
    lk_run_supervise_begin(&job);
    int error = lk_run_child_start(&start, &child);

    if (error != 0) {
        return say_not_started(run, error);
    }
    run->has_started = true;
    struct lk_run_end end = lk_run_supervise(&job);
    run->report.signal = end.signal;
    lk_death_note(end.terminal_signal, !child.shares_group);
    return end;
}

static void clean_up(struct run *run, int exit_code) {
    if (run->options->cleanup != NULL) {
        lk_run_cleanup_run(&run->cleanup, &run->guard, exit_code);
    }
}

/* ---- all together ---------------------------------------------------------------------------- */

/* What CMD needs beside the lease. Returns 0, or the exit code of lk after printing the reason. */
static int prepare(struct run *run) {
    char *url = run->wait.store != NULL ? lk_secret_url_of(run->options->store_url) : NULL;
    bool is_described = (run->wait.store == NULL || url != NULL)
                        && lk_run_environment_init(&run->environment, url, run->wait.result);

    free(url);
    if (!is_described) {
        return fail(run, "no memory for the environment");
    }
    run->cleanup = (struct lk_run_cleanup){.command = run->options->cleanup,
                                           .environment = &run->environment,
                                           .signals = &run->signals};
    run->timer = lk_run_timer_open();
    run->lost_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (run->timer < 0 || run->lost_descriptor < 0) {
        return fail(run, "no descriptor to watch the command with");
    }
    lk_run_terminal_open(&run->terminal);
    int connection = run->wait.lease != NULL ? lk_lease_connection(run->wait.lease) : -1;
    if (!lk_run_guard_start(&run->guard, &run->cleanup, connection)) {
        return fail(run, "the guard cannot be started");
    }
    if (run->wait.lease != NULL) {
        lk_lease_on_lost(run->wait.lease, note_lost, run);
    }
    return 0;
}

static int run_under_lease(struct run *run) {
    struct lk_run_end end = {.exit_code = prepare(run), .deadline_us = LK_RUN_NEVER_US};

    if (end.exit_code == 0) {
        end = run_command(run);
        clean_up(run, end.exit_code);
    }
    end.exit_code = give_back(run, &end);
    lk_run_guard_dismiss(&run->guard);
    return end.exit_code;
}

static void close_all(struct run *run) {
    lk_run_wait_done(&run->wait);
    lk_run_environment_done(&run->environment);
    lk_run_terminal_close(&run->terminal);
    const int descriptors[] = {run->timer, run->lost_descriptor, run->signals.descriptor,
                               run->report.descriptor};
    for (size_t i = 0; i < sizeof descriptors / sizeof descriptors[0]; i++) {
        if (descriptors[i] >= 0) {
            close(descriptors[i]);
        }
    }
}

/* Handles signals of the time before CMD: it is not started only to be ended. */
static int heed_signals(struct run *run) {
    bool is_from_kernel;
    int signal = lk_run_signals_take_end(&is_from_kernel);

    if (signal == 0) {
        return 0;
    }
    lk_run_signal_ends(signal, is_from_kernel);
    run->report.outcome = LK_CANCELLED;
    run->report.granted_us = 0;
    run->report.signal = signal;
    if (run->wait.lease != NULL) {
        (void)lk_lease_release_now_for_good(run->wait.lease, NULL);
        run->wait.lease = NULL;
    }
    return LK_RUN_EXIT_SIGNAL + signal;
}

/* Whether CMD may run; otherwise *ret_exit_code. */
static bool take_or_inherit(struct run *run, int *ret_exit_code) {
    lk_error error;
    lk_outcome outcome = run->options->inherit ? lk_run_inherit_check(run->options, &error)
                                               : lk_run_nested_check(run->options, &error);

    if (outcome == LK_OK) {
        return obtain(run, ret_exit_code);
    }
    run->report.waited_ms = lk_budget_spent_ms();
    if (outcome == LK_CANCELLED) {
        *ret_exit_code = heed_signals(run);
    } else if (outcome != LK_GRANTED) {
        *ret_exit_code = refuse(run, outcome, error.text);
    } else {
        run->report.granted_us = lk_clock_now_us();
    }
    return outcome == LK_GRANTED;
}

static int run_all(struct run *run) {
    int exit_code;

    if (!lk_run_signals_open(&run->signals)) {
        return fail(run, "no descriptor to read signals from");
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (take_or_inherit(run, &exit_code)) {
        exit_code = heed_signals(run);
        exit_code = exit_code == 0 ? run_under_lease(run) : exit_code;
    }
    return exit_code;
}

int lk_cli_run(const struct lk_run_options *options) {
    struct run run = {
        .options = options,
        .cli = {.out = stdout,
                .err = stderr,
                .quiet = options->quiet,
                .is_conflict_told = options->tells_busy,
                .conflict_exit_code = options->busy_exit_code},
        .request = options->request,
        .signals.descriptor = -1,
        .terminal.descriptor = -1,
        .guard.pipe = -1,
        .timer = -1,
        .lost_descriptor = -1,
        .report = {.descriptor = -1, .outcome = LK_GRANTED},
    };
    lk_error error;

    if (options->report != NULL
        && lk_run_report_open(options->report, &run.report.descriptor, &error) != LK_OK) {
        return lk_say_failure(&run.cli, error.outcome, error.text);
    }
    int exit_code = run_all(&run);
    if (run.report.descriptor >= 0) {
        run.report.request = &run.request;
        lk_run_report_write(&run.report, exit_code);
    }
    close_all(&run);
    return exit_code;
}
