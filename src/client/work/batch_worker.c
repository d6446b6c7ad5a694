/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker that claims several items in one decision, has them handled in one call, each under a
 * lease of its own, and ends those that are done in one decision.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/minmax.h"
#include "client/keepalive.h"
#include "client/work/worker.h"
#include "engine/reply/reply.h"

/* What a worker has in hand; room for pool->options.batch of each. */
struct batch {
    lk_claim_info **claims;
    lk_lease **leases;
    lk_work_item *items;
    size_t count;
    struct lk_command *dones; /* the ends of those that are done, and their answers */
    size_t *done_items;       /* of each: which item it is */
    size_t done_count;
    struct lk_series series;
};

static bool begin(struct lk_worker *worker, struct batch *batch) {
    size_t max = worker->pool->options.batch;

    *batch = (struct batch){
        .claims = calloc(max, sizeof *batch->claims),
        .leases = calloc(max, sizeof *batch->leases),
        .items = calloc(max, sizeof *batch->items),
        .dones = calloc(max, sizeof *batch->dones),
        .done_items = calloc(max, sizeof *batch->done_items),
        .series = {.answers = calloc(max, sizeof *batch->series.answers)},
    };
    return batch->claims != NULL && batch->leases != NULL && batch->items != NULL
           && batch->dones != NULL && batch->done_items != NULL && batch->series.answers != NULL
           && lk_claim_begin_series(&worker->claiming, max);
}

static void end(struct lk_worker *worker, struct batch *batch) {
    lk_claim_end_series(&worker->claiming);
    free(batch->claims);
    free(batch->leases);
    free(batch->items);
    free(batch->dones);
    free(batch->done_items);
    free(batch->series.answers);
}

/* ---- leases ---------------------------------------------------------------------------------- */

static void discard_leases(struct lk_worker *worker, struct batch *batch) {
    for (size_t i = 0; i < worker->pool->options.batch; i++) {
        if (batch->leases[i] != NULL) {
            lk_lease_discard(batch->leases[i]);
            batch->leases[i] = NULL;
        }
    }
}

/* Makes those that are missing, before anything is claimed. false: memory is exhausted. */
static bool make_leases(struct lk_worker *worker, struct batch *batch) {
    for (size_t i = 0; i < worker->pool->options.batch; i++) {
        if (batch->leases[i] == NULL) {
            batch->leases[i] = lk_lease_new(worker->owner, 1, LK_PATH_BYTES_MAX);
        }
        if (batch->leases[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* ---- the ends of claims ---------------------------------------------------------------------- */

static lk_outcome attempt_dones(struct lk_worker *worker, void *context,
                                const struct lk_patience *patience, lk_error *error) {
    struct lk_engine *engine = worker->pool->store->engine;
    struct batch *batch = context;
    lk_outcome outcome = engine->ops->batches->decide_many(engine, batch->dones, batch->done_count,
                                                           patience, &batch->series);

    return lk_error_set(error, outcome, "%s", batch->series.error.text);
}

static void add_done(struct lk_worker *worker, struct batch *batch, size_t at) {
    const lk_claim_info *claim = batch->claims[at];

    batch->done_items[batch->done_count] = at;
    batch->dones[batch->done_count++] = (struct lk_command){
        .kind = LK_COMMAND_FINISH,
        .finish = {.queue = worker->pool->queue,
                   .id = lk_slice_of(claim->id),
                   .owner = lk_slice_of(worker->owner),
                   .token = claim->token,
                   .kind = LK_FINISH_DONE},
    };
}

/* Those that are done, in one decision; their leases are not renewed any more. */
static void end_done(struct lk_worker *worker, struct batch *batch) {
    int64_t until_us = INT64_MAX;
    lk_error error;
    lk_outcome outcome;

    batch->done_count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->items[i].status == 0) {
            until_us = lk_min(until_us, lk_worker_end_until(batch->items[i].lease));
            lk_lease_abandon(batch->items[i].lease);
            add_done(worker, batch, i);
        }
    }
    if (batch->done_count == 0) {
        return;
    }
    outcome = lk_worker_insist(worker, attempt_dones, batch, until_us, &error);
    for (size_t i = 0; i < batch->done_count; i++) {
        lk_worker_tell_done(worker, batch->claims[batch->done_items[i]],
                            outcome == LK_OK ? batch->series.answers[i].outcome : outcome);
    }
    lk_series_done(&batch->series);
}

static void end_claims(struct lk_worker *worker, struct batch *batch) {
    end_done(worker, batch);
    for (size_t i = 0; i < batch->count; i++) {
        const lk_work_item *item = &batch->items[i];

        if (item->status != 0) {
            lk_worker_end_claim(worker, item->claim, item->lease, item->status);
        }
        lk_claim_free(batch->claims[i]);
    }
}

/* ---- one batch ------------------------------------------------------------------------------- */

/* Takes over the claims of the series behind the first one. */
static void collect_claims(struct lk_worker *worker, struct batch *batch) {
    const struct lk_series *series = worker->claiming.series;

    batch->count = 1;
    for (size_t i = 1; i < series->count; i++) {
        if (series->answers[i].claim != NULL) {
            batch->claims[batch->count++] = series->answers[i].claim;
            series->answers[i].claim = NULL;
        }
    }
}

static void handle(struct lk_worker *worker, struct batch *batch, int64_t sent_us) {
    const lk_work_options *options = &worker->pool->options;
    sigset_t own;

    for (size_t i = 0; i < batch->count; i++) {
        batch->items[i] = (lk_work_item){.claim = batch->claims[i], .lease = batch->leases[i]};
        batch->leases[i] = NULL; /* the end of its claim frees it */
        lk_worker_begin_claim(worker, batch->items[i].claim, batch->items[i].lease, sent_us);
    }
    (void)pthread_sigmask(SIG_SETMASK, &worker->pool->caller_signals, &own);
    options->handle_batch(options->context, batch->items, batch->count);
    (void)pthread_sigmask(SIG_SETMASK, &own, NULL);
    end_claims(worker, batch);
}

static void run(struct lk_worker *worker, struct batch *batch) {
    for (;;) {
        int64_t sent_us = 0;
        lk_error error;
        lk_outcome outcome;

        if (!make_leases(worker, batch)) {
            lk_worker_fail(worker, LK_INTERNAL, "no memory for claims");
            return;
        }
        lk_error_clear(&error, LK_OK);
        outcome = lk_claim_await(&worker->claiming, &batch->claims[0], &sent_us, &error);
        if (outcome != LK_GRANTED) {
            lk_worker_fail(worker, outcome, error.text);
            return;
        }
        collect_claims(worker, batch);
        handle(worker, batch, sent_us);
    }
}

void lk_worker_run_batches(struct lk_worker *worker) {
    struct batch batch;

    if (begin(worker, &batch)) {
        run(worker, &batch);
        discard_leases(worker, &batch);
    } else {
        lk_worker_fail(worker, LK_INTERNAL, "no memory for a batch");
    }
    end(worker, &batch);
}
