/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of workers (R16): each claims, has its item handled, and ends the claim, until the pool is
 * cancelled, drained, or one of them cannot go on.
 *
 * The store's keep-alive renews a claim as it renews any lease, and detects its loss. A worker does
 * not check for a loss: the end of a lost claim is answered LOST, is counted, and changes nothing.
 * Lock order: pool, waker.
 */
#include <pthread.h>
#include <stdlib.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "client/answer.h"
#include "client/cancel.h"
#include "client/checked.h"
#include "client/keepalive.h"
#include "client/lease.h"
#include "client/wait.h"
#include "client/work/claim.h"
#include "client/work/finder.h"

#define RETRY_MIN_MS INT64_C(1000)
#define RETRY_MAX_MS INT64_C(300000)

struct pool;

struct worker {
    struct pool *pool;
    char owner[LK_OWNER_BYTES_MAX + 1];
    struct lk_cancel_link link; /* its waker is thrown by cancellation, and when the pool ends */
    struct lk_claiming claiming;
    pthread_t thread;
    bool is_started; /* has a thread of its own */
};

struct pool {
    lk_store *store;
    lk_work_options options; /* filled in: nothing is 0 that means something else */
    struct lk_path queue;
    struct lk_table_text table;     /* R17 */
    const struct lk_source *source; /* in it; NULL: the queue is no table */
    struct lk_finder finder;
    struct lk_cancel_link finder_link; /* as a worker's; thrown when all workers have ended, too */
    pthread_t finder_thread;
    struct worker *workers;
    size_t worker_count; /* those whose waker is there */

    pthread_mutex_t mutex; /* guards what follows, and the progress callback */
    lk_work_counts counts;
    bool is_over;    /* all workers have ended */
    lk_error result; /* LK_OK until a worker ends for another reason than being drained */
};

/* ---- the end of the pool --------------------------------------------------------------------- */

static void stop_all(struct pool *pool) {
    for (size_t i = 0; i < pool->worker_count; i++) {
        lk_waker_throw(&pool->workers[i].link.waker);
    }
    if (pool->source != NULL) {
        lk_waker_throw(&pool->finder_link.waker);
    }
}

/* A worker has ended. Unless the queue is drained, all others end too. The first reason counts. */
static void conclude(struct pool *pool, const lk_error *reason) {
    if (reason->outcome == LK_BUSY) {
        return; /* drained */
    }
    pthread_mutex_lock(&pool->mutex);
    if (pool->result.outcome == LK_OK && !pool->is_over) {
        pool->result = *reason;
    }
    pthread_mutex_unlock(&pool->mutex);
    stop_all(pool);
}

/* ---- counters and progress ------------------------------------------------------------------- */

static void count(lk_work_counts *counts, lk_work_step step, const lk_claim_info *claim) {
    switch (step) {
    case LK_WORK_CLAIMED:
        counts->claims++;
        counts->steals += claim->is_stolen;
        break;
    case LK_WORK_DONE:
        counts->done++;
        break;
    case LK_WORK_PARKED:
        counts->parked++;
        counts->retried++;
        break;
    case LK_WORK_RETRIED:
        counts->retried++;
        break;
    case LK_WORK_LOST:
        counts->lost++;
        break;
    case LK_WORK_UNKNOWN:
        counts->unknown++;
        break;
    case LK_WORK_ANNOUNCED: /* counted by tell_announced() */
        break;
    }
}

/* The mutex is held. */
static void pass_on(struct pool *pool, lk_work_progress *progress) {
    progress->counts = pool->counts;
    if (pool->options.progress != NULL) {
        pool->options.progress(pool->options.context, progress);
    }
}

static void tell(struct pool *pool, lk_work_progress *progress) {
    pthread_mutex_lock(&pool->mutex);
    count(&pool->counts, progress->step, progress->claim);
    pass_on(pool, progress);
    pthread_mutex_unlock(&pool->mutex);
}

/* Counts a finder's announcement; what is left, only if there is a progress callback. */
static void tell_announced(void *context, const struct lk_announcement *announcement) {
    struct pool *pool = context;
    struct lk_engine *engine = pool->store->engine;
    const struct lk_patience patience = {.until_us = lk_clock_now_us() + LK_CLOSE_BUDGET_US,
                                         .waker = &pool->finder_link.waker};
    lk_work_progress progress = {.step = LK_WORK_ANNOUNCED};
    lk_queue_stats stats = {.pushed = 0};
    bool is_known =
        pool->options.progress != NULL
        && engine->ops->stats(engine, &pool->queue, LK_STATS_WHOLE, &patience, &stats, NULL)
               == LK_OK;

    pthread_mutex_lock(&pool->mutex);
    pool->counts.announced += announcement->pushed;
    pool->counts.duplicates += announcement->duplicates;
    if (is_known) {
        pool->counts.left = stats.ready_now + stats.delayed_now + stats.claimed_now;
    }
    pass_on(pool, &progress);
    pthread_mutex_unlock(&pool->mutex);
}

/* ---- one item -------------------------------------------------------------------------------- */

/* Doubles with each attempt; randomised, so that items that failed together come back apart. */
static int64_t retry_delay_ms(const struct worker *worker, uint32_t attempt) {
    const lk_work_options *options = &worker->pool->options;

    return lk_backoff_delay(options->retry_min_ms, options->retry_max_ms, attempt - 1);
}

/*
 * Ends the claim in the store. A store that does not answer is retried until the claim would have
 * perished; by a worker that has to stop, for LK_CLOSE_BUDGET_US. LK_OK, LK_LOST, or an outcome
 * that leaves the end unknown.
 */
static lk_outcome finish(struct worker *worker, const struct lk_finish *finish, int64_t until_us,
                         lk_error *error) {
    struct lk_engine *engine = worker->pool->store->engine;
    const struct lk_source *source = worker->pool->source;
    struct lk_outage *outage = &worker->claiming.outage;
    const struct lk_command command = {.kind = LK_COMMAND_FINISH, .finish = *finish};
    bool is_followed = source != NULL && finish->kind == LK_FINISH_DONE
                       && engine->ops->table->finish_and_take != NULL;

    for (;;) {
        bool is_stopping = lk_waker_is_thrown(&worker->link.waker);
        int64_t sent_us = lk_clock_now_us();
        const struct lk_patience patience = {
            .until_us = is_stopping ? sent_us + LK_CLOSE_BUDGET_US : until_us,
            .waker = is_stopping ? NULL : &worker->link.waker,
        };
        lk_outcome outcome;

        if (is_followed && !is_stopping) {
            is_followed = false; /* a repetition only ends this claim */
            outcome = lk_claim_follow(&worker->claiming, finish, until_us, error);
        } else {
            struct lk_decision decision;

            (void)lk_claim_decide(&worker->claiming, &command, &patience, &decision);
            outcome = lk_answer_end(&decision, error);
        }
        if (outcome != LK_UNAVAILABLE && outcome != LK_CANCELLED) {
            lk_outage_end(outage);
            return outcome;
        }
        if (is_stopping || !lk_outage_outlast(outage, sent_us, until_us, 0, &worker->link.waker)) {
            return outcome;
        }
    }
}

/* The step that the end of a claim counts as. */
static lk_work_step step_of(const struct pool *pool, const lk_claim_info *claim,
                            enum lk_finish_kind kind, lk_outcome outcome) {
    uint32_t max_attempts = pool->options.max_attempts;

    if (outcome == LK_LOST) {
        return LK_WORK_LOST;
    }
    if (outcome != LK_OK) {
        return LK_WORK_UNKNOWN;
    }
    if (kind == LK_FINISH_DONE) {
        return LK_WORK_DONE;
    }
    return max_attempts != 0 && claim->attempt >= max_attempts ? LK_WORK_PARKED : LK_WORK_RETRIED;
}

/* R17: the table's statement failed, so the item cannot be done: it is retried later. */
static lk_outcome give_back(struct worker *worker, const lk_claim_info *claim,
                            struct lk_finish *ending, int64_t until_us) {
    ending->kind = LK_FINISH_RETRY;
    ending->delay_ms = retry_delay_ms(worker, claim->attempt);
    return finish(worker, ending, until_us, NULL);
}

/* `status` is the handler's. */
static void end_claim(struct worker *worker, const lk_claim_info *claim, lk_lease *lease,
                      int status) {
    struct pool *pool = worker->pool;
    struct lk_finish ending = {
        .queue = pool->queue,
        .id = lk_slice_of(claim->id),
        .owner = lk_slice_of(worker->owner),
        .token = claim->token,
        .kind = status == 0 ? LK_FINISH_DONE : LK_FINISH_RETRY,
        .delay_ms =
            status == 0 || status == LK_WORK_GIVE_BACK ? 0 : retry_delay_ms(worker, claim->attempt),
    };
    int64_t safe_until_us = lk_safe_until_until_us(&lease->safe_until);
    int64_t until_us = lk_max(safe_until_us, lk_clock_now_us() + LK_CLOSE_BUDGET_US);
    lk_work_progress progress = {.claim = claim};
    lk_error error;
    lk_outcome outcome;

    lk_lease_abandon(lease); /* not renewed any more: a renewal after the end would be LOST */
    outcome = finish(worker, &ending, until_us, &error);
    if (outcome == LK_INVALID && pool->source != NULL) {
        progress.text = error.text;
        outcome = give_back(worker, claim, &ending, until_us);
    }
    progress.step = step_of(pool, claim, ending.kind, outcome);
    progress.delay_ms = progress.step == LK_WORK_RETRIED ? ending.delay_ms : 0;
    tell(pool, &progress);
}

/* Adds the claim to the keep-alive, as a lease on QUEUE/ID. */
static void begin_lease(struct worker *worker, const lk_claim_info *claim, lk_lease *lease,
                        int64_t sent_us) {
    struct lk_item_path item;
    struct lk_part part = {.mode = LK_EXCLUSIVE};
    const struct lk_grant grant = {
        .parts = &part,
        .token = claim->token,
        .ttl_ms = claim->ttl_ms,
        .sent_us = sent_us,
        .expires_in_ms = claim->expires_in_ms,
    };

    /* A path by R16: the item was pushed. */
    (void)lk_item_path_make(&worker->pool->queue, lk_slice_of(claim->id), &item, NULL);
    part.path = item.path;
    lk_lease_begin(lease, worker->pool->store, &grant);
}

static void handle(struct worker *worker, lk_claim_info *claim, lk_lease *lease, int64_t sent_us) {
    const lk_work_options *options = &worker->pool->options;
    lk_work_progress progress = {.step = LK_WORK_CLAIMED, .claim = claim};
    int status;

    begin_lease(worker, claim, lease, sent_us);
    tell(worker->pool, &progress);
    status = options->handle(options->context, claim, lease);
    end_claim(worker, claim, lease, status);
    lk_claim_free(claim);
}

/* ---- one worker ------------------------------------------------------------------------------ */

static void *run_worker(void *context) {
    struct worker *worker = context;

    for (;;) {
        lk_lease *lease = lk_lease_new(worker->owner, 1, LK_PATH_BYTES_MAX);
        lk_claim_info *claim = NULL;
        int64_t sent_us = 0;
        lk_error error;
        lk_outcome outcome;

        if (lease == NULL) {
            lk_error_set(&error, LK_INTERNAL, "no memory for a claim");
            conclude(worker->pool, &error);
            lk_claim_free(worker->claiming.followed);
            return NULL;
        }
        lk_error_clear(&error, LK_OK);
        outcome = lk_claim_await(&worker->claiming, &claim, &sent_us, &error);
        if (outcome != LK_GRANTED) {
            error.outcome = outcome;
            lk_lease_discard(lease);
            conclude(worker->pool, &error);
            return NULL;
        }
        handle(worker, claim, lease, sent_us);
    }
}

static void init_worker(struct pool *pool, struct worker *worker) {
    const lk_work_options *options = &pool->options;

    worker->pool = pool;
    lk_owner_make(worker->owner);
    worker->claiming = (struct lk_claiming){
        .store = pool->store,
        .command =
            {
                .kind = LK_COMMAND_TAKE,
                .take =
                    {
                        .queue = pool->queue,
                        .owner = lk_slice_of(worker->owner),
                        .ttl_ms = options->ttl_ms,
                        .max_attempts = options->max_attempts,
                        .note_given = options->note != NULL,
                        .note = lk_slice_of(options->note),
                    },
            },
        .source = pool->source,
        .waker = &worker->link.waker,
        .outage = lk_outage_new(pool->store->engine),
        .random = {lk_random_draw()},
        .end_us = LK_NEVER,
        .away_end_us = LK_NEVER,
        .patience_ms = options->patience_ms,
        .drains = options->drain,
        .outlasts_full = true,
    };
}

/* ---- the pool -------------------------------------------------------------------------------- */

/* Sets up the workers. On failure, pool->worker_count of them, for done_workers(). */
static lk_outcome init_workers(struct pool *pool, lk_error *error) {
    pool->workers = calloc(pool->options.workers, sizeof *pool->workers);
    if (pool->workers == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for %zu workers", pool->options.workers);
    }
    while (pool->worker_count < pool->options.workers) {
        struct worker *worker = &pool->workers[pool->worker_count];

        if (lk_cancel_join(pool->options.cancel, &worker->link, error) != LK_OK) {
            return LK_INTERNAL;
        }
        init_worker(pool, worker);
        pool->worker_count++;
    }
    return LK_OK;
}

static void done_workers(struct pool *pool) {
    for (size_t i = 0; i < pool->worker_count; i++) {
        lk_cancel_leave(&pool->workers[i].link);
    }
    free(pool->workers);
}

/* ---- the finder of a table's rows (R17) ------------------------------------------------------ */

static lk_outcome init_finder(struct pool *pool, lk_error *error) {
    if (pool->source == NULL) {
        return LK_OK;
    }
    if (lk_cancel_join(pool->options.cancel, &pool->finder_link, error) != LK_OK) {
        pool->source = NULL; /* and nothing to undo */
        return LK_INTERNAL;
    }
    pool->finder = (struct lk_finder){
        .store = pool->store,
        .source = pool->source,
        .waker = &pool->finder_link.waker,
        .outage = lk_outage_new(pool->store->engine),
        .patience_ms = pool->options.patience_ms,
        .drains = pool->options.drain && pool->options.loops == LK_WORK_ANNOUNCES,
        .tell = tell_announced,
        .context = pool,
    };
    return LK_OK;
}

static void done_finder(struct pool *pool) {
    if (pool->source != NULL) {
        lk_cancel_leave(&pool->finder_link);
    }
}

static void *run_finder(void *context) {
    struct pool *pool = context;
    lk_error error;

    lk_error_clear(&error, LK_OK);
    error.outcome = lk_finder_run(&pool->finder, &error);
    conclude(pool, &error);
    return NULL;
}

static bool start_finder(struct pool *pool) {
    lk_error error;

    if (pool->source == NULL || pool->options.loops == LK_WORK_CLAIMS) {
        return false;
    }
    if (pthread_create(&pool->finder_thread, NULL, run_finder, pool) == 0) {
        return true;
    }
    lk_error_set(&error, LK_INTERNAL, "cannot start the finder: no more threads");
    conclude(pool, &error);
    return false;
}

/* Ends the finder; `is_over` keeps that from becoming the result of the pool. */
static void end_finder(struct pool *pool, bool is_started) {
    if (is_started) {
        pthread_mutex_lock(&pool->mutex);
        pool->is_over = true;
        pthread_mutex_unlock(&pool->mutex);
        lk_waker_throw(&pool->finder_link.waker);
        (void)pthread_join(pool->finder_thread, NULL);
    }
}

/* The first worker is the caller's thread; returns when all have ended. */
static void run_workers(struct pool *pool) {
    for (size_t i = 1; i < pool->worker_count; i++) {
        struct worker *worker = &pool->workers[i];

        worker->is_started = pthread_create(&worker->thread, NULL, run_worker, worker) == 0;
        if (!worker->is_started) {
            lk_error error;

            lk_error_set(&error, LK_INTERNAL, "cannot start worker %zu: no more threads", i + 1);
            conclude(pool, &error);
            break;
        }
    }
    (void)run_worker(&pool->workers[0]);
    for (size_t i = 1; i < pool->worker_count; i++) {
        if (pool->workers[i].is_started) {
            (void)pthread_join(pool->workers[i].thread, NULL);
        }
    }
}

static lk_outcome check_delays(const lk_work_options *options, lk_error *error) {
    if (options->patience_ms < 0) {
        return lk_error_set(error, LK_INVALID, "a wait is not negative");
    }
    if (options->retry_min_ms < 0 || options->retry_max_ms < options->retry_min_ms
        || options->retry_max_ms > LK_TTL_MAX_MS) {
        return lk_error_set(
            error, LK_INVALID,
            "R16: a delay is 0 to 366 days, and the smallest not above the greatest");
    }
    return LK_OK;
}

/* R17: the table and its SQL. */
static lk_outcome check_table(struct pool *pool, lk_error *error) {
    const lk_work_options *options = &pool->options;

    if (options->table == NULL) {
        return options->loops == LK_WORK_ALL
                   ? lk_path_parse(lk_slice_of(options->queue), &pool->queue, error)
                   : lk_error_set(error, LK_INVALID, "R17: without a table nothing is announced");
    }
    if ((unsigned)options->loops > LK_WORK_CLAIMS) {
        return lk_error_set(error, LK_INVALID, "R17: there are no loops %d", (int)options->loops);
    }
    lk_outcome outcome =
        lk_table_text_make(pool->store, options->queue, options->table, &pool->table, error);
    if (outcome == LK_OK) {
        pool->queue = pool->table.source.queue;
        pool->source = &pool->table.source;
    }
    return outcome;
}

/* Checks the options and fills in the defaults. */
static lk_outcome check(struct pool *pool, const lk_work_options *given, lk_error *error) {
    lk_work_options *options = &pool->options;
    lk_outcome outcome = lk_checked_copy(options, sizeof *options, given, error);

    if (outcome == LK_OK) {
        outcome = lk_store_check_can(pool->store, LK_CAN_WORK, error);
    }
    if (outcome == LK_OK) {
        outcome = check_table(pool, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_checked_claim(&options->ttl_ms, options->max_attempts, options->note, error);
    }
    if (outcome == LK_OK
        && ((options->handle == NULL && options->loops != LK_WORK_ANNOUNCES)
            || options->workers > LK_WORKERS_MAX)) {
        outcome =
            lk_error_set(error, LK_INVALID,
                         "R16: a pool needs a handler, and has at most %d workers", LK_WORKERS_MAX);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    options->workers = options->workers != 0 ? options->workers : 1;
    options->retry_min_ms = options->retry_min_ms != 0 ? options->retry_min_ms : RETRY_MIN_MS;
    options->retry_max_ms = options->retry_max_ms != 0
                                ? options->retry_max_ms
                                : lk_max(RETRY_MAX_MS, options->retry_min_ms);
    return check_delays(options, error);
}

/* Runs the loops of the checked options. */
static lk_outcome run(struct pool *pool, lk_error *error) {
    lk_outcome outcome = init_finder(pool, error);

    if (outcome == LK_OK && pool->options.loops == LK_WORK_ANNOUNCES) {
        (void)run_finder(pool);
        outcome = lk_error_set(error, pool->result.outcome, "%s", pool->result.text);
    } else if (outcome == LK_OK) {
        outcome = init_workers(pool, error);
        if (outcome == LK_OK) {
            bool is_finding = start_finder(pool);
            run_workers(pool);
            end_finder(pool, is_finding);
            outcome = lk_error_set(error, pool->result.outcome, "%s", pool->result.text);
        }
        done_workers(pool);
    }
    done_finder(pool);
    return outcome;
}

lk_outcome lk_work(lk_store *store, const lk_work_options *options, lk_work_counts *ret_counts,
                   lk_error *error) {
    struct pool pool = {.store = store, .result = {.outcome = LK_OK}};
    lk_outcome outcome = check(&pool, options, error);

    if (outcome == LK_OK && !lk_keepalive_start(store->keepalive)) {
        outcome =
            lk_error_set(error, LK_INTERNAL, "cannot start the thread that keeps claims alive");
    }
    if (outcome == LK_OK && pthread_mutex_init(&pool.mutex, NULL) != 0) {
        outcome = lk_error_set(error, LK_INTERNAL, "the system has no more mutexes");
    }
    if (outcome == LK_OK) {
        outcome = run(&pool, error);
        (void)pthread_mutex_destroy(&pool.mutex);
    }
    if (ret_counts != NULL) {
        *ret_counts = pool.counts;
    }
    return outcome;
}
