/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Following events (R21): ask for what has happened, hand it out one by one, sleep until there may
 * be more, ask again. Each question marks the store as watched for a while, so none is far away.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/text.h"
#include "client/cancel.h"
#include "client/checked.h"
#include "client/wait.h"
#include "engine/event.h"

enum { BATCH_MAX = 256 };

struct lk_watch {
    lk_store *store;
    char *prefix_text;
    struct lk_path prefix; /* in prefix_text */
    struct lk_event_query query;
    struct lk_event_page *batch; /* NULL: nothing was asked for yet */
    size_t handed_out;           /* of it */
    int64_t asked_us;            /* when the store was marked last */
};

static lk_outcome ask(lk_watch *watch, const struct lk_patience *patience, lk_error *error) {
    struct lk_engine *engine = watch->store->engine;
    struct lk_event_page *batch;
    lk_outcome outcome = engine->ops->events->read(engine, &watch->query, patience, &batch, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_event_page_free(watch->batch);
    watch->batch = batch;
    watch->handed_out = 0;
    watch->query.after = batch->last;
    watch->asked_us = lk_clock_now_us();
    return LK_OK;
}

static lk_outcome fill(lk_watch *watch, lk_store *store, const lk_watch_options *options,
                       lk_error *error) {
    lk_outcome outcome = LK_OK;

    watch->store = store;
    watch->query = (struct lk_event_query){
        .after = options->after != 0 ? options->after : LK_EVENTS_FROM_NOW, .max = BATCH_MAX};
    if (options->prefix != NULL) {
        watch->prefix_text = lk_text_copy(lk_slice_of(options->prefix));
        if (watch->prefix_text == NULL) {
            return lk_error_set(error, LK_INTERNAL, "no memory for a watch");
        }
        outcome = lk_path_parse(lk_slice_of(watch->prefix_text), &watch->prefix, error);
        watch->query.prefix = &watch->prefix;
    }
    return outcome;
}

lk_outcome lk_watch_open(lk_store *store, const lk_watch_options *options, lk_watch **ret_watch,
                         lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    lk_watch_options known;
    lk_watch *watch;
    lk_outcome outcome = lk_store_check_can(store, LK_CAN_EVENTS, error);

    if (outcome == LK_OK) {
        outcome = lk_checked_copy(&known, sizeof known, options, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    lk_error_clear(error, LK_OK);
    watch = calloc(1, sizeof *watch);
    if (watch == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for a watch");
    }
    outcome = fill(watch, store, &known, error);
    if (outcome == LK_OK) {
        outcome = ask(watch, &patience, error);
    }
    if (outcome != LK_OK) {
        lk_watch_close(watch);
        return outcome;
    }
    *ret_watch = watch;
    return LK_OK;
}

void lk_watch_close(lk_watch *watch) {
    if (watch != NULL) {
        lk_event_page_free(watch->batch);
        free(watch->prefix_text);
        free(watch);
    }
}

uint64_t lk_watch_position(const lk_watch *watch) {
    const struct lk_event_page *batch = watch->batch;

    if (watch->handed_out == batch->count) {
        return batch->last;
    }
    return watch->handed_out > 0 ? batch->events[watch->handed_out - 1].sequence
                                 : batch->events[0].sequence - 1;
}

static bool has_event(const lk_watch *watch) {
    return watch->handed_out < watch->batch->count;
}

/* Asks, and sleeps while there is nothing, until `end_us`. LK_OK: there is an event. */
static lk_outcome await(lk_watch *watch, int64_t end_us, struct lk_waker *waker, lk_error *error) {
    struct lk_engine *engine = watch->store->engine;
    lk_outcome outcome = LK_OK;

    while (outcome == LK_OK && !has_event(watch)) {
        const struct lk_patience patience = {.until_us = lk_wait_patience_until(0), .waker = waker};

        watch->query.until_us =
            lk_min(end_us, lk_clock_now_us() + LK_WATCHED_US - LK_WATCHED_LEAST_US);
        outcome = ask(watch, &patience, error);
        watch->query.until_us = 0;
        if (outcome != LK_OK || has_event(watch) || watch->batch->has_more) {
            continue;
        }
        if (lk_clock_now_us() >= end_us) {
            return lk_error_clear(error, LK_TIMEOUT);
        }
        outcome = engine->ops->events->await(
            engine, watch->query.after,
            lk_min(end_us, watch->asked_us + LK_WATCHED_US - LK_WATCHED_LEAST_US), waker);
        (void)lk_error_clear(error, outcome);
    }
    return outcome;
}

static lk_outcome await_or_cancel(lk_watch *watch, int64_t end_us, lk_cancel *cancel,
                                  lk_error *error) {
    struct lk_cancel_link link;
    lk_outcome outcome = lk_cancel_join(cancel, &link, error);

    if (outcome == LK_OK) {
        outcome = await(watch, end_us, &link.waker, error);
        lk_cancel_leave(&link);
    }
    return outcome;
}

lk_outcome lk_watch_next(lk_watch *watch, int64_t wait_ms, lk_cancel *cancel,
                         const lk_watch_event **ret_event, lk_error *error) {
    lk_outcome outcome = lk_store_check(watch->store, error);

    if (outcome == LK_OK && wait_ms < 0) {
        outcome = lk_error_set(error, LK_INVALID, "a wait is not negative");
    }
    if (outcome == LK_OK) {
        lk_error_clear(error, LK_OK);
        outcome = await_or_cancel(watch, lk_wait_instant_after(wait_ms), cancel, error);
    }
    if (outcome == LK_OK) {
        *ret_event = &watch->batch->events[watch->handed_out++];
    }
    return outcome;
}
