/* SPDX-License-Identifier: Apache-2.0 */
/* One table has for each signal its target, and whether it ends a wait. */
#include "cli/run/signals.h"

#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/critical.h"

/* How long a store that does not answer may keep lk from stopping. */
#define STOP_PATIENCE_US INT64_C(1000000)

enum target { TO_NOBODY = 0, TO_COMMAND = 1, TO_GROUP = 2 };

static const struct signal_form {
    int signal;
    enum target target;
    bool is_end; /* ends lk while it waits in the queue */
} forms[] = {
    {SIGTERM, TO_GROUP, true},   {SIGINT, TO_GROUP, true},    {SIGHUP, TO_GROUP, true},
    {SIGQUIT, TO_GROUP, true},   {SIGUSR1, TO_COMMAND, true}, {SIGUSR2, TO_COMMAND, true},
    {SIGWINCH, TO_GROUP, false}, {SIGTSTP, TO_NOBODY, false}, {SIGCONT, TO_NOBODY, false},
    {SIGCHLD, TO_NOBODY, false},
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
    pthread_sigmask(SIG_BLOCK, &blocked, &signals->found_mask);
    signals->descriptor = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->descriptor >= 0;
}

int lk_run_signals_next(const struct lk_run_signals *signals) {
    struct signalfd_siginfo information;
    ssize_t size = read(signals->descriptor, &information, sizeof information);

    return size == (ssize_t)sizeof information ? (int)information.ssi_signo : 0;
}

void lk_run_signals_restore(const struct lk_run_signals *signals) {
    sigaction(SIGCHLD, &signals->found_child_action, NULL);
    pthread_sigmask(SIG_SETMASK, &signals->found_mask, NULL);
}

bool lk_run_signal_is_end(int signal) {
    const struct signal_form *form = form_of(signal);

    return form != NULL && form->is_end;
}

int lk_run_signals_pending_end(void) {
    sigset_t pending;

    sigpending(&pending);
    for (size_t i = 0; i < FORM_COUNT; i++) {
        if (forms[i].is_end && sigismember(&pending, forms[i].signal) == 1
            && !lk_run_signal_is_ignored(forms[i].signal)) {
            return forms[i].signal;
        }
    }
    return 0;
}

void lk_run_signal_pass(int signal, pid_t command) {
    const struct signal_form *form = form_of(signal);

    if (form != NULL && form->target == TO_GROUP) {
        if (kill(-command, signal) != 0) {
            kill(command, signal); /* CMD has moved to another group */
        }
    } else if (form != NULL && form->target == TO_COMMAND) {
        kill(command, signal);
    }
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
