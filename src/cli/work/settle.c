/* SPDX-License-Identifier: Apache-2.0 */
/* The calls, each repeated while its outcome is unknown and the claim may be held. */
#include "cli/work/settle.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/text.h"
#include "client/work/worker.h"

/* As for the items that lk_work() itself gives back. */
static int64_t delay_of(const struct lk_pool_options *options, const lk_claim_info *claim,
                        const struct lk_pool_report *report) {
    int64_t min_ms = options->backoff_ms;
    int64_t max_ms = 0;

    if (report->delay_ms >= 0) {
        return report->delay_ms;
    }
    lk_worker_delays_complete(&min_ms, &max_ms);
    return lk_backoff_delay(min_ms, max_ms, claim->attempt - 1);
}

static lk_outcome end_as_done(lk_store *store, const struct lk_pool_options *options,
                              const lk_claim_info *claim, const struct lk_pool_report *report,
                              lk_error *error) {
    const lk_done_request done = {.size = sizeof done,
                                  .queue = claim->queue,
                                  .id = claim->id,
                                  .owner = claim->owner,
                                  .token = claim->token,
                                  .result = report->result,
                                  .result_size = report->result_size,
                                  .keep_ms = report->keep_ms};

    return options->table != NULL ? lk_done_row(store, claim->queue, options->table, claim->id,
                                                claim->owner, claim->token, error)
                                  : lk_done_item(store, &done, error);
}

/* A claim that is not held for certain any more is asked about once. */
static bool may_repeat(lk_outcome outcome, const lk_lease *lease) {
    return outcome == LK_UNAVAILABLE && lk_lease_remaining_ms(lease) > 0;
}

static lk_outcome give_back(lk_store *store, const lk_work_item *item,
                            const struct lk_pool_report *report, int64_t delay_ms,
                            lk_error *error) {
    const lk_claim_info *claim = item->claim;
    lk_retry_request retry = {.size = sizeof retry,
                              .queue = claim->queue,
                              .id = claim->id,
                              .owner = claim->owner,
                              .token = claim->token,
                              .delay_ms = delay_ms,
                              .error = report->text,
                              .error_size = report->text_size,
                              .uncounted = report->is_uncounted,
                              .parks = report->parks};
    lk_outcome outcome;

    do {
        outcome = lk_retry_failed(store, &retry, error);
        if (outcome == LK_UNSUPPORTED) { /* it keeps no reasons */
            retry.error_size = 0;
            outcome = lk_retry_failed(store, &retry, error);
        }
    } while (may_repeat(outcome, item->lease));
    return outcome;
}

void lk_pool_settle(lk_store *store, const struct lk_pool_options *options,
                    const lk_work_item *item, const struct lk_pool_report *report,
                    lk_work_progress *ret_progress, char text[LK_ERROR_TEXT_MAX]) {
    const lk_claim_info *claim = item->claim;
    struct lk_pool_report failed = *report;
    struct lk_finish finish = {
        .kind = LK_FINISH_DONE, .is_uncounted = report->is_uncounted, .parks = report->parks};
    lk_outcome outcome = LK_OK;
    lk_error error;

    *ret_progress = (lk_work_progress){.claim = claim};
    if (report->kind == LK_POOL_REPORT_DONE) {
        do {
            outcome = end_as_done(store, options, claim, report, &error);
        } while (may_repeat(outcome, item->lease));
        if (outcome != LK_INVALID) {
            ret_progress->step = lk_worker_step_of(&finish, claim, options->max_attempts, outcome);
            return;
        }
        /* R17: the table's statement failed. */
        _Static_assert(LK_ERROR_TEXT_MAX <= sizeof failed.text, "it is kept whole");
        failed.text_size = strlen(error.text);
        memcpy(failed.text, error.text, failed.text_size);
        ret_progress->text = strcpy(text, error.text);
    }
    ret_progress->delay_ms = delay_of(options, claim, &failed);
    outcome = give_back(store, item, &failed, ret_progress->delay_ms, &error);
    finish.kind = LK_FINISH_RETRY;
    ret_progress->step = lk_worker_step_of(&finish, claim, options->max_attempts, outcome);
}

bool lk_pool_settle_done(lk_store *store, const lk_work_item *const *items, size_t count) {
    const lk_claim_info *first = items[0]->claim;
    const char *ids[LK_CLAIMS_MAX];

    for (size_t i = 0; i < count; i++) {
        ids[i] = items[i]->claim->id;
    }
    return lk_done_many(store, first->queue, ids, count, first->owner, first->token, NULL, NULL)
           == LK_OK;
}

/* Whether the claim is still there, revoked perhaps; also if the store does not say. */
static bool may_be_there(lk_store *store, const lk_claim_info *claim, const char *path) {
    lk_listing *listing = NULL;
    bool is_there = false;

    if (lk_show(store, path, &listing, NULL) != LK_OK) {
        return true;
    }
    for (size_t i = 0; i < listing->count; i++) {
        is_there = is_there || listing->entries[i].token == claim->token;
    }
    lk_listing_free(listing);
    return is_there;
}

lk_outcome lk_pool_give_back(lk_store *store, const lk_claim_info *claim) {
    const lk_retry_request retry = {.size = sizeof retry,
                                    .queue = claim->queue,
                                    .id = claim->id,
                                    .owner = claim->owner,
                                    .token = claim->token,
                                    .uncounted = true};

    return lk_retry_failed(store, &retry, NULL);
}

/* Where more are in the queue, they are not read for the sake of one. */
enum { ITEMS_READ_MAX = 10000 };

static bool is_long(const lk_queue_stats *counts) {
    return counts->ready_now + counts->delayed_now + counts->claimed_now + counts->parked_now
           > ITEMS_READ_MAX;
}

/*
 * A break and a cancel leave the same record, but a cancelled item is gone, or is so when its claim
 * ends. Of an item in a long queue a cancel is presumed: a break gives the item to another worker,
 * which few users want.
 */
bool lk_pool_was_cancelled(lk_store *store, const lk_claim_info *claim) {
    lk_item_list *list = NULL;
    lk_queue_stats counts;
    bool is_there = false;

    if (lk_stats(store, claim->queue, &counts, NULL) != LK_OK) {
        return false;
    }
    if (is_long(&counts)) {
        return true;
    }
    if (lk_items(store, claim->queue, &list, NULL) != LK_OK) {
        return false;
    }
    for (size_t i = 0; i < list->count; i++) {
        is_there = is_there
                   || (strcmp(list->items[i].id, claim->id) == 0
                       && strcmp(list->items[i].state, "cancelled") != 0);
    }
    lk_item_list_free(list);
    return !is_there;
}

bool lk_pool_was_ended(lk_store *store, const lk_claim_info *claim) {
    char *path = lk_text_make("%s/%s", claim->queue, claim->id);
    /* The claim is gone, so this changes nothing. It is OK if its token has ended it (R3). */
    bool was_ended = path != NULL && !may_be_there(store, claim, path)
                     && lk_pool_give_back(store, claim) == LK_OK;

    free(path);
    return was_ended;
}
