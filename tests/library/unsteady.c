/* SPDX-License-Identifier: Apache-2.0 */
/* A store that can be told to go away. */
#include "unsteady.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "client/keepalive.h"
#include "client/store.h"
#include "engine/memory/memory.h"
#include "engine/reply/reply.h"
#include "support.h"

static struct unsteady *of(struct lk_engine *engine) {
    return (struct unsteady *)engine;
}

/* Sleeps until the patience ends or its waker is thrown. */
static lk_outcome hang(const struct lk_patience *patience) {
    while (lk_clock_now_us() < patience->until_us) {
        int64_t left_us = patience->until_us - lk_clock_now_us();

        if (patience->waker == NULL) {
            wait_until_ms(patience->until_us / 1000 + 1);
        } else if (lk_waker_sleep(patience->waker, left_us)) {
            return LK_CANCELLED;
        }
    }
    return LK_UNAVAILABLE;
}

/* What the mood makes of a call before it is done. LK_OK: do it. */
static lk_outcome before(struct unsteady *unsteady, const struct lk_patience *patience) {
    atomic_fetch_add(&unsteady->calls, 1);
    switch ((enum unsteady_mood)atomic_load(&unsteady->mood)) {
    case REFUSING:
        return LK_UNAVAILABLE;
    case HANGING:
        return hang(patience);
    case STEADY:
    case LATE:
    case DEAF:
        break;
    }
    return LK_OK;
}

/* What the mood makes of the answer. */
static lk_outcome after(struct unsteady *unsteady, struct lk_decision *decision) {
    switch ((enum unsteady_mood)atomic_load(&unsteady->mood)) {
    case LATE:
        wait_until_ms(atomic_load(&unsteady->answer_at_ms));
        break;
    case DEAF:
        return lk_decision_fail(decision, LK_UNAVAILABLE, "the answer is lost");
    case STEADY:
    case REFUSING:
    case HANGING:
        break;
    }
    return decision->error.outcome;
}

static bool is_hung(const struct unsteady *unsteady, const struct lk_renew *renew) {
    const struct lk_path *path = &renew->target.parts[0].path;

    return unsteady->hung != NULL
           && lk_slice_equal((struct lk_slice){path->bytes, path->size},
                             lk_slice_of(unsteady->hung));
}

/* What is peculiar to renewals. LK_OK: renew. */
static lk_outcome before_renewal(struct unsteady *unsteady, const struct lk_renew *renew,
                                 const struct lk_patience *patience) {
    int trip_ms = atomic_load(&unsteady->trip_ms);
    lk_outcome outcome = is_hung(unsteady, renew) ? hang(patience) : LK_OK;

    if (outcome == LK_OK && trip_ms > 0) {
        wait_until_ms(now_ms() + trip_ms);
    }
    return outcome;
}

static lk_outcome decide(struct lk_engine *engine, const struct lk_command *command,
                         const struct lk_patience *patience, struct lk_decision *ret_decision) {
    struct unsteady *unsteady = of(engine);
    bool is_steady = command->kind == LK_COMMAND_BREAK || command->kind == LK_COMMAND_PUSH;
    lk_outcome outcome = is_steady ? LK_OK : before(unsteady, patience);

    if (outcome == LK_OK && command->kind == LK_COMMAND_RENEW) {
        outcome = before_renewal(unsteady, &command->renew, patience);
    }
    if (outcome != LK_OK) {
        lk_decision_begin(ret_decision, command);
        return lk_error_set(&ret_decision->error, outcome, "away");
    }
    outcome = unsteady->inner->ops->decide(unsteady->inner, command, patience, ret_decision);
    atomic_fetch_add(&unsteady->renewals, command->kind == LK_COMMAND_RENEW && outcome == LK_OK);
    return is_steady ? outcome : after(unsteady, ret_decision);
}

static lk_outcome await(struct lk_engine *engine, const struct lk_wait_cursor *cursor,
                        int64_t until_us, struct lk_waker *waker) {
    struct lk_engine *inner = of(engine)->inner;

    return inner->ops->await(inner, cursor, until_us, waker);
}

static lk_outcome list(struct lk_engine *engine, const struct lk_path *prefix,
                       const struct lk_patience *patience, lk_listing **ret_listing,
                       struct lk_error *error) {
    struct lk_engine *inner = of(engine)->inner;

    return inner->ops->list(inner, prefix, patience, ret_listing, error);
}

static lk_outcome audit(struct lk_engine *engine, const struct lk_path *prefix,
                        const struct lk_patience *patience, lk_audit **ret_audit,
                        struct lk_error *error) {
    struct lk_engine *inner = of(engine)->inner;

    return inner->ops->audit(inner, prefix, patience, ret_audit, error);
}

static lk_outcome stats(struct lk_engine *engine, const struct lk_path *queue,
                        enum lk_stats_depth depth, const struct lk_patience *patience,
                        lk_queue_stats *ret_stats, lk_error *error) {
    struct lk_engine *inner = of(engine)->inner;

    return inner->ops->stats(inner, queue, depth, patience, ret_stats, error);
}

static void close_unsteady(struct lk_engine *engine) {
    struct lk_engine *inner = of(engine)->inner;

    inner->ops->close(inner);
    free(engine);
}

static const struct lk_engine_ops unsteady_ops = {
    .scheme = "unsteady",
    .title = "for tests",
    .capabilities = LK_CAN_QUEUE | LK_CAN_ROOTS | LK_CAN_DEADLOCK | LK_CAN_EXCLUSIVE,
    .close = close_unsteady,
    .decide = decide,
    .await = await,
    .list = list,
    .audit = audit,
    .stats = stats,
};

lk_store *open_unsteady(struct unsteady **ret_unsteady) {
    const struct lk_memory_options options = {.time = NULL};
    struct unsteady *unsteady = calloc(1, sizeof *unsteady);
    lk_store *store = calloc(1, sizeof *store);

    assert_non_null(unsteady);
    assert_non_null(store);
    unsteady->engine.ops = &unsteady_ops;
    assert_int_equal(lk_memory_open(lk_slice_of(""), &options, &unsteady->inner, NULL), LK_OK);
    store->engine = &unsteady->engine;
    store->url = lk_text_copy(lk_slice_of("unsteady:"));
    store->opened_by = getpid();
    store->keepalive = lk_keepalive_new(store->engine);
    assert_non_null(store->keepalive);
    *ret_unsteady = unsteady;
    return store;
}

void be(struct unsteady *unsteady, enum unsteady_mood mood) {
    atomic_store(&unsteady->mood, mood);
}

int calls_of(struct unsteady *unsteady) {
    return atomic_load(&unsteady->calls);
}

void wait_for_renewals(struct unsteady *unsteady, int count) {
    int64_t bound_ms = now_ms() + BOUND_MS;

    while (atomic_load(&unsteady->renewals) < count) {
        assert_true(now_ms() < bound_ms);
        wait_until_ms(now_ms() + 1);
    }
}

void wait_for_calls(struct unsteady *unsteady, int count) {
    int64_t bound_ms = now_ms() + BOUND_MS;

    while (calls_of(unsteady) < count) {
        assert_true(now_ms() < bound_ms);
        wait_until_ms(now_ms() + 1);
    }
}
