/* SPDX-License-Identifier: Apache-2.0 */
/* A store that can be told to go away. */
#include "unsteady.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/memory/memory.h"
#include "engine/reply.h"
#include "keeper/keepalive.h"
#include "keeper/store.h"
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
static lk_outcome after(struct unsteady *unsteady, lk_outcome outcome, lk_result *result) {
    switch ((enum unsteady_mood)atomic_load(&unsteady->mood)) {
    case LATE:
        wait_until_ms(atomic_load(&unsteady->answer_at_ms));
        break;
    case DEAF:
        lk_result_clear(result);
        return lk_result_fail(result, LK_UNAVAILABLE, "the answer is lost");
    case STEADY:
    case REFUSING:
    case HANGING:
        break;
    }
    return outcome;
}

static lk_outcome ask(struct lk_engine *engine, const struct lk_ask *ask,
                      const struct lk_patience *patience, lk_result *result,
                      struct lk_stand *ret_stand) {
    struct lk_engine *inner = of(engine)->inner;
    lk_outcome outcome = before(of(engine), patience);

    if (outcome != LK_OK) {
        return lk_result_fail(result, outcome, "away");
    }
    outcome = inner->ops->ask(inner, ask, patience, result, ret_stand);
    return after(of(engine), outcome, result);
}

static lk_outcome renew(struct lk_engine *engine, const struct lk_renew *renew,
                        const struct lk_patience *patience, lk_result *result) {
    struct lk_engine *inner = of(engine)->inner;
    lk_outcome outcome = before(of(engine), patience);

    if (outcome != LK_OK) {
        return lk_result_fail(result, outcome, "away");
    }
    outcome = inner->ops->renew(inner, renew, patience, result);
    return after(of(engine), outcome, result);
}

static lk_outcome release(struct lk_engine *engine, const struct lk_release *release,
                          const struct lk_patience *patience, lk_result *result) {
    struct lk_engine *inner = of(engine)->inner;
    lk_outcome outcome = before(of(engine), patience);

    if (outcome != LK_OK) {
        return lk_result_fail(result, outcome, "away");
    }
    outcome = inner->ops->release(inner, release, patience, result);
    return after(of(engine), outcome, result);
}

static lk_outcome await(struct lk_engine *engine, const struct lk_stand *stand, int64_t until_us,
                        struct lk_waker *waker) {
    struct lk_engine *inner = of(engine)->inner;

    return inner->ops->await(inner, stand, until_us, waker);
}

static lk_outcome list(struct lk_engine *engine, const struct lk_path *prefix,
                       const struct lk_patience *patience, lk_listing **ret_listing,
                       struct lk_error *error) {
    struct lk_engine *inner = of(engine)->inner;

    return inner->ops->list(inner, prefix, patience, ret_listing, error);
}

static lk_outcome break_(struct lk_engine *engine, const struct lk_break *broken,
                         struct lk_slice by, struct lk_slice reason,
                         const struct lk_patience *patience, size_t *ret_count,
                         struct lk_error *error) {
    struct lk_engine *inner = of(engine)->inner;

    return inner->ops->break_(inner, broken, by, reason, patience, ret_count, error);
}

/* ---- work ------------------------------------------------------------------------------------ */

/* What the mood makes of an answer that is an outcome. */
static lk_outcome after_work(struct unsteady *unsteady, lk_outcome outcome, lk_error *error) {
    lk_result ignored = {.outcome = LK_OK};
    lk_outcome told = after(unsteady, outcome, &ignored);

    lk_result_clear(&ignored);
    return told == outcome ? outcome : lk_error_set(error, told, "the answer is lost");
}

static lk_outcome push(struct lk_engine *engine, const struct lk_push *push,
                       const struct lk_patience *patience, bool *ret_added, lk_error *error) {
    struct lk_engine *inner = of(engine)->inner;

    return inner->ops->push(inner, push, patience, ret_added, error);
}

static lk_outcome take(struct lk_engine *engine, const struct lk_take *take,
                       const struct lk_patience *patience, lk_claim_info **ret_claim,
                       struct lk_stand *ret_stand, lk_error *error) {
    struct lk_engine *inner = of(engine)->inner;
    lk_claim_info *claim = NULL;
    lk_outcome outcome = before(of(engine), patience);

    if (outcome != LK_OK) {
        return lk_error_set(error, outcome, "away");
    }
    outcome = inner->ops->take(inner, take, patience, &claim, ret_stand, error);
    outcome = after_work(of(engine), outcome, error);
    if (outcome == LK_GRANTED) {
        *ret_claim = claim;
    } else {
        lk_claim_free(claim);
    }
    return outcome;
}

static lk_outcome finish(struct lk_engine *engine, const struct lk_finish *finish,
                         const struct lk_patience *patience, lk_error *error) {
    struct lk_engine *inner = of(engine)->inner;
    lk_outcome outcome = before(of(engine), patience);

    if (outcome != LK_OK) {
        return lk_error_set(error, outcome, "away");
    }
    outcome = inner->ops->finish(inner, finish, patience, error);
    return after_work(of(engine), outcome, error);
}

static lk_outcome stats(struct lk_engine *engine, const struct lk_path *queue,
                        const struct lk_patience *patience, lk_queue_stats *ret_stats,
                        lk_error *error) {
    struct lk_engine *inner = of(engine)->inner;

    return inner->ops->stats(inner, queue, patience, ret_stats, error);
}

static lk_outcome await_work(struct lk_engine *engine, const struct lk_path *queue,
                             const struct lk_stand *stand, int64_t until_us,
                             struct lk_waker *waker) {
    struct lk_engine *inner = of(engine)->inner;

    return inner->ops->await_work(inner, queue, stand, until_us, waker);
}

static void close_unsteady(struct lk_engine *engine) {
    struct lk_engine *inner = of(engine)->inner;

    inner->ops->close(inner);
    free(engine);
}

static const struct lk_engine_ops unsteady_ops = {
    .scheme = "unsteady",
    .title = "for tests",
    .capabilities = LK_CAN_QUEUE | LK_CAN_ROOTS | LK_CAN_DEADLOCK | LK_CAN_BREAK | LK_CAN_EXCLUSIVE
                    | LK_CAN_WORK,
    .close = close_unsteady,
    .ask = ask,
    .renew = renew,
    .release = release,
    .await = await,
    .break_ = break_,
    .list = list,
    .push = push,
    .take = take,
    .finish = finish,
    .stats = stats,
    .await_work = await_work,
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

void wait_for_calls(struct unsteady *unsteady, int count) {
    int64_t bound_ms = now_ms() + BOUND_MS;

    while (calls_of(unsteady) < count) {
        assert_true(now_ms() < bound_ms);
        wait_until_ms(now_ms() + 1);
    }
}
