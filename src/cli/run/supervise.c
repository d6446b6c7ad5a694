/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One loop, one clock reading per turn. Each turn looks at three things in this order: whether
 * CMD has ended by itself, whether its time is over (deadline.h says when), and what the signals
 * ask for. So an end that came before the deadline counts as one although both are seen late, and
 * after a stop the deadline is looked at before CMD goes on.
 */
#include "cli/run/supervise.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/least.h"
#include "cli/run/deadline.h"
#include "cli/run/descendants.h"
#include "cli/run/notice.h"
#include "cli/run/timer.h"

enum {
    STOP_PATIENCE_US = 1000000,  /* how long CMD may take to stop by itself on SIGTSTP */
    SWEEP_INTERVAL_US = 10000,   /* between two rounds of SIGKILL to whoever was born meanwhile */
    SWEEP_PATIENCE_US = 1000000, /* who survives it for so long is out of reach (sudo) ... */
    SLOW_SWEEP_US = 1000000,     /* ... but CMD itself is waited for */
};

struct supervision {
    const struct lk_run_charge *charge;
    pid_t command;
    int64_t now_us;
    int64_t deadline_us;         /* last promised */
    struct lk_run_plan promised; /* what the lease asks for */
    struct lk_run_plan allowed;  /* what --max-time asks for */
    enum lk_run_step step;       /* how far CMD's end has gone; never goes back */
    bool is_lease_gone;          /* said by the store, or the promise has passed */
    bool is_lost;                /* the lease is what CMD was ended for, or is known to be gone */
    bool is_over_time;
    bool is_told_to_end;   /* by a signal (LK_RUN_END_NOW) */
    const char *time_news; /* to be said when what they are about is done; NULL: nothing */
    const char *loss_news;
    bool is_warned;
    int own_end;          /* CMD's own exit code; -1: it is running */
    bool is_stopped;      /* CMD is, as far as is known */
    bool is_stop_asked;   /* lk was asked to stop and waits for CMD to do so first */
    int64_t stop_due_us;  /* when CMD is stopped by force */
    int64_t sweep_due_us; /* the next round of SIGKILL */
    int64_t give_up_us;   /* when who is left is taken to be out of reach */
    bool is_hung_up;      /* CMD was told that no terminal will come */
};

static bool is_warning_only(const struct supervision *supervision) {
    return supervision->charge->options->on_lost == LK_RUN_ON_LOST_WARN;
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
    if (*news != NULL && (may_wait || lk_run_notice_has_room())) {
        lk_run_notice(word, "%s", *news);
        *news = NULL;
    }
}

/* Whoever does not read what lk says must not keep it from its work. */
static void say_news(struct supervision *supervision, bool may_wait) {
    say("TIMEOUT", &supervision->time_news, may_wait);
    say("LOST", &supervision->loss_news, may_wait);
}

/* Learns what the store last promised, or that it promises nothing any more. */
static void look_at_promise(struct supervision *supervision) {
    const struct lk_run_charge *charge = supervision->charge;

    if (charge->lease == NULL || supervision->is_lease_gone) {
        return;
    }
    int64_t remaining_ms = lk_lease_remaining_ms(charge->lease);
    if (lk_lease_is_lost(charge->lease)) {
        struct lk_run_plan lost =
            lk_run_plan_lost(charge->ttl_ms, supervision->deadline_us, supervision->now_us);
        /* Where CMD is being ended already, it is not given more time. */
        supervision->promised = supervision->step == LK_RUN_GO_ON
                                    ? lost
                                    : lk_run_plan_sooner(lost, supervision->promised);
        supervision->is_lease_gone = true;
    } else if (!supervision->is_lost) {
        /* Once CMD is being ended for it, a renewal that succeeds after all does not save it. */
        supervision->deadline_us = supervision->now_us + remaining_ms * 1000;
        supervision->promised = lk_run_plan_deadline(charge->ttl_ms, supervision->deadline_us);
    }
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void signal_all(const struct supervision *supervision, int signal) {
    kill(-supervision->command, signal);
    lk_run_descendants_signal(supervision->charge->guard->pid, supervision->command, signal);
}

static void ask_to_end(const struct supervision *supervision) {
    signal_all(supervision, SIGTERM);
    /* Who is stopped cannot do what SIGTERM asks for. */
    signal_all(supervision, SIGCONT);
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
                                   : "the deadline of the lease is near and could not be moved: "
                                     "the command is ended");
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

/* Lets CMD go on, in front of the terminal if lk's job is there; unless its time is over. */
static void go_on(struct supervision *supervision) {
    const struct lk_run_charge *charge = supervision->charge;

    supervision->is_stop_asked = false;
    supervision->stop_due_us = LK_RUN_NEVER_US;
    supervision->now_us = lk_clock_now_us();
    look_at_promise(supervision);
    act(supervision);
    lk_run_terminal_lend(charge->terminal, supervision->command);
    if (supervision->step == LK_RUN_GO_ON) {
        supervision->is_stopped = false;
        kill(-supervision->command, SIGCONT);
    }
}

/*
 * CMD is stopped: lk too, until somebody continues it. Where nobody could (an orphaned process
 * group) lk does not stop, and CMD goes on at once; unless it wants the terminal: then it is told
 * what the kernel tells those who can never have it, once, and stays stopped after that.
 */
static void stop_with_command(struct supervision *supervision, int signal) {
    bool is_of_terminal = signal == SIGTTIN || signal == SIGTTOU;
    /* A stop by the terminal is meant for the whole job; it has reached CMD's group alone. */
    bool whole_group = !supervision->is_stop_asked;

    lk_run_terminal_take_back(supervision->charge->terminal);
    bool was_stopped = lk_run_signals_stop_here(whole_group);
    if (!was_stopped && is_of_terminal) {
        if (supervision->is_hung_up) {
            return;
        }
        supervision->is_hung_up = true;
        kill(-supervision->command, SIGHUP);
    }
    go_on(supervision);
}

static void ask_to_stop(struct supervision *supervision) {
    if (supervision->step != LK_RUN_GO_ON) {
        return;
    }
    supervision->is_stop_asked = true;
    if (supervision->is_stopped) {
        stop_with_command(supervision, SIGTSTP);
    } else {
        supervision->stop_due_us = supervision->now_us + STOP_PATIENCE_US;
        kill(-supervision->command, SIGTSTP);
    }
}

static void note_stop(struct supervision *supervision, int signal) {
    bool is_of_terminal = signal == SIGTTIN || signal == SIGTTOU;

    supervision->is_stopped = true;
    if (supervision->step != LK_RUN_GO_ON) {
        kill(-supervision->command, SIGCONT);
    } else if (!supervision->is_stop_asked && is_of_terminal
               && lk_run_terminal_lend(supervision->charge->terminal, supervision->command)) {
        /* lk's job came to the front without a word to CMD. */
        kill(-supervision->command, SIGCONT);
    } else if (supervision->is_stop_asked || is_of_terminal || signal == SIGTSTP) {
        stop_with_command(supervision, signal);
    }
    /* SIGSTOP is somebody's wish for CMD alone: the lease is kept. */
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
    if (!lk_run_guard_replace(supervision->charge->guard)) {
        lk_run_notice("INTERNAL", "the guard was killed and cannot be started again: %s",
                      strerror(errno));
    }
}

/* Reaps who was adopted; CMD itself stays until all is over. */
static void reap_others(const struct supervision *supervision) {
    siginfo_t end = {0};

    while (waitid(P_ALL, 0, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid != 0
           && end.si_pid != supervision->command) {
        pid_t pid = end.si_pid;
        waitpid(pid, NULL, 0);
        if (pid == supervision->charge->guard->pid) {
            replace_guard(supervision);
        }
        end.si_pid = 0;
    }
}

/* ---- other signals --------------------------------------------------------------------------- */

static void end_now(struct supervision *supervision) {
    supervision->is_told_to_end = true;
    supervision->now_us = lk_clock_now_us();
    supervision->allowed =
        lk_run_plan_sooner(supervision->allowed,
                           lk_run_plan_max_time(supervision->charge->ttl_ms, supervision->now_us));
    act(supervision);
}

static void obey_other(struct supervision *supervision, int signal) {
    const struct lk_run_charge *charge = supervision->charge;
    enum lk_run_wish wish =
        charge->wish != NULL ? charge->wish(charge->context, signal) : LK_RUN_PASS_ON;

    if (wish == LK_RUN_PASS_ON) {
        lk_run_signal_pass(signal, supervision->command);
    } else if (wish == LK_RUN_END_NOW && !supervision->is_told_to_end) {
        end_now(supervision);
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void obey_signals(struct supervision *supervision) {
    int signal;

    while ((signal = lk_run_signals_next(supervision->charge->signals)) != 0) {
        switch (signal) {
        case SIGCHLD:
            note_stops(supervision);
            reap_others(supervision);
            break;
        case SIGTSTP:
            ask_to_stop(supervision);
            break;
        case SIGCONT:
            go_on(supervision);
            break;
        default:
            obey_other(supervision, signal);
            break;
        }
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
    supervision->own_end = lk_run_child_exit_code(supervision->charge->child);
    if (supervision->own_end == LK_RUN_EXIT_SIGNAL + SIGKILL && supervision->step == LK_RUN_GO_ON) {
        look_at_promise(supervision);
        act(supervision);
    }
}

/* What an ended command leaves behind goes with it; by itself it may leave what it likes. */
static bool is_over(const struct supervision *supervision) {
    if (supervision->own_end < 0) {
        return false;
    }
    if (supervision->step == LK_RUN_GO_ON
        || lk_run_descendants_signal(supervision->charge->guard->pid, 0, 0) == 0) {
        return true;
    }
    if (supervision->step == LK_RUN_KILL && supervision->now_us >= supervision->give_up_us) {
        lk_run_notice(supervision->is_lost ? "LOST" : "TIMEOUT",
                      "the command left processes that cannot be ended");
        return true;
    }
    return false;
}

static int64_t next_look_us(const struct supervision *supervision) {
    struct lk_run_plan plan = plan_of(supervision);
    int64_t next_us = lk_run_plan_look_us(
        plan, supervision->charge->lease != NULL ? supervision->charge->ttl_ms : 0,
        supervision->now_us);

    if (supervision->step == LK_RUN_KILL) {
        next_us = supervision->sweep_due_us;
    }
    return lk_least(next_us, supervision->stop_due_us);
}

static void wait_for_news(const struct supervision *supervision) {
    struct pollfd turn[] = {
        {.fd = supervision->charge->signals->descriptor, .events = POLLIN},
        {.fd = supervision->charge->timer, .events = POLLIN},
        /* Ended but unreaped, CMD would be news for ever; so would a lease that is gone. */
        {.fd = supervision->own_end < 0 ? supervision->charge->child->descriptor : -1,
         .events = POLLIN},
        {.fd = supervision->is_lease_gone ? -1 : supervision->charge->lost_descriptor,
         .events = POLLIN},
    };

    lk_run_timer_set(supervision->charge->timer, next_look_us(supervision));
    poll(turn, sizeof turn / sizeof turn[0], -1);
}

static void take_turn(struct supervision *supervision) {
    supervision->now_us = lk_clock_now_us();
    look_at_command(supervision);
    if (supervision->own_end < 0 || supervision->step != LK_RUN_GO_ON) {
        look_at_promise(supervision);
        act(supervision);
        lk_run_guard_kill_at(supervision->charge->guard, plan_of(supervision).kill_us);
    }
    if (supervision->now_us >= supervision->stop_due_us) {
        supervision->stop_due_us = LK_RUN_NEVER_US;
        kill(-supervision->command, SIGSTOP);
    }
}

static struct lk_run_end conclude(const struct supervision *supervision) {
    struct lk_run_end end = {.exit_code = supervision->own_end,
                             .is_lost = supervision->is_lost,
                             .deadline_us = supervision->deadline_us};

    if (supervision->is_lost) {
        end.exit_code = lk_outcome_exit_code(LK_LOST);
    } else if (supervision->is_over_time) {
        end.exit_code = LK_RUN_EXIT_MAX_TIME;
    }
    return end;
}

void lk_run_supervise_begin(const struct lk_run_charge *charge) {
    if (charge->lease != NULL && charge->options->on_lost != LK_RUN_ON_LOST_WARN) {
        int64_t now_us = lk_clock_now_us();
        int64_t deadline_us = now_us + lk_lease_remaining_ms(charge->lease) * 1000;
        lk_run_guard_kill_at(charge->guard,
                             lk_run_plan_deadline(charge->ttl_ms, deadline_us).kill_us);
    }
}

struct lk_run_end lk_run_supervise(const struct lk_run_charge *charge) {
    struct supervision supervision = {.charge = charge,
                                      .command = charge->child->pid,
                                      /* Until the first look nothing is known to be promised. */
                                      .deadline_us = charge->lease != NULL ? 0 : LK_RUN_NEVER_US,
                                      .promised = lk_run_plan_none(),
                                      .allowed = lk_run_plan_none(),
                                      .own_end = -1,
                                      .stop_due_us = LK_RUN_NEVER_US};
    if (charge->options->max_time_ms > 0) {
        supervision.allowed = lk_run_plan_max_time(
            charge->ttl_ms, lk_clock_now_us() + charge->options->max_time_ms * 1000);
    }

    take_turn(&supervision);
    while (!is_over(&supervision)) {
        wait_for_news(&supervision);
        take_turn(&supervision);
        obey_signals(&supervision);
        look_at_command(&supervision);
    }

    say_news(&supervision, true);
    struct lk_run_end end = conclude(&supervision);
    lk_run_terminal_take_back(charge->terminal);
    lk_run_guard_command_ended(charge->guard, end.exit_code);
    lk_run_child_done(charge->child);
    return end;
}
