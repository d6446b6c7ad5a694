/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library blocks, in a thread of its own; the main thread reads the signals. It is also the
 * main thread that starts CMD later, because CMD is killed when the thread that started it ends.
 */
#include "cli/run/wait.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/owner.h"
#include "base/thread.h"
#include "base/waker.h"
#include "cli/print/human.h"
#include "cli/run/descriptors.h"
#include "cli/run/open.h"
#include "cli/run/signals.h"
#include "cli/run/status.h"
#include "client/lease.h"
#include "client/store.h"
#include "model/part.h"

/* ---- the log of a wait ----------------------------------------------------------------------- */

/*
 * The queue as the store lists it, read from time to time. Each read costs the store some work. So
 * reads are rare, and a line is printed again only when the first blocker has changed, or after a
 * longer interval.
 */

enum { READ_PATIENCE_US = 1000000 }; /* for a read under way when the wait has ended */

struct pace {
    int64_t first_us; /* a sooner grant is not reported as a wait */
    int64_t interval_us;
    int64_t repeat_us; /* when a line is printed again that says nothing new */
};

static const struct pace watched = {
    .first_us = 300000, .interval_us = 1000000, .repeat_us = 30000000};
static const struct pace logged = {.first_us = 5000000, .interval_us = 60000000, .repeat_us = 0};

static atomic_bool is_left;

struct lk_run_wait_log {
    lk_store *store;
    const struct pace *pace;
    const char *queue;                  /* NULL: the wait is for a lease */
    char owner[LK_OWNER_BYTES_MAX + 1]; /* of the request */
    const char *own_url; /* not said yet; NULL: it was, or the store is not the user's own */
    struct lk_waker waker;
    struct lk_waker ended; /* thrown by the thread, as its last step */
    pthread_t thread;
    char path[LK_PATH_BYTES_MAX + 1]; /* the first part's: listed with all it is related to */
    uint64_t said_ticket;             /* of the blocker in the last line; 0: none */
    int64_t said_us;
};

/* R12: broken, and held to its deadline. */
static bool is_revoked(const lk_listing *listing, const lk_blocker_info *blocker) {
    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        if (entry->revoked && entry->ticket == blocker->ticket
            && strcmp(entry->path, blocker->path) == 0) {
            return true;
        }
    }
    return false;
}

static void say_blocker(struct lk_run_wait_log *wait_log, const lk_listing *listing,
                        const lk_entry *entry) {
    const lk_blocker_info *first = &entry->blockers[0];
    bool is_broken = is_revoked(listing, first);
    bool has_note = first->note != NULL && first->note[0] != '\0';
    char left[LK_HUMAN_DURATION_SIZE];
    char more[64] = "";

    lk_human_duration(first->expires_in_ms, left);
    if (entry->position > 1) {
        (void)snprintf(more, sizeof more, "; %s%zu more in the way",
                       entry->position > LK_POSITION_EXACT ? "at least " : "", entry->position - 1);
    }
    lk_run_status("WAITING", "%s is %s %.*s%s%s%s%s%s, %s left%s%s%s%s", first->path,
                  first->held ? "held by" : "waited for by", lk_human_owner_size(first->owner),
                  first->owner, first->user != NULL ? " of " : "",
                  first->user != NULL ? first->user : "", has_note ? " (" : "",
                  has_note ? first->note : "", has_note ? ")" : "", left,
                  is_broken ? " (revoked)" : " unless renewed", more,
                  wait_log->own_url != NULL ? "; in the store of this user alone, " : "",
                  wait_log->own_url != NULL ? wait_log->own_url : "");
    wait_log->own_url = NULL;
}

/* This process's request in the listing, while it has blockers. NULL: none, or not yet. */
static const lk_entry *find_own(const lk_listing *listing, const char *owner) {
    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        if (!entry->held && entry->blocker_count > 0 && strcmp(entry->owner, owner) == 0) {
            return entry;
        }
    }
    return NULL;
}

/* A line is due, as it is for the first of any blocker. */
static bool is_due(struct lk_run_wait_log *wait_log, uint64_t ticket) {
    int64_t now_us = lk_clock_now_us();

    if (lk_waker_is_thrown(&wait_log->waker)
        || (ticket == wait_log->said_ticket
            && now_us - wait_log->said_us < wait_log->pace->repeat_us)) {
        return false;
    }
    wait_log->said_ticket = ticket;
    wait_log->said_us = now_us;
    return true;
}

static void look_at_queue(struct lk_run_wait_log *wait_log) {
    enum { NO_TICKET = 1 }; /* the same each time */
    lk_queue_stats stats;

    if (lk_stats(wait_log->store, wait_log->queue, &stats, NULL) == LK_OK
        && is_due(wait_log, NO_TICKET)) {
        lk_run_status("WAITING",
                      "nothing to claim in %s: %" PRIu64 " ready, %" PRIu64 " delayed, %" PRIu64
                      " claimed, %" PRIu64 " parked",
                      wait_log->queue, stats.ready_now, stats.delayed_now, stats.claimed_now,
                      stats.parked_now);
    }
}

static void look(struct lk_run_wait_log *wait_log) {
    lk_listing *listing;

    if (wait_log->queue != NULL) {
        look_at_queue(wait_log);
        return;
    }
    if (lk_show(wait_log->store, wait_log->path, &listing, NULL) != LK_OK) {
        return;
    }
    const lk_entry *own = find_own(listing, wait_log->owner);
    if (own != NULL && is_due(wait_log, own->blockers[0].ticket)) {
        say_blocker(wait_log, listing, own);
    }
    lk_listing_free(listing);
}

static void *run_log(void *context) {
    struct lk_run_wait_log *wait_log = context;
    int64_t pause_us = wait_log->pace->first_us;

    while (!lk_waker_sleep(&wait_log->waker, pause_us)) {
        look(wait_log);
        pause_us = wait_log->pace->interval_us;
    }
    lk_waker_throw(&wait_log->ended);
    return NULL;
}

static void drop(struct lk_run_wait_log *wait_log) {
    lk_waker_done(&wait_log->ended);
    lk_waker_done(&wait_log->waker);
    free(wait_log);
}

/* Starts it as it is described; NULL: the system lacks resources. */
static struct lk_run_wait_log *start(const struct lk_run_wait_log *described, bool is_verbose) {
    struct lk_run_wait_log *wait_log = calloc(1, sizeof *wait_log);

    if (wait_log == NULL) {
        return NULL;
    }
    *wait_log = *described;
    wait_log->pace = is_verbose || isatty(STDERR_FILENO) ? &watched : &logged;
    if (!lk_waker_init(&wait_log->waker)) {
        free(wait_log);
        return NULL;
    }
    if (!lk_waker_init(&wait_log->ended)) {
        lk_waker_done(&wait_log->waker);
        free(wait_log);
        return NULL;
    }
    if (!lk_thread_start(&wait_log->thread, run_log, wait_log)) {
        drop(wait_log);
        return NULL;
    }
    return wait_log;
}

struct lk_run_wait_log *lk_run_wait_log_start(lk_store *store, const lk_request *request,
                                              const char *own_url, bool is_verbose) {
    struct lk_run_wait_log described = {.store = store, .own_url = own_url};
    struct lk_part first;

    if (request->part_count == 0
        || lk_part_parse(lk_slice_of(request->parts[0]), NULL, &first, NULL) != LK_OK) {
        return NULL; /* the request itself reports what is wrong */
    }
    memcpy(described.path, first.path.bytes, first.path.size);
    (void)snprintf(described.owner, sizeof described.owner, "%s", request->owner);
    return start(&described, is_verbose);
}

struct lk_run_wait_log *lk_run_wait_log_start_at_queue(lk_store *store, const char *queue,
                                                       bool is_verbose) {
    const struct lk_run_wait_log described = {.store = store, .queue = queue};

    return start(&described, is_verbose);
}

void lk_run_wait_log_silence(struct lk_run_wait_log *wait_log) {
    if (wait_log != NULL) {
        lk_waker_throw(&wait_log->waker);
    }
}

bool lk_run_wait_log_end(struct lk_run_wait_log *wait_log) {
    if (wait_log == NULL) {
        return true;
    }
    lk_waker_throw(&wait_log->waker);
    if (!lk_waker_sleep(&wait_log->ended, READ_PATIENCE_US)) {
        is_left = true;
        return false;
    }
    (void)pthread_join(wait_log->thread, NULL);
    drop(wait_log);
    return true;
}

bool lk_run_wait_log_is_left(void) {
    return is_left;
}

/* ---- the wait -------------------------------------------------------------------------------- */

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
        (void)lk_lease_release_now_for_good(wait->lease, NULL);
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
