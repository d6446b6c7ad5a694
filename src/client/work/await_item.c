/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One item, and the wait for its end (R16, "Results"). Stores do not tell who waits for an item, so
 * the wait looks again and again, more seldom the longer it lasts: a look reads one row.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "client/answer.h"
#include "client/cancel.h"
#include "client/checked.h"
#include "client/wait.h"

#define PAUSE_FIRST_US INT64_C(10000)
#define PAUSE_MAX_US INT64_C(500000)

/* The item that is looked for. It borrows the caller's texts. */
struct looking {
    lk_store *store;
    struct lk_path queue;
    struct lk_item_query query;
};

static lk_outcome begin(struct looking *looking, lk_store *store, const char *queue, const char *id,
                        lk_error *error) {
    struct lk_item_path item;
    lk_outcome outcome = lk_checked_path(store, LK_CAN_WORK, queue, &looking->queue, error);

    looking->store = store;
    looking->query = (struct lk_item_query){.queue = &looking->queue, .id = lk_slice_of(id)};
    return outcome == LK_OK ? lk_item_path_make(&looking->queue, looking->query.id, &item, error)
                            : outcome;
}

/* LK_OK with a list of one item, or LK_NONE. */
static lk_outcome look(const struct looking *looking, const struct lk_patience *patience,
                       lk_item_list **ret_list, lk_error *error) {
    struct lk_engine *engine = looking->store->engine;
    lk_item_list *list = NULL;
    lk_outcome outcome = engine->ops->items(engine, &looking->query, patience, &list, error);

    if (outcome == LK_OK && list->count == 0) {
        outcome = lk_error_set(error, LK_NONE, "the queue has no such item");
    }
    if (outcome == LK_OK) {
        *ret_list = list;
    } else {
        lk_item_list_free(list);
    }
    return outcome;
}

lk_outcome lk_item_get(lk_store *store, const char *queue, const char *id, lk_item_list **ret_list,
                       lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    struct looking looking;
    lk_outcome outcome = begin(&looking, store, queue, id, error);

    return outcome == LK_OK ? look(&looking, &patience, ret_list, error) : outcome;
}

static bool has_ended(const lk_item_info *item) {
    return strcmp(item->state, "done") == 0 || strcmp(item->state, "parked") == 0;
}

/* Looks until the item has ended, the time is over, or the waker is thrown. */
static lk_outcome await(const struct looking *looking, int64_t end_us, struct lk_waker *waker,
                        lk_item_list **ret_list, lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_max(end_us, lk_wait_patience_until(0)),
                                         .waker = waker};
    int64_t pause_us = PAUSE_FIRST_US;

    for (;;) {
        lk_item_list *list = NULL;
        lk_outcome outcome = look(looking, &patience, &list, error);
        int64_t left_us;

        if (outcome != LK_OK || has_ended(&list->items[0])) {
            *ret_list = list;
            return outcome;
        }
        lk_item_list_free(list);
        left_us = end_us - lk_clock_now_us();
        if (left_us <= 0) {
            return lk_error_set(error, LK_TIMEOUT, "the item is neither done nor parked so far");
        }
        if (lk_waker_sleep(waker, lk_min(pause_us, left_us))) {
            return lk_error_set(error, LK_CANCELLED, "the wait was cancelled");
        }
        pause_us = lk_min(pause_us * 3 / 2, PAUSE_MAX_US);
    }
}

lk_outcome lk_item_wait(lk_store *store, const char *queue, const char *id, int64_t wait_ms,
                        lk_cancel *cancel, lk_item_list **ret_list, lk_error *error) {
    struct lk_cancel_link link;
    struct looking looking;
    lk_item_list *list = NULL;
    lk_outcome outcome = begin(&looking, store, queue, id, error);

    if (outcome == LK_OK && wait_ms < 0 && wait_ms != LK_FOREVER) {
        outcome = lk_error_set(error, LK_INVALID, "a wait is not negative");
    }
    if (outcome == LK_OK) {
        outcome = lk_cancel_join(cancel, &link, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = await(&looking, wait_ms != 0 ? lk_wait_instant_after(wait_ms) : 0, &link.waker, &list,
                    error);
    lk_cancel_leave(&link);
    if (outcome == LK_OK) {
        *ret_list = list;
    }
    return outcome;
}
