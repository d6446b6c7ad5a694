/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads. The library's loop (lk_work()) claims, keeps the claim alive and ends it in a thread
 * of its own. CMD is started and watched by the main thread, which owns the signals and the
 * children as it does in `lk run`. One hands each item, or each batch, to the other and waits; the
 * mutex guards what they hand over, and an eventfd wakes the main thread, which waits for signals
 * as well.
 *
 * What CMD reports is read by the main thread, and carried out at once by the loop's, which has
 * nothing else to do meanwhile and may wait for the store. It also asks about claims that were
 * refused: CMD may have ended them itself.
 */
#include "cli/work/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"
#include "cli/print/broken.h"
#include "cli/print/human.h"
#include "cli/print/say.h"
#include "cli/run/descriptors.h"
#include "cli/run/open.h"
#include "cli/run/status.h"
#include "cli/store/url.h"
#include "cli/work/item.h"
#include "cli/work/settle.h"
#include "client/lease.h"
#include "client/store.h"
#include "client/work/worker.h"

enum { FAILED = 1 }; /* the handler's result for an item whose CMD has failed */

/* What becomes of an item. */
struct fate {
    const lk_claim_info *claim;
    int status;                  /* for lk_work(), when answered */
    struct lk_pool_item_end end; /* how CMD ended, when answered; zero: it did not run */
    bool is_reported;
    bool is_settled;   /* the report is carried out */
    bool is_asked;     /* whether CMD has ended the claim itself */
    bool is_revoked;   /* by a user, and that was said */
    bool is_cancelled; /* the same, and the item does not come back */
    struct lk_pool_report report;
    bool has_progress; /* that the store has not been told yet */
    size_t progress_size;
    char progress[LK_FAILURE_BYTES_MAX];
};

struct worker {
    const struct lk_pool_slot *slot;
    lk_store *store;
    lk_cancel *cancel;
    struct lk_pool_job job;
    struct lk_pool_channel channel;
    int wake_descriptor; /* eventfd: there is an item, or the loop has ended */

    /* The main thread's alone. */
    bool is_stopping;
    bool is_ending;
    int failure_code; /* why it gives up by itself; 0: it does not */
    struct lk_run_outage_log outage_log;

    pthread_mutex_t mutex;
    pthread_cond_t answered;
    const lk_work_item *items;     /* to be run; NULL: none */
    size_t count;                  /* of these, or of those run last */
    struct fate *fates;            /* of each; room for a batch */
    _Atomic unsigned char *states; /* the same: enum lk_run_lease_state */
    size_t run_from;               /* those that CMD is run for */
    size_t run_count;
    bool has_reported; /* CMD has told of one */
    bool is_answered;
    char reason[LK_POOL_TAIL_MAX + 1]; /* the end of CMD's stderr, or how it ended */
    bool is_over;
    lk_error result; /* of lk_work(), when over */
};

/* ---- in the loop's thread -------------------------------------------------------------------- */

static void progress(void *context, const lk_work_progress *progress);

static bool is_to_settle(const struct fate *fate) {
    return fate->is_reported && !fate->is_settled;
}

/* The lease is not needed any more, and not renewed. */
static void retire(struct worker *worker, const lk_work_item *items, size_t i) {
    atomic_store(&worker->states[i], LK_RUN_LEASE_ENDED);
    lk_lease_retire(items[i].lease);
}

/* Without the mutex. */
static void settle(struct worker *worker, const lk_work_item *items, size_t i) {
    char text[LK_ERROR_TEXT_MAX];
    lk_work_progress what;

    retire(worker, items, i);
    lk_pool_settle(worker->store, worker->slot->options, &items[i], &worker->fates[i].report, &what,
                   text);
    free(worker->fates[i].report.result);
    worker->fates[i].report.result = NULL;
    progress(worker, &what);
}

/* Ends those that are done in one decision, if that is known to have ended all of them. */
static void settle_done(struct worker *worker, const lk_work_item *items, const size_t *which,
                        size_t count) {
    const lk_work_item *done[LK_CLAIMS_MAX];
    bool are_done;

    for (size_t n = 0; n < count; n++) {
        done[n] = &items[which[n]];
        retire(worker, items, which[n]);
    }
    are_done = count > 1 && worker->slot->options->table == NULL
               && lk_pool_settle_done(worker->store, done, count);
    for (size_t n = 0; n < count; n++) {
        if (are_done) {
            progress(worker, &(lk_work_progress){.step = LK_WORK_DONE, .claim = done[n]->claim});
        } else {
            settle(worker, items, which[n]);
        }
    }
}

/* Done, and nothing more is said: several such items can be ended in one decision. */
static bool is_plainly_done(const struct lk_pool_report *report) {
    return report->kind == LK_POOL_REPORT_DONE && report->result == NULL && report->keep_ms == 0;
}

/* Carries out what has been reported. With the mutex, which is unlocked meanwhile. */
static bool settle_reported(struct worker *worker, const lk_work_item *items) {
    size_t done[LK_CLAIMS_MAX];
    size_t done_count = 0;
    size_t first = worker->count;

    for (size_t i = 0; i < worker->count; i++) {
        struct fate *fate = &worker->fates[i];

        if (is_to_settle(fate) && is_plainly_done(&fate->report)) {
            fate->is_settled = true;
            done[done_count++] = i;
        } else if (is_to_settle(fate) && first == worker->count) {
            fate->is_settled = true;
            first = i;
        }
    }
    if (done_count == 0 && first == worker->count) {
        return false;
    }
    pthread_mutex_unlock(&worker->mutex);
    if (done_count > 0) {
        settle_done(worker, items, done, done_count);
    }
    if (first < worker->count) {
        settle(worker, items, first);
    }
    pthread_mutex_lock(&worker->mutex);
    return true;
}

/*
 * Tells the store the last progress of an item; one that it does not take is only not shown
 * elsewhere. With the mutex, which is unlocked meanwhile.
 */
static bool tell_progress(struct worker *worker, const lk_work_item *items) {
    char text[LK_FAILURE_BYTES_MAX];
    size_t size;
    size_t i = 0;

    while (i < worker->count && !worker->fates[i].has_progress) {
        i++;
    }
    if (i == worker->count) {
        return false;
    }
    size = worker->fates[i].progress_size;
    memcpy(text, worker->fates[i].progress, size);
    worker->fates[i].has_progress = false;
    pthread_mutex_unlock(&worker->mutex);
    (void)lk_progress(worker->store, items[i].claim->queue, items[i].claim->id,
                      items[i].claim->owner, items[i].claim->token, text, size, NULL);
    pthread_mutex_lock(&worker->mutex);
    return true;
}

/* Asks about a claim that was refused. With the mutex, which is unlocked meanwhile. */
static bool ask_about_doubted(struct worker *worker, const lk_work_item *items) {
    size_t i = 0;

    while (
        i < worker->count
        && (worker->fates[i].is_asked || atomic_load(&worker->states[i]) != LK_RUN_LEASE_DOUBTED)) {
        i++;
    }
    if (i == worker->count) {
        return false;
    }
    worker->fates[i].is_asked = true;
    pthread_mutex_unlock(&worker->mutex);
    bool was_ended = lk_pool_was_ended(worker->store, items[i].claim);
    pthread_mutex_lock(&worker->mutex);
    if (was_ended) {
        worker->fates[i].is_reported = worker->fates[i].is_settled = true;
        worker->has_reported = true;
    }
    atomic_store(&worker->states[i], was_ended ? LK_RUN_LEASE_ENDED : LK_RUN_LEASE_LOST);
    if (!was_ended) {
        eventfd_write(worker->job.lost_descriptor, 1);
    }
    return true;
}

static void handle_batch(void *context, lk_work_item *items, size_t count) {
    struct worker *worker = context;

    pthread_mutex_lock(&worker->mutex);
    for (size_t i = 0; i < count; i++) {
        worker->fates[i] = (struct fate){.claim = items[i].claim};
        atomic_store(&worker->states[i], LK_RUN_LEASE_HELD);
    }
    worker->items = items;
    worker->count = count;
    worker->run_count = 0;
    worker->is_answered = false;
    eventfd_write(worker->wake_descriptor, 1);
    for (;;) {
        bool has_done_something = settle_reported(worker, items) || ask_about_doubted(worker, items)
                                  || tell_progress(worker, items);
        if (!has_done_something && worker->is_answered) {
            break;
        }
        if (!has_done_something) {
            pthread_cond_wait(&worker->answered, &worker->mutex);
        }
    }
    for (size_t i = 0; i < count; i++) {
        items[i].status = worker->fates[i].is_reported ? LK_WORK_ENDED : worker->fates[i].status;
    }
    pthread_mutex_unlock(&worker->mutex);
}

static int handle(void *context, const lk_claim_info *claim, lk_lease *lease) {
    lk_work_item item = {.claim = claim, .lease = lease};

    handle_batch(context, &item, 1);
    return item.status;
}

enum { WHAT_SIZE = 64 };

/* "attempt 2 of 5", or "attempt 2". */
static void describe_attempt(const struct worker *worker, const lk_claim_info *claim,
                             char text[WHAT_SIZE]) {
    uint32_t max_attempts = worker->slot->options->max_attempts;
    int used = snprintf(text, WHAT_SIZE, "attempt %" PRIu32, claim->attempt);

    if (max_attempts != 0) {
        (void)snprintf(text + used, WHAT_SIZE - (size_t)used, " of %" PRIu32, max_attempts);
    }
}

/* "exit 3", "signal 9". */
static void describe_end(const struct lk_pool_item_end *end, char text[WHAT_SIZE]) {
    if (end->is_over_time) {
        (void)snprintf(text, WHAT_SIZE, "--max-time is up");
    } else if (end->signal != 0) {
        (void)snprintf(text, WHAT_SIZE, "signal %d", end->signal);
    } else if (end->exit_code != 0) {
        (void)snprintf(text, WHAT_SIZE, "exit %d", end->exit_code);
    } else {
        (void)snprintf(text, WHAT_SIZE, "it was returned unfinished");
    }
}

/* Of a claim of the batch that is handled. */
static const struct fate *fate_of(const struct worker *worker, const lk_claim_info *claim) {
    size_t i = 0;

    while (i + 1 < worker->count && worker->fates[i].claim != claim) {
        i++;
    }
    return &worker->fates[i];
}

/* Kept with the item: CMD's exit code, and the end of its stderr. */
static void explain(void *context, const lk_claim_info *claim, lk_work_failure *ret_failure) {
    struct worker *worker = context;
    const struct lk_pool_item_end *end = &fate_of(worker, claim)->end;

    ret_failure->has_exit = true;
    ret_failure->exit_code = end->exit_code;
    ret_failure->text = worker->reason;
    ret_failure->text_size = lk_pool_tail_text(&end->errors, worker->reason);
    if (ret_failure->text_size == 0 && (end->is_over_time || end->signal != 0)) {
        describe_end(end, worker->reason);
        ret_failure->text_size = strlen(worker->reason);
    }
}

/* The item goes back to the queue, or is parked. */
static void say_returned(const struct worker *worker, const lk_work_progress *progress,
                         const char *attempt) {
    const lk_claim_info *claim = progress->claim;
    const struct fate *fate = fate_of(worker, claim);
    char why[WHAT_SIZE];
    char due[LK_HUMAN_DURATION_SIZE];

    if (fate->is_reported) {
        (void)snprintf(why, sizeof why, "CMD says so");
    } else {
        describe_end(&fate->end, why);
    }
    lk_human_duration(progress->delay_ms, due);
    lk_run_status(progress->text != NULL ? "NOT DONE" : "FAILED", "%s/%s: %s; %s; %s%s",
                  claim->queue, claim->id, progress->text != NULL ? progress->text : why, attempt,
                  progress->step == LK_WORK_PARKED ? "parked" : "again in ",
                  progress->step == LK_WORK_PARKED ? "" : due);
}

/* An attempt that does not count is none; one that was revoked was said before. */
static bool is_no_failure(const struct fate *fate) {
    return fate->is_revoked    ? true
           : fate->is_reported ? fate->report.is_uncounted
                               : fate->status == LK_WORK_GIVE_BACK;
}

/* One line for an item whose attempt has failed, or for a row that is skipped. */
static void say_failure(const struct worker *worker, const lk_work_progress *progress) {
    const lk_claim_info *claim = progress->claim;
    char attempt[WHAT_SIZE];

    if (progress->step == LK_WORK_SKIPPED) {
        lk_run_status("SKIPPED", "%s: %s", worker->slot->queue, progress->text);
    }
    if (claim == NULL) {
        return;
    }
    const struct fate *fate = fate_of(worker, claim);
    describe_attempt(worker, claim, attempt);
    switch (progress->step) {
    case LK_WORK_RETRIED:
        if (!is_no_failure(fate)) {
            say_returned(worker, progress, attempt);
        }
        break;
    case LK_WORK_PARKED:
        say_returned(worker, progress, attempt);
        break;
    case LK_WORK_LOST:
        /* Of a single item, or one that was revoked, it was said when the command was ended. */
        if (!fate->is_revoked && (!fate->end.is_lost || worker->count > 1)) {
            lk_run_status("LOST", "%s/%s: the claim was lost before its end; %s", claim->queue,
                          claim->id, attempt);
        }
        break;
    case LK_WORK_UNKNOWN:
        lk_run_status("UNAVAILABLE", "%s/%s: the end of the claim could not be stored; %s",
                      claim->queue, claim->id, attempt);
        break;
    default:
        break;
    }
}

/* Whether it tells of the end of a cancelled item that is not done. That was said before. */
static bool tells_of_cancelled(const struct worker *worker, const lk_work_progress *progress) {
    bool is_undone = progress->step == LK_WORK_RETRIED || progress->step == LK_WORK_PARKED
                     || progress->step == LK_WORK_LOST;

    return is_undone && fate_of(worker, progress->claim)->is_cancelled;
}

static void progress(void *context, const lk_work_progress *progress) {
    const struct worker *worker = context;

    if (tells_of_cancelled(worker, progress)) {
        lk_pool_counters_count_cancelled(worker->slot->counters, worker->slot->index);
        return;
    }
    lk_pool_counters_count(worker->slot->counters, worker->slot->index, progress);
    if (!worker->slot->cli->quiet) {
        say_failure(worker, progress);
    }
}

static void *loop(void *context) {
    struct worker *worker = context;
    const struct lk_pool_options *options = worker->slot->options;
    bool is_finder = worker->slot->is_finder;
    const lk_work_options work = {
        .size = sizeof work,
        .queue = worker->slot->queue,
        .handle = handle,
        .batch = options->batch,
        .handle_batch = handle_batch,
        .progress = progress,
        .explain = explain,
        .context = worker,
        .workers = 1,
        .ttl_ms = options->ttl_ms,
        .max_attempts = options->max_attempts,
        .note = options->note,
        .retry_min_ms = options->backoff_ms,
        /* Beside workers, the finder ends when they have. */
        .drain = options->drain && (!is_finder || options->loops == LK_WORK_ANNOUNCES),
        .cancel = worker->cancel,
        .table = options->table,
        .loops = options->table == NULL ? LK_WORK_ALL
                 : is_finder            ? LK_WORK_ANNOUNCES
                                        : LK_WORK_CLAIMS,
    };
    lk_error result = {.outcome = LK_OK};

    (void)lk_work(worker->store, &work, NULL, &result);
    pthread_mutex_lock(&worker->mutex);
    worker->is_over = true;
    worker->result = result;
    eventfd_write(worker->wake_descriptor, 1);
    pthread_mutex_unlock(&worker->mutex);
    return NULL;
}

/* ---- in the main thread ---------------------------------------------------------------------- */

static void stop(struct worker *worker) {
    if (!worker->is_stopping) {
        worker->is_stopping = true;
        lk_cancel_now(worker->cancel);
    }
}

/* A worker passes no signal on: CMD runs on until the pool's second signal. */
static enum lk_run_signal_use handle_signal(void *context, int signal) {
    struct worker *worker = context;

    switch (signal) {
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
    case LK_POOL_ORDER_STOP:
        stop(worker);
        return LK_RUN_KEEP;
    case SIGQUIT:
    case LK_POOL_ORDER_END:
        stop(worker);
        worker->is_ending = true;
        return LK_RUN_END_NOW;
    default:
        return LK_RUN_KEEP;
    }
}

/* Between two items. */
static void handle_signals(struct worker *worker) {
    int signal;

    while ((signal = lk_run_signals_next(worker->slot->signals)) != 0) {
        if (signal == SIGTSTP) {
            lk_run_signals_stop_here(false);
        } else if (signal == SIGCHLD) {
            /* What former items have left behind, and this process has adopted. */
            while (waitpid(-1, NULL, WNOHANG) > 0) {
            }
        } else {
            (void)handle_signal(worker, signal);
        }
    }
}

/* CMD cannot be started for any item, so the pool ends. */
static void give_up(struct worker *worker, int error) {
    worker->failure_code = lk_run_child_failure_code(error);
    if (lk_pool_counters_may_say_failure(worker->slot->counters)) {
        (void)lk_run_child_say_failure(worker->slot->options->command[0], error);
    }
    stop(worker);
}

/* ---- what CMD reports ------------------------------------------------------------------------ */

/* The item of that id among those that CMD runs for; the only one, if none is named. */
static lk_outcome find_item(const struct worker *worker, const char *id, size_t *ret_item,
                            lk_error *error) {
    if (id == NULL && worker->run_count == 1) {
        *ret_item = worker->run_from;
        return LK_OK;
    }
    for (size_t i = 0; id != NULL && i < worker->run_count; i++) {
        const lk_claim_info *claim = worker->fates[worker->run_from + i].claim;

        if (strcmp(claim->id, id) == 0
            || (claim->row_id != NULL && strcmp(claim->row_id, id) == 0)) {
            *ret_item = worker->run_from + i;
            return LK_OK;
        }
    }
    return id == NULL
               ? lk_error_set(error, LK_INVALID, "it names no item of several")
               : lk_error_set(error, LK_INVALID, "no item of CMD's has the id \"%.100s\"", id);
}

static void say_progress(const struct worker *worker, const lk_claim_info *claim,
                         const struct lk_pool_report *report) {
    char text[sizeof report->text];

    for (size_t i = 0; i <= report->text_size; i++) {
        bool is_control = (unsigned char)report->text[i] < ' ' && report->text[i] != '\0';
        text[i] = is_control ? ' ' : report->text[i];
    }
    if (!worker->slot->cli->quiet) {
        lk_run_status("PROGRESS", "%s/%s: %s", claim->queue, claim->id, text);
    }
}

/* With the mutex. Of several the last one counts. */
static void note_progress(struct worker *worker, struct fate *fate,
                          const struct lk_pool_report *report) {
    memcpy(fate->progress, report->text, report->text_size);
    fate->progress_size = report->text_size;
    fate->has_progress = true;
    pthread_cond_signal(&worker->answered);
}

static lk_outcome take_report(void *context, const char *id, const struct lk_pool_report *report,
                              lk_error *error) {
    struct worker *worker = context;
    size_t item = 0;

    pthread_mutex_lock(&worker->mutex);
    lk_outcome outcome = find_item(worker, id, &item, error);
    struct fate *fate = &worker->fates[item];
    if (outcome == LK_OK && fate->is_reported) {
        outcome = lk_error_set(error, LK_INVALID, "the item \"%.100s\" is settled already",
                               fate->claim->id);
    } else if (outcome == LK_OK && report->kind != LK_POOL_REPORT_PROGRESS) {
        fate->report = *report;
        fate->is_reported = true;
        worker->has_reported = true;
        pthread_cond_signal(&worker->answered);
    } else if (outcome == LK_OK) {
        note_progress(worker, fate, report);
    }
    pthread_mutex_unlock(&worker->mutex);
    if (outcome == LK_OK && report->kind == LK_POOL_REPORT_PROGRESS) {
        say_progress(worker, fate->claim, report);
    }
    return outcome;
}

static void read_reports(void *context) {
    struct worker *worker = context;

    lk_pool_channel_read(&worker->channel);
}

/* In a thread of the store's: the renewal of a claim was refused. */
static void doubt(void *context, lk_lease *lease) {
    struct worker *worker = context;

    pthread_mutex_lock(&worker->mutex);
    for (size_t i = 0; worker->items != NULL && i < worker->count; i++) {
        unsigned char held = LK_RUN_LEASE_HELD;

        if (worker->items[i].lease == lease) {
            (void)atomic_compare_exchange_strong(&worker->states[i], &held, LK_RUN_LEASE_DOUBTED);
        }
    }
    pthread_cond_signal(&worker->answered);
    pthread_mutex_unlock(&worker->mutex);
}

/* ---- CMD ------------------------------------------------------------------------------------- */

/* Whether a user has revoked the claim, as the store has on record; then it says so. */
static bool say_revoked(const struct worker *worker, size_t i) {
    const lk_claim_info *claim = worker->fates[i].claim;
    bool is_known = atomic_load(&worker->states[i]) == LK_RUN_LEASE_LOST
                    && lk_away_ms(worker->store, NULL) == 0;
    char *by = is_known ? lk_broken_claim_by(worker->store, claim) : NULL;
    bool is_revoked = by != NULL;

    if (is_revoked) {
        lk_run_status("LOST", "%s/%s: the claim was %s", claim->queue, claim->id, by);
    }
    free(by);
    return is_revoked;
}

/* Says why CMD was ended for the claims `from` and behind, once nothing of it is left. */
static void say_ended(struct worker *worker, size_t from, size_t count) {
    const lk_claim_info *first = worker->fates[from].claim;

    if (count > 1) {
        lk_run_status("LOST", "%s: a claim of %zu was lost: the command is ended", first->queue,
                      count);
    }
    for (size_t i = from; i < from + count; i++) {
        struct fate *fate = &worker->fates[i];
        fate->is_revoked = say_revoked(worker, i);
        fate->is_cancelled = fate->is_revoked && lk_pool_was_cancelled(worker->store, fate->claim);
    }
    if (count == 1 && !worker->fates[from].is_revoked) {
        lk_run_status("LOST", "%s/%s: the claim was lost: the command is ended", first->queue,
                      first->id);
    }
}

/* Whether CMD has not failed, but was told to stop as its worker was. */
static bool was_stopped(const struct worker *worker, const struct lk_pool_item_end *end) {
    return worker->is_ending
           || (worker->is_stopping
               && (end->signal == SIGTERM || end->signal == SIGINT || end->signal == SIGHUP));
}

static void decide(struct worker *worker, size_t from, size_t count, int status,
                   const struct lk_pool_item_end *end) {
    pthread_mutex_lock(&worker->mutex);
    for (size_t i = from; i < from + count; i++) {
        worker->fates[i].status = status;
        worker->fates[i].end = *end;
    }
    worker->run_count = 0;
    pthread_mutex_unlock(&worker->mutex);
}

/* What a CMD that has ended so means for its items, if it has not said it. */
static int status_of(const struct worker *worker, const struct lk_pool_item_end *end) {
    if (end->start_error != 0) {
        return LK_WORK_GIVE_BACK;
    }
    if (end->is_lost || end->exit_code != 0) {
        return was_stopped(worker, end) ? LK_WORK_GIVE_BACK : FAILED;
    }
    return 0;
}

/*
 * Whether a batch that has failed without a word is tried again in halves: one of its items has no
 * attempt left, which may be the fault of another.
 */
static bool is_to_be_halved(struct worker *worker, size_t from, size_t count, int status) {
    uint32_t max_attempts = worker->slot->options->max_attempts;
    bool has_last = false;
    bool are_held = true;

    pthread_mutex_lock(&worker->mutex);
    for (size_t i = from; i < from + count; i++) {
        has_last =
            has_last || (max_attempts != 0 && worker->fates[i].claim->attempt >= max_attempts);
        are_held = are_held && atomic_load(&worker->states[i]) == LK_RUN_LEASE_HELD;
    }
    bool has_reported = worker->has_reported;
    pthread_mutex_unlock(&worker->mutex);
    return status == FAILED && count > 1 && has_last && are_held && !has_reported;
}

static void run_part(struct worker *worker, const lk_work_item *items, size_t from, size_t count) {
    struct lk_pool_item_end end = {.exit_code = 0};

    if (worker->is_stopping) { /* they were claimed just before that */
        decide(worker, from, count, LK_WORK_GIVE_BACK, &end);
        return;
    }
    pthread_mutex_lock(&worker->mutex);
    worker->run_from = from;
    worker->run_count = count;
    worker->has_reported = false;
    pthread_mutex_unlock(&worker->mutex);
    end = lk_pool_item_run(&worker->job, items + from, worker->states + from, count);
    if (end.is_lost && !worker->slot->cli->quiet) {
        say_ended(worker, from, count);
    }
    if (end.start_error != 0) {
        give_up(worker, end.start_error);
    }
    int status = status_of(worker, &end);
    decide(worker, from, count, status, &end);
    if (is_to_be_halved(worker, from, count, status)) {
        run_part(worker, items, from, count / 2);
        run_part(worker, items, from + count / 2, count - count / 2);
    }
}

static void answer(struct worker *worker) {
    pthread_mutex_lock(&worker->mutex);
    worker->items = NULL;
    worker->is_answered = true;
    pthread_cond_signal(&worker->answered);
    pthread_mutex_unlock(&worker->mutex);
}

/* One worker speaks for the pool. */
static bool may_say_outage(void *context, enum lk_run_outage_news news) {
    const struct worker *worker = context;

    return lk_pool_counters_may_say_outage(worker->slot->counters, worker->slot->index,
                                           news == LK_RUN_OUTAGE_AWAY);
}

/* While commands run, their supervision looks at the store. */
static void look_at_store(struct worker *worker) {
    if (!worker->slot->cli->quiet) {
        lk_run_outage_log_look(&worker->outage_log, worker->store, NULL);
    }
}

static void serve(struct worker *worker) {
    int pause_ms = worker->slot->cli->quiet ? -1 : LK_RUN_OUTAGE_LOOK_MS;
    struct pollfd turn[] = {{.fd = worker->slot->signals->descriptor, .events = POLLIN},
                            {.fd = worker->wake_descriptor, .events = POLLIN}};
    bool is_over = false;

    while (!is_over) {
        eventfd_t wakes;

        (void)poll(turn, sizeof turn / sizeof turn[0], pause_ms);
        handle_signals(worker);
        look_at_store(worker);
        (void)eventfd_read(worker->wake_descriptor, &wakes);
        pthread_mutex_lock(&worker->mutex);
        const lk_work_item *items = worker->items;
        size_t count = worker->count;
        is_over = worker->is_over;
        pthread_mutex_unlock(&worker->mutex);
        if (items != NULL) {
            run_part(worker, items, 0, count);
            answer(worker);
        }
    }
}

/* ---- beginning and end ----------------------------------------------------------------------- */

/* Prints the failure, unless another worker has; returns the exit code. */
static int fail(const struct lk_pool_slot *slot, lk_outcome outcome, const char *text) {
    return lk_pool_counters_may_say_failure(slot->counters)
               ? lk_say_failure(slot->cli, outcome, text)
               : lk_say_exit_code(slot->cli, outcome);
}

static int conclude(const struct worker *worker) {
    lk_outcome outcome = worker->result.outcome;

    if (worker->failure_code != 0) {
        return worker->failure_code;
    }
    return outcome == LK_OK || outcome == LK_CANCELLED
               ? 0
               : fail(worker->slot, outcome, worker->result.text);
}

static int run_loop(struct worker *worker) {
    pthread_t thread;

    if (!lk_thread_start(&thread, loop, worker)) {
        return fail(worker->slot, LK_INTERNAL, "the system has no room for one more thread");
    }
    serve(worker);
    pthread_join(thread, NULL);
    return conclude(worker);
}

int lk_pool_worker(const struct lk_pool_slot *slot) {
    struct worker worker = {.slot = slot,
                            .cancel = lk_cancel_new(),
                            .wake_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                            .mutex = PTHREAD_MUTEX_INITIALIZER,
                            .answered = PTHREAD_COND_INITIALIZER};
    size_t room = slot->options->batch > 0 ? slot->options->batch : 1;
    int timer = lk_run_timer_open();
    int lost_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    char *store_url = lk_secret_url_of(slot->options->store_url);
    lk_error error;

    worker.fates = calloc(room, sizeof *worker.fates);
    worker.states = calloc(room, sizeof *worker.states);
    worker.channel = (struct lk_pool_channel){.input = -1,
                                              .output = -1,
                                              .take = take_report,
                                              .context = &worker,
                                              .queue = slot->queue,
                                              .is_quiet = slot->cli->quiet};

    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (worker.cancel == NULL || worker.wake_descriptor < 0 || timer < 0 || store_url == NULL
        || lost_descriptor < 0 || worker.fates == NULL || worker.states == NULL) {
        (void)lk_run_explain_lack("a worker has no memory or descriptor to begin with", &error);
        return fail(slot, error.outcome, error.text);
    }
    lk_outcome outcome = lk_run_open(slot->options->store_url, LK_FOREVER, &worker.store, &error);
    if (outcome != LK_OK) { /* cancelled: it is ordered to stop */
        return outcome == LK_CANCELLED ? 0 : fail(slot, outcome, error.text);
    }
    worker.store->leader = &slot->counters->leader;
    worker.store->member = (uint32_t)slot->index + 1;
    worker.outage_log = (struct lk_run_outage_log){.may_say = may_say_outage, .context = &worker};
    worker.job = (struct lk_pool_job){.store_url = store_url,
                                      .store = worker.store,
                                      .outage_log = slot->cli->quiet ? NULL : &worker.outage_log,
                                      .command = slot->options->command,
                                      .signals = slot->signals,
                                      .has_batches = slot->options->batch > 0,
                                      .max_time_ms = slot->options->max_time_ms,
                                      .timer = timer,
                                      .lost_descriptor = lost_descriptor,
                                      .channel = &worker.channel,
                                      .on_report = read_reports,
                                      .on_lost = doubt,
                                      .signal_use = handle_signal,
                                      .context = &worker};
    int exit_code = run_loop(&worker);
    free(store_url);
    lk_close(worker.store);
    lk_cancel_free(worker.cancel);
    free(worker.fates);
    free((void *)worker.states);
    return exit_code;
}
