/* SPDX-License-Identifier: Apache-2.0 */
/* One worker of a pool: claims an item, has it handled under a lease, and ends the claim. */
#include "client/work/worker.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/random.h"
#include "client/answer.h"
#include "client/keepalive.h"
#include "client/lease.h"

/* ---- one item -------------------------------------------------------------------------------- */

#define RETRY_MIN_MS INT64_C(1000)
#define RETRY_MAX_MS INT64_C(300000)

void lk_worker_delays_complete(int64_t *min_ms, int64_t *max_ms) {
    *min_ms = *min_ms != 0 ? *min_ms : RETRY_MIN_MS;
    *max_ms = *max_ms != 0 ? *max_ms : lk_max(RETRY_MAX_MS, *min_ms);
}

/* Doubles with each attempt; randomised, so that items that failed together come back apart. */
static int64_t retry_delay_ms(const struct lk_worker *worker, uint32_t attempt) {
    const lk_work_options *options = &worker->pool->options;

    return lk_backoff_delay(options->retry_min_ms, options->retry_max_ms, attempt - 1);
}

lk_outcome lk_worker_insist(struct lk_worker *worker, lk_worker_attempt *attempt, void *context,
                            int64_t until_us, lk_error *error) {
    struct lk_contact *contact = &worker->pool->store->contact;
    struct lk_outage *outage = &worker->claiming.outage;
    lk_error unused;

    error = error != NULL ? error : &unused;
    for (;;) {
        bool is_stopping = lk_waker_is_thrown(&worker->link.waker);
        int64_t sent_us = lk_clock_now_us();
        const struct lk_patience patience = {
            .until_us = is_stopping ? sent_us + LK_CLOSE_BUDGET_US : until_us,
            .waker = is_stopping ? NULL : &worker->link.waker,
        };

        lk_contact_begin(contact, sent_us);
        lk_outcome outcome = attempt(worker, context, &patience, error);
        lk_contact_end(contact, sent_us, error);
        if (outcome != LK_UNAVAILABLE && outcome != LK_CANCELLED) {
            lk_outage_end(outage);
            return outcome;
        }
        if (is_stopping || !lk_outage_outlast(outage, sent_us, until_us, 0, &worker->link.waker)) {
            return outcome;
        }
    }
}

/* The end of one claim. */
struct ending {
    const struct lk_finish *finish;
    bool is_followed; /* the next claim may come with it */
};

/* A worker that has to stop claims nothing more: then the patience has no waker. */
static lk_outcome attempt_finish(struct lk_worker *worker, void *context,
                                 const struct lk_patience *patience, lk_error *error) {
    struct ending *ending = context;
    const struct lk_command command = {.kind = LK_COMMAND_FINISH, .finish = *ending->finish};
    struct lk_decision decision;

    if (ending->is_followed && patience->waker != NULL) {
        ending->is_followed = false; /* a repetition only ends this claim */
        return lk_claim_follow(&worker->claiming, ending->finish, patience->until_us, error);
    }
    (void)lk_claim_decide(&worker->claiming, &command, patience, &decision);
    return lk_answer_end(&decision, error);
}

/* Ends the claim in the store. LK_OK, LK_LOST, or an outcome that leaves the end unknown. */
static lk_outcome finish(struct lk_worker *worker, const struct lk_finish *finish, int64_t until_us,
                         lk_error *error) {
    const struct lk_engine_ops *ops = worker->pool->store->engine->ops;
    struct ending ending = {.finish = finish,
                            .is_followed = worker->pool->source != NULL
                                           && finish->kind == LK_FINISH_DONE
                                           && ops->table->finish_and_take != NULL};

    return lk_worker_insist(worker, attempt_finish, &ending, until_us, error);
}

lk_work_step lk_worker_step_of(const struct lk_finish *finish, const lk_claim_info *claim,
                               uint32_t max_attempts, lk_outcome outcome) {
    if (outcome == LK_LOST) {
        return LK_WORK_LOST;
    }
    if (outcome != LK_OK) {
        return LK_WORK_UNKNOWN;
    }
    if (finish->kind == LK_FINISH_DONE) {
        return LK_WORK_DONE;
    }
    return finish->parks
                   || (!finish->is_uncounted && max_attempts != 0 && claim->attempt >= max_attempts)
               ? LK_WORK_PARKED
               : LK_WORK_RETRIED;
}

/* Whether the store keeps with an item why it failed. */
static bool keeps_failures(const struct lk_worker *worker) {
    return lk_store_check_can(worker->pool->store, LK_CAN_BATCHES, NULL) == LK_OK;
}

/* What the handler says of the item that it gives back. */
static void explain(const struct lk_worker *worker, const lk_claim_info *claim,
                    struct lk_finish *ending) {
    const lk_work_options *options = &worker->pool->options;
    lk_work_failure failure = {.size = sizeof failure};

    if (options->explain != NULL) {
        options->explain(options->context, claim, &failure);
    }
    if (failure.has_delay) {
        ending->delay_ms = lk_min(lk_max(failure.delay_ms, 0), LK_TTL_MAX_MS);
    }
    ending->is_uncounted = failure.uncounted;
    ending->parks = failure.parks;
    if (failure.parks) {
        ending->delay_ms = 0;
    }
    if (keeps_failures(worker)) {
        ending->failure = (struct lk_item_failure){
            .has_exit = failure.has_exit,
            .exit_code = failure.exit_code,
            .text = {failure.text, failure.text_size < LK_FAILURE_BYTES_MAX ? failure.text_size
                                                                            : LK_FAILURE_BYTES_MAX},
        };
    }
}

/* R17: the table's statement failed, so the item cannot be done: it is retried later. */
static lk_outcome give_back(struct lk_worker *worker, const lk_claim_info *claim,
                            struct lk_finish *ending, const char *reason, int64_t until_us) {
    ending->kind = LK_FINISH_RETRY;
    ending->delay_ms = retry_delay_ms(worker, claim->attempt);
    if (keeps_failures(worker)) {
        ending->failure = (struct lk_item_failure){.text = lk_slice_of(reason)};
    }
    return finish(worker, ending, until_us, NULL);
}

int64_t lk_worker_end_until(const lk_lease *lease) {
    return lk_max(lk_safe_until_until_us(&lease->safe_until),
                  lk_clock_now_us() + LK_CLOSE_BUDGET_US);
}

void lk_worker_tell_done(struct lk_worker *worker, const lk_claim_info *claim, lk_outcome outcome) {
    const struct lk_finish done = {.kind = LK_FINISH_DONE};
    lk_work_progress progress = {.claim = claim,
                                 .step = lk_worker_step_of(&done, claim, 0, outcome)};

    lk_pool_tell(worker->pool, &progress);
}

void lk_worker_end_claim(struct lk_worker *worker, const lk_claim_info *claim, lk_lease *lease,
                         int status) {
    struct lk_work_pool *pool = worker->pool;
    struct lk_finish ending = {
        .queue = pool->queue,
        .id = lk_slice_of(claim->id),
        .owner = lk_slice_of(worker->owner),
        .token = claim->token,
        .kind = status == 0 ? LK_FINISH_DONE : LK_FINISH_RETRY,
        .delay_ms =
            status == 0 || status == LK_WORK_GIVE_BACK ? 0 : retry_delay_ms(worker, claim->attempt),
        .is_uncounted = status == LK_WORK_GIVE_BACK,
    };
    int64_t until_us = lk_worker_end_until(lease);
    lk_work_progress progress = {.claim = claim};
    lk_error error;
    lk_outcome outcome;

    if (status == LK_WORK_ENDED) {
        lk_lease_abandon(lease);
        return;
    }

    if (status != 0 && status != LK_WORK_GIVE_BACK) {
        explain(worker, claim, &ending);
    }
    lk_lease_abandon(lease); /* not renewed any more: a renewal after the end would be LOST */
    outcome = finish(worker, &ending, until_us, &error);
    if (outcome == LK_INVALID && pool->source != NULL) {
        progress.text = error.text;
        outcome = give_back(worker, claim, &ending, error.text, until_us);
    }
    progress.step = lk_worker_step_of(&ending, claim, pool->options.max_attempts, outcome);
    progress.delay_ms = progress.step == LK_WORK_RETRIED ? ending.delay_ms : 0;
    lk_pool_tell(pool, &progress);
}

/* Adds the claim to the keep-alive, as a lease on QUEUE/ID. */
static void begin_lease(struct lk_worker *worker, const lk_claim_info *claim, lk_lease *lease,
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

void lk_worker_begin_claim(struct lk_worker *worker, const lk_claim_info *claim, lk_lease *lease,
                           int64_t sent_us) {
    lk_work_progress progress = {.step = LK_WORK_CLAIMED, .claim = claim};

    begin_lease(worker, claim, lease, sent_us);
    lk_pool_tell(worker->pool, &progress);
}

static void handle(struct lk_worker *worker, lk_claim_info *claim, lk_lease *lease,
                   int64_t sent_us) {
    const lk_work_options *options = &worker->pool->options;
    sigset_t own;

    lk_worker_begin_claim(worker, claim, lease, sent_us);
    (void)pthread_sigmask(SIG_SETMASK, &worker->pool->caller_signals, &own);
    int failed = options->handle(options->context, claim, lease);
    (void)pthread_sigmask(SIG_SETMASK, &own, NULL);
    lk_worker_end_claim(worker, claim, lease, failed);
    lk_claim_free(claim);
}

void lk_worker_fail(struct lk_worker *worker, lk_outcome outcome, const char *text) {
    lk_error error;

    lk_error_set(&error, outcome, "%s", text);
    lk_pool_conclude(worker->pool, &error);
}

/* ---- one worker ------------------------------------------------------------------------------ */

void *lk_worker_run(void *context) {
    struct lk_worker *worker = context;

    if (worker->pool->options.batch > 0) {
        lk_worker_run_batches(worker);
        return NULL;
    }
    for (;;) {
        lk_lease *lease = lk_lease_new(worker->owner, 1, LK_PATH_BYTES_MAX);
        lk_claim_info *claim = NULL;
        int64_t sent_us = 0;
        lk_error error;
        lk_outcome outcome;

        if (lease == NULL) {
            lk_worker_fail(worker, LK_INTERNAL, "no memory for a claim");
            lk_claim_free(worker->claiming.followed);
            return NULL;
        }
        lk_error_clear(&error, LK_OK);
        outcome = lk_claim_await(&worker->claiming, &claim, &sent_us, &error);
        if (outcome != LK_GRANTED) {
            error.outcome = outcome;
            lk_lease_discard(lease);
            lk_pool_conclude(worker->pool, &error);
            return NULL;
        }
        handle(worker, claim, lease, sent_us);
    }
}

void lk_worker_init(struct lk_worker *worker, struct lk_work_pool *pool) {
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
        .is_owner_made = true,
        .waker = &worker->link.waker,
        .late = &worker->link.late,
        .outage = lk_outage_new(pool->store->engine),
        .random = {lk_random_draw()},
        .end_us = LK_NEVER,
        .away_end_us = LK_NEVER,
        .patience_ms = options->patience_ms,
        .drains = options->drain,
        .outlasts_full = true,
        .leader = pool->leader,
        .member = pool->first_member + (uint32_t)(worker - pool->workers),
    };
}
