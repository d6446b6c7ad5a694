/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases that are kept alive: lk_acquire() and the handle it gives.
 *
 * Whatever can fail for want of memory or threads is made before the store is asked, so that a
 * granted lease always has its handle.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/reply.h"
#include "keeper/answer.h"
#include "keeper/keepalive.h"
#include "keeper/wait.h"

static void lease_free(lk_lease *lease) {
    free(lease->parts);
    free(lease->text);
    free(lease);
}

/* Copies owner and paths into one block, which the lease's target points into. */
static bool copy_target(const struct lk_checked *checked, lk_lease *lease) {
    size_t owner_size = strlen(checked->owner);
    size_t size = owner_size + 1;
    char *next;

    for (size_t i = 0; i < checked->part_count; i++) {
        size += checked->parts[i].path.size;
    }
    lease->text = malloc(size);
    lease->parts = calloc(checked->part_count, sizeof *lease->parts);
    if (lease->text == NULL || lease->parts == NULL) {
        return false;
    }
    lease->owner = lease->text;
    memcpy(lease->owner, checked->owner, owner_size + 1);
    next = lease->text + owner_size + 1;
    for (size_t i = 0; i < checked->part_count; i++) {
        const struct lk_path *path = &checked->parts[i].path;

        lease->parts[i] = checked->parts[i];
        memcpy(next, path->bytes, path->size);
        lease->parts[i].path.bytes = next;
        next += path->size;
    }
    lease->target = (struct lk_target){
        .owner = {.bytes = lease->owner, .size = owner_size},
        .parts = lease->parts,
        .part_count = checked->part_count,
    };
    return true;
}

static lk_lease *lease_new(const struct lk_checked *checked) {
    lk_lease *lease = calloc(1, sizeof *lease);

    if (lease != NULL && !copy_target(checked, lease)) {
        lease_free(lease);
        lease = NULL;
    }
    return lease;
}

/* Fills in what the grant said, and puts the lease under the store's keep-alive. */
static void begin(lk_store *store, lk_lease *lease, const lk_result *answer, int64_t sent_us) {
    lease->keepalive = store->keepalive;
    lease->target.token = answer->token;
    lease->ttl_ms = answer->ttl_ms;
    lease->is_fixed = answer->fixed;
    lk_promise_make(&lease->promise, sent_us + answer->expires_in_ms * 1000);
    lease->renew_at_us = sent_us + answer->ttl_ms * 1000 / 3;
    lk_keepalive_hold(lease->keepalive);
    lk_keepalive_add(lease->keepalive, lease);
}

/* Everything that lk_acquire() needs before it asks. On failure nothing is left. */
static lk_outcome prepare(lk_store *store, const lk_request *request, struct lk_checked *checked,
                          lk_lease **ret_lease, lk_result **ret_named, lk_error *cause) {
    lk_lease *lease;
    lk_result *named;
    lk_outcome outcome = lk_store_check(store, cause);

    if (outcome == LK_OK) {
        outcome = lk_checked_ask(store, request, checked, cause);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    if (!lk_keepalive_start(store->keepalive)) {
        return lk_error_set(cause, LK_INTERNAL, "cannot start the thread that keeps leases alive");
    }
    lease = lease_new(checked);
    named = lease != NULL ? lk_answer_new(checked) : NULL;
    if (named == NULL) {
        if (lease != NULL) {
            lease_free(lease);
        }
        return lk_error_set(cause, LK_INTERNAL, "no memory for a lease");
    }
    *ret_lease = lease;
    *ret_named = named;
    return LK_OK;
}

lk_outcome lk_acquire(lk_store *store, const lk_request *request, lk_lease **ret_lease,
                      lk_result **ret_result, lk_error *error) {
    struct lk_checked checked;
    lk_result answer = {.outcome = LK_OK};
    lk_result *named = NULL;
    lk_lease *lease = NULL;
    int64_t sent_us;
    lk_error cause;

    if (prepare(store, request, &checked, &lease, &named, &cause) != LK_OK) {
        return lk_answer_refuse(&cause, ret_result, error);
    }
    if (lk_wait_ask(store, &checked, &answer, &sent_us) == LK_GRANTED) {
        begin(store, lease, &answer, sent_us);
        *ret_lease = lease;
    } else {
        lease_free(lease);
    }
    return lk_answer_give(named, &answer, ret_result, error);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Nothing is asked or freed by the keep-alive any more when this returns. */
static void end(lk_lease *lease) {
    struct lk_keepalive *keepalive = lease->keepalive;

    /* In a child of fork() the keep-alive and its mutex are the parent's. */
    if (lk_keepalive_is_mine(keepalive)) {
        lk_keepalive_drop(keepalive);
    }
    lease_free(lease);
}

static lk_outcome release_in_store(lk_lease *lease, lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    struct lk_engine *engine = lk_keepalive_begin_call(lease->keepalive);
    lk_result answer = {.outcome = LK_OK};
    lk_outcome outcome;

    if (engine == NULL) {
        return lk_error_set(error, LK_UNAVAILABLE,
                            "the store is closed: the lease ends at its deadline");
    }
    outcome = engine->ops->release(engine, &lease->target, &patience, &answer);
    lk_keepalive_end_call(lease->keepalive);
    lk_error_set(error, outcome, "%s", answer.error != NULL ? answer.error : "");
    lk_result_clear(&answer);
    return outcome;
}

lk_outcome lk_lease_release(lk_lease *lease, lk_error *error) {
    lk_outcome outcome;

    if (lk_keepalive_is_mine(lease->keepalive)) {
        lk_keepalive_remove(lease->keepalive, lease);
        outcome = release_in_store(lease, error);
    } else {
        outcome =
            lk_error_set(error, LK_INTERNAL, "the lease is the parent's: fork() ended it here");
    }
    end(lease);
    return outcome;
}

void lk_lease_abandon(lk_lease *lease) {
    if (lease == NULL) {
        return;
    }
    if (lk_keepalive_is_mine(lease->keepalive)) {
        lk_keepalive_remove(lease->keepalive, lease);
    }
    end(lease);
}

/* ---- looking at it --------------------------------------------------------------------------- */

uint64_t lk_lease_token(const lk_lease *lease) {
    return lease->target.token;
}

const char *lk_lease_owner(const lk_lease *lease) {
    return lease->owner;
}

bool lk_lease_is_lost(const lk_lease *lease) {
    /* Noticing that the time is over is no change that a caller could see. */
    struct lk_promise *promise = (struct lk_promise *)&lease->promise;

    /* In a child of fork() nothing keeps it alive. */
    return lk_promise_is_over(promise) || !lk_keepalive_is_mine(lease->keepalive);
}

int64_t lk_lease_remaining_ms(const lk_lease *lease) {
    int64_t until_us = lk_promise_until_us(&lease->promise);
    int64_t left_us = until_us != LK_PROMISE_OVER ? until_us - lk_clock_now_us() : 0;

    return left_us > 0 && !lk_lease_is_lost(lease) ? left_us / 1000 : 0;
}

void lk_lease_on_lost(lk_lease *lease, void (*callback)(void *context, lk_lease *lease),
                      void *context) {
    if (lk_keepalive_is_mine(lease->keepalive)) {
        lk_keepalive_watch(lease->keepalive, lease, callback, context);
    }
}
