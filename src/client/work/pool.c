/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of workers (R16): each claims, has its item handled, and ends the claim (worker.c), until
 * the pool is cancelled, drained, or one of them cannot go on.
 *
 * The store's keep-alive renews a claim as it renews any lease, and detects its loss. A worker does
 * not check for a loss: the end of a lost claim is answered LOST, is counted, and changes nothing.
 * Lock order: pool, waker.
 */
#include "client/work/pool.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "client/checked.h"
#include "client/keepalive.h"
#include "client/work/worker.h"

/* ---- the end of the pool --------------------------------------------------------------------- */

static void stop_all(struct lk_work_pool *pool) {
    for (size_t i = 0; i < pool->worker_count; i++) {
        lk_cancel_link_throw(&pool->workers[i].link);
    }
    if (pool->source != NULL) {
        lk_cancel_link_throw(&pool->finder_link);
    }
}

void lk_pool_conclude(struct lk_work_pool *pool, const lk_error *reason) {
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
    case LK_WORK_SKIPPED:
        break;
    }
}

/* The mutex is held. */
static void pass_on(struct lk_work_pool *pool, lk_work_progress *progress) {
    progress->counts = pool->counts;
    if (pool->options.progress != NULL) {
        pool->options.progress(pool->options.context, progress);
    }
}

void lk_pool_tell(struct lk_work_pool *pool, lk_work_progress *progress) {
    pthread_mutex_lock(&pool->mutex);
    count(&pool->counts, progress->step, progress->claim);
    pass_on(pool, progress);
    pthread_mutex_unlock(&pool->mutex);
}

/* The mutex is held. */
static void end_first_round(struct lk_work_pool *pool) {
    pool->has_looked = true;
    (void)pthread_cond_broadcast(&pool->looked);
}

/* Counts a finder's announcement; what is left, only if there is a progress callback. */
static void tell_announced(void *context, const struct lk_announcement *announcement) {
    struct lk_work_pool *pool = context;
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
    if (announcement->is_whole) {
        pool->counts.skipped = announcement->skipped.count;
    }
    if (is_known) {
        pool->counts.left = stats.ready_now + stats.delayed_now + stats.claimed_now;
    }
    pass_on(pool, &progress);
    end_first_round(pool);
    pthread_mutex_unlock(&pool->mutex);
}

static void tell_skipped(void *context, const char *text) {
    lk_work_progress progress = {.step = LK_WORK_SKIPPED, .text = text};

    lk_pool_tell(context, &progress);
}

/* ---- the pool -------------------------------------------------------------------------------- */

/* Sets up the workers. On failure, pool->worker_count of them, for done_workers(). */
static lk_outcome init_workers(struct lk_work_pool *pool, lk_error *error) {
    pool->workers = calloc(pool->options.workers, sizeof *pool->workers);
    if (pool->workers == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for %zu workers", pool->options.workers);
    }
    while (pool->worker_count < pool->options.workers) {
        struct lk_worker *worker = &pool->workers[pool->worker_count];

        if (lk_cancel_join(pool->options.cancel, &worker->link, error) != LK_OK) {
            return LK_INTERNAL;
        }
        lk_worker_init(worker, pool);
        pool->worker_count++;
    }
    return LK_OK;
}

static void done_workers(struct lk_work_pool *pool) {
    for (size_t i = 0; i < pool->worker_count; i++) {
        lk_cancel_leave(&pool->workers[i].link);
    }
    free(pool->workers);
}

/* ---- the finder of a table's rows (R17) ------------------------------------------------------ */

static lk_outcome init_finder(struct lk_work_pool *pool, lk_error *error) {
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
        .tell_skipped = tell_skipped,
        .context = pool,
    };
    return LK_OK;
}

static void done_finder(struct lk_work_pool *pool) {
    if (pool->source != NULL) {
        lk_cancel_leave(&pool->finder_link);
    }
}

static void *run_finder(void *context) {
    struct lk_work_pool *pool = context;
    lk_error error;

    lk_error_clear(&error, LK_OK);
    error.outcome = lk_finder_run(&pool->finder, &error);
    lk_pool_conclude(pool, &error);
    pthread_mutex_lock(&pool->mutex);
    end_first_round(pool);
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

static bool start_finder(struct lk_work_pool *pool) {
    lk_error error;

    if (pool->source == NULL || pool->options.loops == LK_WORK_CLAIMS) {
        return false;
    }
    if (lk_thread_start(&pool->finder_thread, run_finder, pool)) {
        return true;
    }
    lk_error_set(&error, LK_INTERNAL, "cannot start the finder: no more threads");
    lk_pool_conclude(pool, &error);
    return false;
}

/*
 * Ends the finder; `is_over` keeps that from becoming the result of the pool. Workers may have
 * found the queue drained before the finder has purged it: its first round is awaited.
 */
static void end_finder(struct lk_work_pool *pool, bool is_started) {
    if (is_started) {
        pthread_mutex_lock(&pool->mutex);
        while (pool->result.outcome == LK_OK && !pool->has_looked) {
            (void)pthread_cond_wait(&pool->looked, &pool->mutex);
        }
        pool->is_over = true;
        pthread_mutex_unlock(&pool->mutex);
        lk_cancel_link_throw(&pool->finder_link);
        (void)pthread_join(pool->finder_thread, NULL);
    }
}

/* The first worker is the caller's thread; returns when all have ended. */
static void run_workers(struct lk_work_pool *pool) {
    for (size_t i = 1; i < pool->worker_count; i++) {
        struct lk_worker *worker = &pool->workers[i];

        worker->is_started = lk_thread_start(&worker->thread, lk_worker_run, worker);
        if (!worker->is_started) {
            lk_error error;

            lk_error_set(&error, LK_INTERNAL, "cannot start worker %zu: no more threads", i + 1);
            lk_pool_conclude(pool, &error);
            break;
        }
    }
    (void)lk_worker_run(&pool->workers[0]);
    for (size_t i = 1; i < pool->worker_count; i++) {
        if (pool->workers[i].is_started) {
            (void)pthread_join(pool->workers[i].thread, NULL);
        }
    }
}

/* Runs the loops of the checked options. */
static lk_outcome run(struct lk_work_pool *pool, lk_error *error) {
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

/* Runs them with a leader: that of a pool of processes, or of the queue. */
static lk_outcome run_led(struct lk_work_pool *pool, lk_error *error) {
    lk_store *store = pool->store;
    struct lk_queue_leader *own = NULL;
    lk_outcome outcome;

    pool->leader = store->leader;
    pool->first_member = store->member;
    if (pool->leader == NULL) {
        own = lk_queue_leader_join(store, &pool->queue, pool->options.table, pool->options.workers,
                                   &pool->first_member);
        if (own == NULL) {
            return lk_error_set(error, LK_INTERNAL, "no memory for a pool");
        }
        pool->leader = &own->leader;
    }
    outcome = run(pool, error);
    if (own != NULL) {
        lk_queue_leader_leave(store, own);
    }
    return outcome;
}

lk_outcome lk_work(lk_store *store, const lk_work_options *options, lk_work_counts *ret_counts,
                   lk_error *error) {
    struct lk_work_pool pool = {
        .store = store, .looked = PTHREAD_COND_INITIALIZER, .result = {.outcome = LK_OK}};
    lk_outcome outcome = lk_pool_check_options(&pool, options, error);

    (void)pthread_sigmask(SIG_SETMASK, NULL, &pool.caller_signals);
    if (outcome == LK_OK && !lk_keepalive_start(store->keepalive, false)) {
        outcome =
            lk_error_set(error, LK_INTERNAL, "cannot start the thread that keeps claims alive");
    }
    if (outcome == LK_OK && pthread_mutex_init(&pool.mutex, NULL) != 0) {
        outcome = lk_error_set(error, LK_INTERNAL, "the system has no more mutexes");
    }
    if (outcome == LK_OK) {
        outcome = run_led(&pool, error);
        (void)pthread_cond_destroy(&pool.looked);
        (void)pthread_mutex_destroy(&pool.mutex);
    }
    if (ret_counts != NULL) {
        *ret_counts = pool.counts;
    }
    return outcome;
}

/* ---- options --------------------------------------------------------------------------------- */

/* Checked, and filled in. */

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
static lk_outcome check_table(struct lk_work_pool *pool, lk_error *error) {
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

static lk_outcome check_batch(const struct lk_work_pool *pool, lk_error *error) {
    const lk_work_options *options = &pool->options;

    if (options->table != NULL) {
        return lk_error_set(error, LK_UNSUPPORTED,
                            "R17: items of a table are claimed one at a time");
    }
    if (options->handle_batch == NULL || options->batch > LK_CLAIMS_MAX) {
        return lk_error_set(error, LK_INVALID,
                            "R16: a batch needs a handler, and has at most %d items",
                            LK_CLAIMS_MAX);
    }
    return lk_store_check_can(pool->store, LK_CAN_BATCHES, error);
}

lk_outcome lk_pool_check_options(struct lk_work_pool *pool, const lk_work_options *given,
                                 lk_error *error) {
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
    if (outcome == LK_OK && options->batch > 0) {
        outcome = check_batch(pool, error);
    }
    if (outcome == LK_OK
        && ((options->handle == NULL && options->batch == 0 && options->loops != LK_WORK_ANNOUNCES)
            || options->workers > LK_WORKERS_MAX)) {
        outcome =
            lk_error_set(error, LK_INVALID,
                         "R16: a pool needs a handler, and has at most %d workers", LK_WORKERS_MAX);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    options->workers = options->workers != 0 ? options->workers : 1;
    lk_worker_delays_complete(&options->retry_min_ms, &options->retry_max_ms);
    return check_delays(options, error);
}
