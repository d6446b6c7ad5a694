/* SPDX-License-Identifier: Apache-2.0 */
/* One table has for each signal its target, and whether it ends a wait. */
#include "cli/run/signals.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"

/* How long a store that does not answer may keep lk from stopping. */
#define STOP_PATIENCE_US INT64_C(1000000)

static const struct signal_form {
    int signal;
    enum lk_run_signal_target target;
    bool is_end; /* ends lk while it waits in the queue */
} forms[] = {
    {SIGTERM, LK_RUN_TO_GROUP, true},   {SIGINT, LK_RUN_TO_GROUP, true},
    {SIGHUP, LK_RUN_TO_GROUP, true},    {SIGQUIT, LK_RUN_TO_GROUP, true},
    {SIGUSR1, LK_RUN_TO_COMMAND, true}, {SIGUSR2, LK_RUN_TO_COMMAND, true},
    {SIGALRM, LK_RUN_TO_GROUP, true},   {SIGWINCH, LK_RUN_TO_GROUP, false},
    {SIGTSTP, LK_RUN_TO_NOBODY, false}, {SIGCONT, LK_RUN_TO_NOBODY, false},
    {SIGCHLD, LK_RUN_TO_NOBODY, false},
};

enum { FORM_COUNT = sizeof forms / sizeof forms[0] };

static const struct signal_form *form_of(int signal) {
    for (size_t i = 0; i < FORM_COUNT; i++) {
        if (forms[i].signal == signal) {
            return &forms[i];
        }
    }
    return NULL;
}

bool lk_run_signal_is_ignored(int signal) {
    struct sigaction action;

    return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

bool lk_run_signals_open(struct lk_run_signals *signals) {
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t watched;

    sigemptyset(&watched);
    /* If it were ignored, the kernel would reap CMD and its exit code would be lost. */
    sigaction(SIGCHLD, &usual, &signals->found_child_action);
    for (size_t i = 0; i < FORM_COUNT; i++) {
        /* The kernel keeps a blocked signal although it is ignored: so do not block that one. */
        if (forms[i].signal == SIGCONT || !lk_run_signal_is_ignored(forms[i].signal)) {
            sigaddset(&watched, forms[i].signal);
        }
    }
    sigset_t blocked = watched;
    sigaddset(&blocked, SIGPIPE); /* if stderr is a closed pipe, CMD continues */
    sigaddset(&blocked, SIGTTOU); /* the terminal is given and taken from the background too */
    sigaddset(&blocked, SIGTTIN); /* it is for CMD, which may be in the group of lk */
    pthread_sigmask(SIG_BLOCK, &blocked, &signals->found_mask);
    signals->descriptor = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->descriptor >= 0;
}

int lk_run_signals_next_from(const struct lk_run_signals *signals, bool *ret_is_from_kernel) {
    struct signalfd_siginfo information;
    ssize_t size = read(signals->descriptor, &information, sizeof information);

    if (size != (ssize_t)sizeof information) {
        return 0;
    }
    *ret_is_from_kernel = information.ssi_code == SI_KERNEL;
    return (int)information.ssi_signo;
}

int lk_run_signals_next(const struct lk_run_signals *signals) {
    bool is_from_kernel;

    return lk_run_signals_next_from(signals, &is_from_kernel);
}

void lk_run_signal_ends(int signal, bool is_from_kernel) {
    if (is_from_kernel) {
        lk_death_note(signal, false);
    }
}

void lk_run_signals_restore(const struct lk_run_signals *signals) {
    sigaction(SIGCHLD, &signals->found_child_action, NULL);
    pthread_sigmask(SIG_SETMASK, &signals->found_mask, NULL);
}

bool lk_run_signal_is_end(int signal) {
    const struct signal_form *form = form_of(signal);

    return form != NULL && form->is_end;
}

int lk_run_signals_take_end(bool *ret_is_from_kernel) {
    const struct timespec no_time = {0};
    sigset_t ends;
    siginfo_t information;

    sigemptyset(&ends);
    for (size_t i = 0; i < FORM_COUNT; i++) {
        if (forms[i].is_end && !lk_run_signal_is_ignored(forms[i].signal)) {
            sigaddset(&ends, forms[i].signal);
        }
    }
    int signal = sigtimedwait(&ends, &information, &no_time);
    *ret_is_from_kernel = signal > 0 && information.si_code == SI_KERNEL;
    return signal > 0 ? signal : 0;
}

bool lk_run_signals_have_end(void) {
    sigset_t pending;
    bool have_end = false;

    if (sigpending(&pending) != 0) {
        return false;
    }
    for (size_t i = 0; i < FORM_COUNT; i++) {
        have_end = have_end || (forms[i].is_end && sigismember(&pending, forms[i].signal) == 1);
    }
    return have_end;
}

enum lk_run_signal_target lk_run_signal_target(int signal) {
    const struct signal_form *form = form_of(signal);

    return form != NULL ? form->target : LK_RUN_TO_NOBODY;
}

bool lk_run_signal_take(int signal) {
    const struct timespec no_time = {0};
    sigset_t taken;

    sigemptyset(&taken);
    sigaddset(&taken, signal);
    return sigtimedwait(&taken, NULL, &no_time) == signal;
}

bool lk_run_signals_stop_here(bool whole_group) {
    sigset_t stop;

    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    bool is_closed = lk_critical_close(STOP_PATIENCE_US);
    kill(whole_group ? 0 : getpid(), SIGTSTP);
    pthread_sigmask(SIG_UNBLOCK, &stop, NULL);
    pthread_sigmask(SIG_BLOCK, &stop, NULL);
    if (is_closed) {
        lk_critical_open();
    }
    /* This process was continued by a SIGCONT, which is blocked and still pending. It has had its
     * effect; if it were read from the descriptor, CMD would be continued twice. */
    return lk_run_signal_take(SIGCONT);
}

/* ---- dying of a signal ----------------------------------------------------------------------- */

/* One variable: it is set in the thread that reads signals, and read when that has ended. */

static atomic_int noted;
static atomic_bool noted_spreads;

void lk_death_note(int signal, bool spreads) {
    if (signal == SIGINT || signal == SIGQUIT) {
        noted_spreads = spreads;
        noted = signal;
    }
}

int lk_death_conclude(int exit_code) {
    int signal = noted;
    struct sigaction action;
    sigset_t unblocked;

    if (signal == 0 || sigaction(signal, NULL, &action) != 0 || action.sa_handler == SIG_IGN) {
        return exit_code;
    }
    prctl(PR_SET_DUMPABLE, 0); /* the core file of SIGQUIT is the command's alone */
    kill(noted_spreads ? 0 : getpid(), signal);
    sigemptyset(&unblocked);
    sigaddset(&unblocked, signal);
    pthread_sigmask(SIG_UNBLOCK, &unblocked, NULL);
    return exit_code;
}
