/* SPDX-License-Identifier: Apache-2.0 */
/* The engine in memory, wrapped in one that fails on request. */
#include "faulty_store.h"

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

enum { DISTANCE_MS = 10 };

static struct faulty *of(struct lk_engine *engine) {
    return (struct faulty *)engine;
}

/* Sleeps until the time budget ends or the waker is triggered. */
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

/* Applies the fault before a call reaches the inner engine. LK_OK: pass the call on. */
static lk_outcome before(struct faulty *faulty, const struct lk_patience *patience) {
    atomic_fetch_add(&faulty->calls, 1);
    switch ((enum fault)atomic_load(&faulty->fault)) {
    case REFUSING:
        return LK_UNAVAILABLE;
    case HANGING:
        return hang(patience);
    case DISTANT:
    case LOST_AFAR:
    case LOST_AFAR_THEN_AWAY:
        if (patience->until_us - lk_clock_now_us() < DISTANCE_MS * INT64_C(1000)) {
            return hang(patience);
        }
        wait_until_ms(now_ms() + DISTANCE_MS);
        break;
    case NO_FAULT:
    case LATE:
    case ANSWER_LOST:
        break;
    }
    return LK_OK;
}

/* Applies the fault to the answer. */
static lk_outcome after(struct faulty *faulty, struct lk_decision *decision) {
    switch ((enum fault)atomic_load(&faulty->fault)) {
    case LATE:
        wait_until_ms(atomic_load(&faulty->answer_at_ms));
        break;
    case LOST_AFAR_THEN_AWAY:
        set_fault(faulty, REFUSING);
        return lk_decision_fail(decision, LK_UNAVAILABLE, "the answer is lost");
    case ANSWER_LOST:
    case LOST_AFAR:
        return lk_decision_fail(decision, LK_UNAVAILABLE, "the answer is lost");
    case NO_FAULT:
    case REFUSING:
    case DISTANT:
    case HANGING:
        break;
    }
    return decision->error.outcome;
}

static bool is_hung(const struct faulty *faulty, const struct lk_renew *renew) {
    const struct lk_path *path = &renew->target.parts[0].path;

    return faulty->hung != NULL
           && lk_slice_equal((struct lk_slice){path->bytes, path->size}, lk_slice_of(faulty->hung));
}

/* Applies the faults of renewals alone. LK_OK: renew. */
static lk_outcome before_renewal(struct faulty *faulty, const struct lk_renew *renew,
                                 const struct lk_patience *patience) {
    int trip_ms = atomic_load(&faulty->trip_ms);
    lk_outcome outcome = is_hung(faulty, renew) ? hang(patience) : LK_OK;

    if (outcome == LK_OK && trip_ms > 0) {
        wait_until_ms(now_ms() + trip_ms);
    }
    return outcome;
}

static lk_outcome decide(struct lk_engine *engine, const struct lk_command *command,
                         const struct lk_patience *patience, struct lk_decision *ret_decision) {
    struct faulty *faulty = of(engine);
    bool is_exempt = command->kind == LK_COMMAND_BREAK || command->kind == LK_COMMAND_PUSH;
    lk_outcome outcome;

    if (command->kind == LK_COMMAND_RELEASE) {
        atomic_store(&faulty->release_us, patience->until_us - lk_clock_now_us());
    }
    outcome = is_exempt ? LK_OK : before(faulty, patience);
    if (outcome == LK_OK && command->kind == LK_COMMAND_RENEW) {
        outcome = before_renewal(faulty, &command->renew, patience);
    }
    if (outcome != LK_OK) {
        lk_decision_begin(ret_decision, command);
        return lk_error_set(&ret_decision->error, outcome, "away");
    }
    if (atomic_load(&faulty->says_sent)) {
        lk_patience_note_sent(patience);
    }
    outcome = faulty->inner->ops->decide(faulty->inner, command, patience, ret_decision);
    atomic_fetch_add(&faulty->renewals, command->kind == LK_COMMAND_RENEW && outcome == LK_OK);
    return is_exempt ? outcome : after(faulty, ret_decision);
}

static lk_outcome decide_many(struct lk_engine *engine, const struct lk_command *commands,
                              size_t count, const struct lk_patience *patience,
                              struct lk_series *series) {
    struct faulty *faulty = of(engine);
    lk_outcome outcome = before(faulty, patience);

    if (outcome != LK_OK) {
        lk_series_begin(series, commands, count);
        return lk_error_set(&series->error, outcome, "away");
    }
    outcome =
        faulty->inner->ops->batches->decide_many(faulty->inner, commands, count, patience, series);
    return atomic_load(&faulty->fault) == ANSWER_LOST
               ? lk_series_fail(series, LK_UNAVAILABLE, "the answer is lost")
               : outcome;
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

static void close_faulty(struct lk_engine *engine) {
    struct lk_engine *inner = of(engine)->inner;

    inner->ops->close(inner);
    free(engine);
}

static const struct lk_batch_ops faulty_batches = {.decide_many = decide_many};

static const struct lk_engine_ops faulty_ops = {
    .scheme = "faulty",
    .title = "for tests",
    .capabilities = LK_CAN_QUEUE | LK_CAN_ROOTS | LK_CAN_DEADLOCK | LK_CAN_EXCLUSIVE,
    .close = close_faulty,
    .decide = decide,
    .await = await,
    .list = list,
    .audit = audit,
    .stats = stats,
    .batches = &faulty_batches,
};

lk_store *open_faulty(struct faulty **ret_faulty) {
    const struct lk_memory_options options = {.time = NULL};
    struct faulty *faulty = calloc(1, sizeof *faulty);
    lk_store *store = calloc(1, sizeof *store);

    assert_non_null(faulty);
    assert_non_null(store);
    faulty->engine.ops = &faulty_ops;
    assert_int_equal(lk_memory_open(lk_slice_of(""), &options, &faulty->inner, NULL), LK_OK);
    store->engine = &faulty->engine;
    store->url = lk_text_copy(lk_slice_of("faulty:"));
    store->opened_by = getpid();
    lk_contact_init(&store->contact);
    store->keepalive = lk_keepalive_new(store->engine, &store->contact);
    assert_non_null(store->keepalive);
    store->has_leftovers = lk_leftovers_init(&store->leftovers, store->engine, store->url);
    assert_true(store->has_leftovers);
    *ret_faulty = faulty;
    return store;
}

void set_fault(struct faulty *faulty, enum fault fault) {
    atomic_store(&faulty->fault, fault);
}

int calls_of(struct faulty *faulty) {
    return atomic_load(&faulty->calls);
}

void wait_for_renewals(struct faulty *faulty, int count) {
    int64_t bound_ms = now_ms() + BOUND_MS;

    while (atomic_load(&faulty->renewals) < count) {
        assert_true(now_ms() < bound_ms);
        wait_until_ms(now_ms() + 1);
    }
}

void wait_for_calls(struct faulty *faulty, int count) {
    int64_t bound_ms = now_ms() + BOUND_MS;

    while (calls_of(faulty) < count) {
        assert_true(now_ms() < bound_ms);
        wait_until_ms(now_ms() + 1);
    }
}
