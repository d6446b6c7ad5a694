/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library blocks, in a thread of its own; the main thread reads the signals. It is also the
 * main thread that starts CMD later, because CMD is killed when the thread that started it ends.
 */
#include "cli/run/wait.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "cli/run/descriptors.h"
#include "cli/run/open.h"
#include "cli/run/signals.h"
#include "cli/run/status.h"
#include "client/lease.h"
#include "client/store.h"

/* The thread's task. The main thread reads the outcome only after joining it. */
struct task {
    struct lk_run_wait *wait;
    const struct lk_run_options *options;
    lk_request *asked;          /* names the cancel that ends with the thread */
    const lk_request *request;  /* the caller's, which outlives the wait log */
    int done_descriptor;        /* eventfd: readable when all is done */
    int64_t signalled_us;       /* when the first signal came that ends the wait */
    _Atomic(lk_store *) opened; /* wait->store, for the main thread */
};

static void ask(struct task *task) {
    struct lk_run_wait *wait = task->wait;
    const struct lk_run_options *options = task->options;

    if (!options->quiet) {
        wait->own_store = lk_own_store_find(options->store_url);
    }
    wait->outcome = lk_store_open_within(options->store_url, lk_run_wait_ms(task->asked),
                                         task->asked->cancel, &wait->store, &wait->error);
    if (wait->outcome != LK_OK) {
        return;
    }
    task->opened = wait->store;
    if (!options->quiet) {
        lk_own_store_say_new(&wait->own_store, stderr);
        wait->wait_log = lk_run_wait_log_start(wait->store, task->request, wait->own_store.url,
                                               options->verbose);
    }
    task->asked->wait_ms = lk_run_wait_ms(task->asked);
    wait->outcome = lk_acquire(wait->store, task->asked, &wait->lease, &wait->result, &wait->error);
    lk_run_wait_log_silence(wait->wait_log);
}

static void *run_task(void *context) {
    struct task *task = context;

    ask(task);
    eventfd_write(task->done_descriptor, 1);
    return NULL;
}

/*
 * A signal withdraws the request. A later signal, while the store does not answer, ends the program
 * without the withdrawal; the request then perishes by its ttl. A signal that comes together with
 * the first, as a closed terminal and its shell send them, is ignored.
 */
static void handle_end_signal(struct task *task, int signal, bool is_from_kernel,
                              lk_cancel *cancel) {
    int64_t now_us = lk_clock_now_us();

    if (task->wait->signal == 0) {
        task->wait->signal = signal;
        lk_run_signal_ends(signal, is_from_kernel);
        task->signalled_us = now_us;
        lk_cancel_now(cancel);
    } else if (now_us - task->signalled_us >= LK_SAME_SIGNAL_US) {
        lk_run_signal_ends(signal, is_from_kernel);
        _exit(lk_death_conclude(LK_RUN_EXIT_SIGNAL + signal));
    }
}

static void handle_signals(struct task *task, const struct lk_run_signals *signals,
                           lk_cancel *cancel) {
    bool is_from_kernel;
    int signal;

    while ((signal = lk_run_signals_next_from(signals, &is_from_kernel)) != 0) {
        if (signal == SIGTSTP) {
            lk_run_signals_stop_here(false);
        } else if (lk_run_signal_is_end(signal)) {
            handle_end_signal(task, signal, is_from_kernel, cancel);
        }
    }
}

static void wait_for_task(struct task *task, const struct lk_run_signals *signals,
                          lk_cancel *cancel) {
    struct pollfd turn[] = {{.fd = task->done_descriptor, .events = POLLIN},
                            {.fd = signals->descriptor, .events = POLLIN}};

    struct lk_run_outage_log outage_log = {.has_no_limit = task->request->style == LK_WAIT
                                                           && task->request->wait_ms == LK_FOREVER};

    while (turn[0].revents == 0) {
        if (poll(turn, 2, task->options->quiet ? -1 : LK_RUN_OUTAGE_LOOK_MS) == 0
            && task->opened != NULL) {
            lk_run_outage_log_look(&outage_log, task->opened, NULL);
        }
        if (turn[1].revents != 0) {
            handle_signals(task, signals, cancel);
        }
    }
}

static void fail(struct lk_run_wait *wait, const char *what, int error) {
    wait->outcome = wait->error.outcome = LK_INTERNAL;
    (void)snprintf(wait->error.text, sizeof wait->error.text, "%s: %s", what, strerror(error));
}

void lk_run_wait(struct lk_run_wait *wait, const struct lk_run_options *options,
                 const lk_request *request, const struct lk_run_signals *signals) {
    lk_request asked = *request;
    struct task task = {.wait = wait, .options = options, .asked = &asked, .request = request};
    pthread_t thread;

    memset(wait, 0, sizeof *wait);
    task.done_descriptor = eventfd(0, EFD_CLOEXEC);
    if (task.done_descriptor < 0) {
        wait->outcome = lk_run_explain_lack("no descriptor to wait with", &wait->error);
        return;
    }
    asked.cancel = lk_cancel_new();
    if (asked.cancel == NULL || !lk_thread_start(&thread, run_task, &task)) {
        fail(wait, "no thread to wait in", asked.cancel == NULL ? ENOMEM : EAGAIN);
    } else {
        wait_for_task(&task, signals, asked.cancel);
        pthread_join(thread, NULL);
    }
    lk_cancel_free(asked.cancel);
    close(task.done_descriptor);
    if (wait->signal != 0 && wait->lease != NULL) {
        (void)lk_lease_release_for_good(wait->lease, NULL);
        wait->lease = NULL;
    }
}

void lk_run_wait_done(struct lk_run_wait *wait) {
    bool is_reading = !lk_run_wait_log_end(wait->wait_log);

    lk_result_free(wait->result);
    if (!is_reading) { /* else the store does not answer: what the thread uses stays */
        lk_own_store_done(&wait->own_store);
        lk_close(wait->store);
    }
}
