/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One loop. Each iteration reads the clock once and checks three things in this order: whether CMD
 * has ended by itself, whether its time is over (deadline.h), and what the signals ask for. So if
 * CMD ended before the deadline and both are detected late, it counts as ended by itself. After a
 * stop the deadline is checked before CMD continues.
 */
#include "cli/run/supervise.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "cli/run/child.h"
#include "cli/run/deadline.h"
#include "cli/run/descriptors.h"
#include "cli/run/status.h"

enum {
    STOP_PATIENCE_US = 1000000,  /* how long CMD may take to stop by itself on SIGTSTP */
    SWEEP_INTERVAL_US = 10000,   /* between two rounds of SIGKILL, for newly forked processes */
    SWEEP_PATIENCE_US = 1000000, /* what survives this long cannot be signalled (sudo) ... */
    SLOW_SWEEP_US = 1000000,     /* ... but CMD itself is waited for */
};

struct supervision {
    const struct lk_run_job *job;
    pid_t command;
    int64_t now_us;
    int64_t deadline_us;         /* last promised */
    struct lk_run_plan promised; /* what the leases ask for */
    struct lk_run_plan allowed;  /* what --max-time asks for */
    enum lk_run_step step;       /* how far CMD's end has gone; never goes back */
    bool is_lease_gone;          /* the store has answered so, or the deadline has passed */
    bool is_lost; /* CMD was ended because of the lease, or the lease is known to be lost */
    bool is_over_time;
    bool is_told_to_end;   /* by a signal (LK_RUN_END_NOW) */
    const char *time_news; /* to be written when it has happened; NULL: nothing */
    const char *loss_news;
    char deadline_news[LK_ERROR_TEXT_MAX + 128]; /* what loss_news may be */
    bool is_warned;
    int own_end;          /* CMD's own exit code; -1: it is running */
    bool is_stopped;      /* CMD is, as far as is known */
    bool is_stop_asked;   /* lk was asked to stop and waits for CMD to do so first */
    int64_t stop_due_us;  /* when CMD is stopped by force */
    int64_t sweep_due_us; /* the next round of SIGKILL */
    int64_t give_up_us;   /* when the survivors count as impossible to signal */
    bool is_hung_up;      /* CMD was sent SIGHUP: it cannot get the terminal */
    uint64_t passed_on;   /* signals that lk has passed on to CMD (mask_of()) */
    uint64_t shared;      /* those that lk and CMD have had together */
};

static uint64_t mask_of(int signal) {
    return UINT64_C(1) << (unsigned)(signal - 1);
}

static bool is_warning_only(const struct supervision *supervision) {
    return supervision->job->options->on_lost == LK_RUN_ON_LOST_WARN;
}

static struct lk_run_plan plan_of(const struct supervision *supervision) {
    return is_warning_only(supervision)
               ? supervision->allowed
               : lk_run_plan_sooner(supervision->promised, supervision->allowed);
}

/* ---- the promise ----------------------------------------------------------------------------- */

static void warn_once(struct supervision *supervision, const char *text) {
    if (!supervision->is_warned) {
        supervision->is_warned = true;
        supervision->loss_news = text;
    }
}

static void say(const char *word, const char **news, bool may_wait) {
    if (*news != NULL && (may_wait || lk_run_status_has_room())) {
        lk_run_status(word, "%s", *news);
        *news = NULL;
    }
}

/* A reader of stderr that is slow must not block lk. */
static void say_news(struct supervision *supervision, bool may_wait) {
    if (supervision->job->is_quiet) {
        return;
    }
    say("TIMEOUT", &supervision->time_news, may_wait);
    say("LOST", &supervision->loss_news, may_wait);
}

/* Updates the deadline from the weakest lease, or notes that it is lost. */
static void look_at_promise(struct supervision *supervision) {
    const struct lk_run_job *job = supervision->job;

    if (job->leases.count == 0 || supervision->is_lease_gone) {
        return;
    }
    const lk_lease *lease = lk_run_leases_weakest(&job->leases);
    if (lease == NULL) { /* what was promised last holds while one is doubted */
        if (lk_run_leases_have_ended(&job->leases)) {
            supervision->promised = lk_run_plan_none();
        }
        return;
    }
    int64_t remaining_ms = lk_lease_remaining_ms(lease);
    if (lk_lease_is_lost(lease)) {
        struct lk_run_plan lost =
            lk_run_plan_lost(job->ttl_ms, supervision->deadline_us, supervision->now_us);
        /* If CMD is being ended already, it gets no more time. */
        supervision->promised = supervision->step == LK_RUN_GO_ON
                                    ? lost
                                    : lk_run_plan_sooner(lost, supervision->promised);
        supervision->is_lease_gone = true;
    } else if (!supervision->is_lost) {
        /* Once CMD is being ended for the deadline, a late renewal does not stop that. */
        supervision->deadline_us = supervision->now_us + remaining_ms * 1000;
        supervision->promised = lk_run_plan_deadline(job->ttl_ms, supervision->deadline_us);
    }
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void signal_all(const struct supervision *supervision, int signal) {
    lk_run_group_signal_all(supervision->job->child, supervision->job->guard, signal);
}

static void signal_group(const struct supervision *supervision, int signal) {
    lk_run_group_signal(supervision->job->child, supervision->job->guard, signal);
}

static void ask_to_end(const struct supervision *supervision) {
    signal_all(supervision, SIGTERM);
    /* A stopped process cannot act on SIGTERM. */
    signal_all(supervision, SIGCONT);
}

/* Why the last renewals had no answer, as far as it is known without asking. */
static const char *explain_deadline(struct supervision *supervision) {
    lk_error error = {.outcome = LK_OK};
    lk_store *store = supervision->job->store;
    bool is_known = store != NULL && lk_away_ms(store, &error) > 0 && error.text[0] != '\0';

    (void)snprintf(supervision->deadline_news, sizeof supervision->deadline_news,
                   "the deadline of the lease is near and could not be moved%s%s%s: the command "
                   "is ended",
                   is_known ? " (" : "", is_known ? error.text : "", is_known ? ")" : "");
    return supervision->deadline_news;
}

static void find_cause(struct supervision *supervision) {
    if (lk_run_plan_step(supervision->allowed, supervision->now_us) != LK_RUN_GO_ON
        && supervision->step == LK_RUN_GO_ON && !supervision->is_told_to_end) {
        supervision->is_over_time = true;
        supervision->time_news = "--max-time is up: the command is ended";
    }
    if (lk_run_plan_step(supervision->promised, supervision->now_us) == LK_RUN_GO_ON) {
        return;
    }
    if (!is_warning_only(supervision)) {
        supervision->is_lost = true;
        warn_once(supervision, supervision->is_lease_gone
                                   ? "the lease is not held any more: the command is ended"
                                   : explain_deadline(supervision));
    } else if (supervision->is_lease_gone) {
        supervision->is_lost = true;
        warn_once(supervision, "the lease is not held any more: the command goes on without it");
    }
}

/* Does what the plan asks for now. */
static void act(struct supervision *supervision) {
    find_cause(supervision);
    enum lk_run_step asked = lk_run_plan_step(plan_of(supervision), supervision->now_us);

    if (asked >= LK_RUN_TERMINATE && supervision->step == LK_RUN_GO_ON) {
        supervision->step = LK_RUN_TERMINATE;
        lk_run_guard_ending_begins(supervision->job->guard);
        if (asked == LK_RUN_TERMINATE) {
            ask_to_end(supervision);
        }
    }
    if (asked == LK_RUN_KILL && supervision->now_us >= supervision->sweep_due_us) {
        if (supervision->step != LK_RUN_KILL) {
            supervision->step = LK_RUN_KILL;
            supervision->give_up_us = supervision->now_us + SWEEP_PATIENCE_US;
        }
        signal_all(supervision, SIGKILL);
        supervision->sweep_due_us =
            supervision->now_us
            + (supervision->now_us < supervision->give_up_us ? SWEEP_INTERVAL_US : SLOW_SWEEP_US);
    }
    say_news(supervision, false);
}

/* ---- stopping and going on ------------------------------------------------------------------- */

/* Continues CMD, in the foreground if lk's job is there; unless its time is over. */
static void go_on(struct supervision *supervision) {
    const struct lk_run_job *job = supervision->job;

    supervision->is_stop_asked = false;
    supervision->stop_due_us = LK_RUN_NEVER_US;
    if (supervision->own_end >= 0 && supervision->step == LK_RUN_GO_ON) {
        return; /* it ended by itself: the rest is not ended for a deadline that passed since */
    }
    supervision->now_us = lk_clock_now_us();
    look_at_promise(supervision);
    act(supervision);
    lk_run_terminal_lend(job->terminal, supervision->command);
    if (supervision->step == LK_RUN_GO_ON) {
        supervision->is_stopped = false;
        if (!lk_run_group_has_had(job->child, SIGCONT, false)) {
            signal_group(supervision, SIGCONT);
        }
    }
}

/*
 * CMD is stopped: lk stops too, until it is continued. In an orphaned process group, where no shell
 * could continue it, lk does not stop, and CMD continues at once. If CMD was stopped because it
 * needs the terminal, it is sent the signal that the kernel sends to processes that can never have
 * it, once, and stays stopped after that.
 */
static void stop_with_command(struct supervision *supervision, int signal) {
    bool is_of_terminal = signal == SIGTTIN || signal == SIGTTOU;
    /* A stop by the terminal is meant for the whole job; it has reached CMD's group alone. */
    bool whole_group = !supervision->is_stop_asked && !supervision->job->child->shares_group;

    lk_run_terminal_take_back(supervision->job->terminal);
    bool was_stopped = lk_run_signals_stop_here(whole_group);
    if (!was_stopped && is_of_terminal) {
        if (supervision->is_hung_up) {
            return;
        }
        supervision->is_hung_up = true;
        signal_group(supervision, SIGHUP);
    }
    go_on(supervision);
}

/* `has_had`: CMD was asked to stop as well. */
static void ask_to_stop(struct supervision *supervision, bool has_had) {
    if (supervision->step != LK_RUN_GO_ON) {
        return;
    }
    supervision->is_stop_asked = true;
    if (supervision->is_stopped) {
        stop_with_command(supervision, SIGTSTP);
    } else {
        supervision->stop_due_us = supervision->now_us + STOP_PATIENCE_US;
        if (!has_had) {
            signal_group(supervision, SIGTSTP);
        }
    }
}

static void note_stop(struct supervision *supervision, int signal) {
    bool is_of_terminal = signal == SIGTTIN || signal == SIGTTOU;

    supervision->is_stopped = true;
    if (supervision->step != LK_RUN_GO_ON) {
        signal_group(supervision, SIGCONT);
    } else if (!supervision->is_stop_asked && is_of_terminal
               && lk_run_terminal_lend(supervision->job->terminal, supervision->command)) {
        /* lk's job came to the foreground, and CMD got no signal. */
        signal_group(supervision, SIGCONT);
    } else if (supervision->is_stop_asked || is_of_terminal || signal == SIGTSTP) {
        stop_with_command(supervision, signal);
    }
    /* SIGSTOP was sent to CMD alone: lk continues, and the lease is kept. */
}

/* ---- children -------------------------------------------------------------------------------- */

static void note_stops(struct supervision *supervision) {
    siginfo_t change = {0};

    while (waitid(P_PID, (id_t)supervision->command, &change, WSTOPPED | WCONTINUED | WNOHANG) == 0
           && change.si_pid != 0) {
        if (change.si_code == CLD_CONTINUED) {
            supervision->is_stopped = false;
        } else {
            note_stop(supervision, change.si_status);
        }
        change.si_pid = 0;
    }
}

static void replace_guard(const struct supervision *supervision) {
    if (!lk_run_guard_replace(supervision->job->guard)) {
        lk_run_status("INTERNAL", "the guard was killed and cannot be started again: %s",
                      strerror(errno));
    }
}

/* Reaps adopted processes; CMD itself stays unreaped until all is over. */
static void reap_others(const struct supervision *supervision) {
    siginfo_t end = {0};

    while (waitid(P_ALL, 0, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid != 0
           && end.si_pid != supervision->command) {
        pid_t pid = end.si_pid;
        waitpid(pid, NULL, 0);
        if (!lk_run_witness_is_gone(&supervision->job->child->witness, pid)
            && pid == supervision->job->guard->pid) {
            replace_guard(supervision);
        }
        end.si_pid = 0;
    }
}

/* ---- other signals --------------------------------------------------------------------------- */

static void end_now(struct supervision *supervision) {
    supervision->is_told_to_end = true;
    supervision->now_us = lk_clock_now_us();
    supervision->allowed = lk_run_plan_sooner(
        supervision->allowed, lk_run_plan_max_time(supervision->job->ttl_ms, supervision->now_us));
    act(supervision);
}

static void handle_other(struct supervision *supervision, int signal) {
    const struct lk_run_job *job = supervision->job;
    enum lk_run_signal_use use =
        job->signal_use != NULL ? job->signal_use(job->context, signal) : LK_RUN_PASS_ON;

    if (use == LK_RUN_PASS_ON) {
        lk_run_group_pass(job->child, job->guard, signal);
        supervision->passed_on |= mask_of(signal);
    } else if (use == LK_RUN_END_NOW && !supervision->is_told_to_end) {
        end_now(supervision);
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void handle_signals(struct supervision *supervision) {
    struct lk_run_child *child = supervision->job->child;
    bool is_from_kernel;
    bool has_had;
    int signal;

    while ((signal = lk_run_signals_next_from(supervision->job->signals, &is_from_kernel)) != 0) {
        switch (signal) {
        case SIGCHLD:
            note_stops(supervision);
            reap_others(supervision);
            break;
        case SIGTSTP:
            ask_to_stop(supervision, lk_run_group_has_had(child, signal, is_from_kernel));
            break;
        case SIGCONT:
            go_on(supervision);
            break;
        default:
            has_had = lk_run_group_has_had(child, signal, is_from_kernel);
            if (has_had || (child->shares_group && is_from_kernel)) {
                supervision->shared |= mask_of(signal);
            }
            if (!has_had) {
                handle_other(supervision, signal);
            }
            break;
        }
    }
}

/*
 * Once the guard was due to kill CMD for its lease, a late successful renewal does not change the
 * reason for the end of CMD.
 */
static void hold_to_kill(struct supervision *supervision) {
    int64_t kill_us = supervision->job->guard->kill_us;

    if (supervision->now_us >= kill_us
        && lk_run_plan_step(supervision->allowed, supervision->now_us) == LK_RUN_GO_ON) {
        supervision->promised = (struct lk_run_plan){.terminate_us = kill_us, .kill_us = kill_us};
    }
}

/*
 * Whether CMD has ended by itself. The guard kills it when lk wakes up too late to do so: such an
 * end is one by the plan.
 */
static void look_at_command(struct supervision *supervision) {
    if (supervision->own_end >= 0) {
        return;
    }
    supervision->own_end = lk_run_child_exit_code(supervision->job->child);
    if (supervision->own_end == LK_RUN_EXIT_SIGNAL + SIGKILL && supervision->step == LK_RUN_GO_ON) {
        supervision->now_us = lk_clock_now_us();
        look_at_promise(supervision);
        hold_to_kill(supervision);
        act(supervision);
    }
}

/* If CMD was ended, its descendants are ended too. If it ended by itself, they may stay. */
static bool is_over(const struct supervision *supervision) {
    if (supervision->own_end < 0) {
        return false;
    }
    if (supervision->step == LK_RUN_GO_ON
        || !lk_run_group_is_left(supervision->job->child, supervision->job->guard)) {
        return true;
    }
    if (supervision->step == LK_RUN_KILL && supervision->now_us >= supervision->give_up_us) {
        lk_run_status(supervision->is_lost ? "LOST" : "TIMEOUT",
                      "the command left processes that cannot be ended");
        return true;
    }
    return false;
}

static int64_t next_look_us(const struct supervision *supervision) {
    struct lk_run_plan plan = plan_of(supervision);
    int64_t next_us =
        lk_run_plan_look_us(plan, supervision->job->leases.count > 0 ? supervision->job->ttl_ms : 0,
                            supervision->now_us);

    if (supervision->step == LK_RUN_KILL) {
        next_us = supervision->sweep_due_us;
    }
    return lk_min(next_us, supervision->stop_due_us);
}

enum { REPORT = 4 }; /* its place among the descriptors that are waited for */

static void wait_for_news(struct supervision *supervision) {
    struct pollfd turn[] = {
        {.fd = supervision->job->signals->descriptor, .events = POLLIN},
        {.fd = supervision->job->timer, .events = POLLIN},
        /* An ended, unreaped CMD would stay readable for ever; so would a lost lease. */
        {.fd = supervision->own_end < 0 ? supervision->job->child->descriptor : -1,
         .events = POLLIN},
        {.fd = supervision->is_lease_gone ? -1 : supervision->job->lost_descriptor,
         .events = POLLIN},
        {.fd = supervision->job->report != NULL ? *supervision->job->report : -1, .events = POLLIN},
    };

    struct lk_run_outage_log *log =
        supervision->is_lease_gone ? NULL : supervision->job->outage_log;

    lk_run_timer_set(supervision->job->timer, next_look_us(supervision));
    if (poll(turn, sizeof turn / sizeof turn[0], log != NULL ? LK_RUN_OUTAGE_LOOK_MS : -1) == 0) {
        lk_run_outage_log_look(log, supervision->job->store,
                               lk_run_leases_weakest(&supervision->job->leases));
    }
    if (turn[REPORT].revents != 0) {
        supervision->job->on_report(supervision->job->context);
    }
}

static void take_turn(struct supervision *supervision) {
    supervision->now_us = lk_clock_now_us();
    look_at_command(supervision);
    if (supervision->own_end < 0 || supervision->step != LK_RUN_GO_ON) {
        look_at_promise(supervision);
        act(supervision);
        lk_run_guard_kill_at(supervision->job->guard, plan_of(supervision).kill_us);
    }
    if (supervision->now_us >= supervision->stop_due_us) {
        supervision->stop_due_us = LK_RUN_NEVER_US;
        signal_group(supervision, SIGSTOP);
    }
}

/*
 * Whether CMD has died of a signal of its terminal, and not of one that was sent to CMD alone or
 * passed on by lk. The kernel signals all members of a group before the death of one can be seen.
 */
static bool is_by_terminal(struct supervision *supervision, int signal) {
    struct lk_run_child *child = supervision->job->child;

    if (signal != SIGINT && signal != SIGQUIT) {
        return false;
    }
    if (child->shares_group) {
        handle_signals(supervision);
        return (supervision->shared & mask_of(signal)) != 0;
    }
    return supervision->job->terminal->lent_to != 0
           && (supervision->passed_on & mask_of(signal)) == 0
           && lk_run_witness_has(&child->witness, signal);
}

static struct lk_run_end conclude(struct supervision *supervision) {
    struct lk_run_end end = {.exit_code = supervision->own_end,
                             .is_lost = supervision->is_lost,
                             .is_over_time = supervision->is_over_time,
                             .signal = lk_run_child_signal(supervision->job->child),
                             .deadline_us = supervision->deadline_us};

    if (supervision->is_lost) {
        end.why = supervision->is_lease_gone
                      ? "the lease was not held any more"
                      : "the deadline of the lease was near and could not be moved";
        end.exit_code = lk_outcome_exit_code(LK_LOST);
    } else if (supervision->is_over_time) {
        end.exit_code = LK_RUN_EXIT_MAX_TIME;
    } else if (is_by_terminal(supervision, end.signal)) {
        end.terminal_signal = end.signal;
    }
    return end;
}

void lk_run_supervise_begin(const struct lk_run_job *job) {
    const lk_lease *weakest = lk_run_leases_weakest(&job->leases);

    if (weakest != NULL && job->options->on_lost != LK_RUN_ON_LOST_WARN) {
        int64_t now_us = lk_clock_now_us();
        int64_t deadline_us = now_us + lk_lease_remaining_ms(weakest) * 1000;
        lk_run_guard_kill_at(job->guard, lk_run_plan_deadline(job->ttl_ms, deadline_us).kill_us);
    }
}

struct lk_run_end lk_run_supervise(const struct lk_run_job *job) {
    struct supervision supervision = {.job = job,
                                      .command = job->child->pid,
                                      /* There is no confirmed deadline before the first check. */
                                      .deadline_us = job->leases.count > 0 ? 0 : LK_RUN_NEVER_US,
                                      .promised = lk_run_plan_none(),
                                      .allowed = lk_run_plan_none(),
                                      .own_end = -1,
                                      .stop_due_us = LK_RUN_NEVER_US};
    if (job->options->max_time_ms > 0) {
        supervision.allowed =
            lk_run_plan_max_time(job->ttl_ms, lk_clock_now_us() + job->options->max_time_ms * 1000);
    }

    take_turn(&supervision);
    while (!is_over(&supervision)) {
        wait_for_news(&supervision);
        take_turn(&supervision);
        handle_signals(&supervision);
        look_at_command(&supervision);
    }

    say_news(&supervision, true);
    struct lk_run_end end = conclude(&supervision);
    lk_run_terminal_take_back(job->terminal);
    lk_run_guard_command_ended(job->guard, end.exit_code);
    lk_run_child_done(job->child);
    return end;
}
