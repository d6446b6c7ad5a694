/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a pool: checked, and filled in. */
#include "base/error.h"
#include "base/minmax.h"
#include "client/checked.h"
#include "client/work/pool.h"

#define RETRY_MIN_MS INT64_C(1000)
#define RETRY_MAX_MS INT64_C(300000)

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
    options->retry_min_ms = options->retry_min_ms != 0 ? options->retry_min_ms : RETRY_MIN_MS;
    options->retry_max_ms = options->retry_max_ms != 0
                                ? options->retry_max_ms
                                : lk_max(RETRY_MAX_MS, options->retry_min_ms);
    return check_delays(options, error);
}
