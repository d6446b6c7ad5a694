/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signals stay blocked until the interrupt is closed, so that none can end the program between
 * the cancelled wait and the withdrawal, or between a grant and the line that tells of it. The
 * watcher itself is ended by the main thread with a signal that is sent to that thread alone.
 */
#include "cli/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "cli/cli.h"
#include "cli/print/say.h"
#include "cli/run/signals.h"
#include "cli/run/status.h"

struct lk_interrupt {
    lk_cancel *cancel;
    lk_store *store;
    bool has_no_limit;
    sigset_t watched;
    sigset_t former;
    pthread_t watcher;
    bool is_watched;
    atomic_bool is_over; /* the watcher is told to end */
    int caught;          /* the watcher's until it is joined */
    int64_t caught_us;
};

#define STOP_SIGNAL SIGRTMIN /* no number that a caller's timer uses, as SIGALRM is */

static void handle_end_signal(struct lk_interrupt *interrupt, int number, bool is_from_kernel) {
    int64_t now_us = lk_clock_now_us();

    if (interrupt->caught == 0) {
        interrupt->caught = number;
        lk_run_signal_ends(number, is_from_kernel);
        interrupt->caught_us = now_us;
        lk_cancel_now(interrupt->cancel);
    } else if (now_us - interrupt->caught_us >= LK_SAME_SIGNAL_US) {
        lk_run_signal_ends(number, is_from_kernel);
        _exit(lk_death_conclude(LK_EXIT_SIGNAL + number));
    }
}

/* The next signal; 0: it is time to look at the store. */
static int next_signal(const struct lk_interrupt *interrupt, bool *ret_is_from_kernel) {
    siginfo_t information;
    const struct timespec pause = {.tv_nsec = LK_RUN_OUTAGE_LOOK_MS * 1000000L};
    int number = interrupt->store != NULL ? sigtimedwait(&interrupt->watched, &information, &pause)
                                          : sigwaitinfo(&interrupt->watched, &information);

    *ret_is_from_kernel = number > 0 && information.si_code == SI_KERNEL;
    return number > 0 ? number : 0;
}

static void *watch(void *context) {
    struct lk_interrupt *interrupt = context;
    struct lk_run_outage_log outage_log = {.has_no_limit = interrupt->has_no_limit};
    bool is_from_kernel;
    int number;

    while ((number = next_signal(interrupt, &is_from_kernel)) != STOP_SIGNAL
           || !interrupt->is_over) {
        if (number != 0) {
            handle_end_signal(interrupt, number, is_from_kernel);
        } else if (interrupt->store != NULL) {
            lk_run_outage_log_look(&outage_log, interrupt->store, NULL);
        }
    }
    return NULL;
}

/* Blocks what ends a program, except what its caller has chosen to ignore, as nohup does. */
static void choose_signals(sigset_t *ret_watched) {
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM};

    (void)sigemptyset(ret_watched);
    (void)sigaddset(ret_watched, STOP_SIGNAL);
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++) {
        struct sigaction action;
        if (sigaction(ending[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
            (void)sigaddset(ret_watched, ending[i]);
        }
    }
}

struct lk_interrupt *lk_interrupt_open(lk_store *store, bool has_no_limit) {
    struct lk_interrupt *interrupt = calloc(1, sizeof *interrupt);
    if (interrupt == NULL) {
        return NULL;
    }
    interrupt->store = store;
    interrupt->has_no_limit = has_no_limit;
    interrupt->cancel = lk_cancel_new();
    if (interrupt->cancel == NULL) {
        goto no_cancel;
    }
    choose_signals(&interrupt->watched);
    if (pthread_sigmask(SIG_BLOCK, &interrupt->watched, &interrupt->former) != 0) {
        goto no_mask;
    }
    if (!lk_thread_start(&interrupt->watcher, watch, interrupt)) {
        goto no_thread;
    }
    interrupt->is_watched = true;
    return interrupt;

no_thread:
    (void)pthread_sigmask(SIG_SETMASK, &interrupt->former, NULL);
no_mask:
    lk_cancel_free(interrupt->cancel);
no_cancel:
    free(interrupt);
    return NULL;
}

lk_cancel *lk_interrupt_cancel(struct lk_interrupt *interrupt) {
    return interrupt->cancel;
}

int lk_interrupt_end(struct lk_interrupt *interrupt) {
    const struct timespec no_time = {0};
    siginfo_t information;

    if (!interrupt->is_watched) {
        return interrupt->caught;
    }
    interrupt->is_watched = false;
    interrupt->is_over = true;
    (void)pthread_kill(interrupt->watcher, STOP_SIGNAL);
    (void)pthread_join(interrupt->watcher, NULL);
    int number = sigtimedwait(&interrupt->watched, &information, &no_time);
    if (number > 0) { /* the watcher had ended already */
        handle_end_signal(interrupt, number, information.si_code == SI_KERNEL);
    }
    return interrupt->caught;
}

int lk_interrupt_close(struct lk_interrupt *interrupt) {
    if (interrupt == NULL) {
        return 0;
    }
    int caught = lk_interrupt_end(interrupt);
    (void)pthread_sigmask(SIG_SETMASK, &interrupt->former, NULL);
    lk_cancel_free(interrupt->cancel);
    free(interrupt);
    return caught;
}

/* ---- ^Z -------------------------------------------------------------------------------------- */

/* SIGTSTP is blocked in every thread; one thread waits for it until the process ends. */

static void *stop_on_signal(void *context) {
    sigset_t stop;
    int signal;

    (void)context;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    while (sigwait(&stop, &signal) == 0) {
        lk_run_signals_stop_here(false);
    }
    return NULL;
}

void lk_stop_outside_transactions(void) {
    sigset_t all;
    sigset_t found;
    pthread_t thread;

    if (lk_run_signal_is_ignored(SIGTSTP)) {
        return;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &found); /* nothing else is for that thread */
    if (sigismember(&found, SIGTSTP) == 0
        && pthread_create(&thread, NULL, stop_on_signal, NULL) == 0) {
        pthread_detach(thread);
        sigaddset(&found, SIGTSTP);
    }
    pthread_sigmask(SIG_SETMASK, &found, NULL);
}

/* ---- a command that waits -------------------------------------------------------------------- */

bool lk_waiting_begin(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store,
                      const lk_request *request, const char *queue, int64_t wait_ms,
                      struct lk_waiting *ret_waiting) {
    bool is_told = !cli->quiet && !cli->json;
    bool is_verbose = lk_command_line_has(line, LK_OPTION_VERBOSE);

    *ret_waiting = (struct lk_waiting){
        .interrupt = lk_interrupt_open(is_told ? store : NULL, wait_ms == LK_FOREVER)};
    if (ret_waiting->interrupt == NULL) {
        (void)lk_say_failure(cli, LK_INTERNAL, "the system has no room for one more thread");
        return false;
    }
    if (is_told && wait_ms != 0) {
        ret_waiting->log = request != NULL
                               ? lk_run_wait_log_start(store, request, NULL, is_verbose)
                               : lk_run_wait_log_start_at_queue(store, queue, is_verbose);
    }
    return true;
}

int lk_waiting_end(struct lk_waiting *waiting) {
    (void)lk_run_wait_log_end(waiting->log); /* which may take its time: signals are noted */
    int signal = lk_interrupt_end(waiting->interrupt);

    if (signal != 0) {
        lk_waiting_close(waiting);
    }
    return signal;
}

void lk_waiting_close(struct lk_waiting *waiting) {
    (void)lk_interrupt_close(waiting->interrupt);
    waiting->interrupt = NULL;
}

bool lk_waiting_is_printed(const struct lk_cli *cli) {
    return fflush(cli->out) == 0 && ferror(cli->out) == 0;
}
