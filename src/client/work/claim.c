/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claiming work: take, sleep until something may have become claimable, take again.
 *
 * A claim has no place in a queue, so the first client that wakes gets the item. All takes for one
 * claim carry one ask number, so that a lost answer is found again and never becomes a second item
 * (R3).
 */
#include "client/work/claim.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "client/answer.h"
#include "client/cancel.h"
#include "client/checked.h"
#include "client/wait.h"
#include "client/work/finder.h"
#include "engine/reply/reply.h"

#define POLL_US INT64_C(5000000) /* a take is sent this often, without a wake-up too */
#define DRAIN_MIN_US                                                                               \
    INT64_C(10000) /* the queue's end wakes no waiter: it is polled, by growing pauses */
#define DRAIN_MAX_US INT64_C(1000000)
#define FULL_US INT64_C(1000000) /* until a bound may have room again */
#define PAUSE_US INT64_C(50000)  /* when the engine cannot wait */
#define PATIENCE_MIN_US INT64_C(1000000)

static uint64_t draw_ask_number(struct lk_random *random) {
    uint64_t number = lk_random_next(random);

    return number != 0 ? number : 1; /* 0 would mean: none */
}

static struct lk_patience patience_of(const struct lk_claiming *claiming) {
    int64_t until_us = claiming->away_end_us;

    if (claiming->patience_ms != 0 || until_us == LK_NEVER) {
        until_us = lk_min(until_us, lk_wait_patience_until(claiming->patience_ms));
    }
    return (struct lk_patience){.until_us = until_us, .waker = claiming->waker};
}

/* R17: whether there are rows that are not announced yet. */
static bool has_rows(const struct lk_claiming *claiming, const struct lk_patience *patience) {
    struct lk_engine *engine = claiming->store->engine;
    struct lk_announcement look;

    return claiming->source != NULL
           && (engine->ops->table->announce(engine, claiming->source, 0, patience, &look, NULL)
                   != LK_OK
               || look.found > 0);
}

static bool has_items(const struct lk_claiming *claiming, const struct lk_patience *patience) {
    struct lk_engine *engine = claiming->store->engine;
    lk_queue_stats stats;

    return engine->ops->stats(engine, &claiming->command.take.queue, LK_STATS_WHETHER_LEFT,
                              patience, &stats, NULL)
               != LK_OK
           || stats.ready_now + stats.delayed_now + stats.claimed_now > 0;
}

/*
 * R16: whether no item and no row is left. Rows are counted first: a row that is announced
 * meanwhile is an item when items are counted. False also when the store does not answer.
 */
static bool is_drained(struct lk_claiming *claiming) {
    const struct lk_patience patience = patience_of(claiming);

    return !has_rows(claiming, &patience) && !has_items(claiming, &patience);
}

/* *drain_us: the pause between two checks for the end; grows. */
static void sleep_until_work(struct lk_claiming *claiming, lk_outcome outcome,
                             const struct lk_wait_cursor *cursor, int64_t *drain_us) {
    const struct lk_engine_ops *ops = claiming->store->engine->ops;
    int64_t now_us = lk_clock_now_us();
    int64_t until_us = lk_min(claiming->end_us, now_us + (claiming->drains ? *drain_us : POLL_US));
    lk_outcome slept = LK_INTERNAL;

    *drain_us = lk_min(*drain_us * 2, DRAIN_MAX_US);
    if (outcome == LK_BUSY) {
        slept = claiming->store->engine->ops->await(claiming->store->engine, cursor, until_us,
                                                    claiming->waker);
        claiming->is_unknown = (ops->capabilities & LK_TAKES_IN_AWAIT) != 0;
    }
    if (slept != LK_OK && slept != LK_CANCELLED) {
        int64_t pause_us = outcome == LK_FULL ? FULL_US : PAUSE_US;

        (void)lk_waker_sleep(claiming->waker, lk_min(until_us - now_us, pause_us));
    }
}

static bool was_slow_to_answer(const lk_claim_info *claim, int64_t sent_us) {
    return lk_clock_now_us() - sent_us > claim->expires_in_ms * 1000 / 3;
}

lk_outcome lk_claim_decide(const struct lk_claiming *claiming, const struct lk_command *command,
                           const struct lk_patience *patience, struct lk_decision *ret_decision) {
    struct lk_engine *engine = claiming->store->engine;

    return claiming->source != NULL ? engine->ops->table->decide(engine, claiming->source, command,
                                                                 patience, ret_decision)
                                    : engine->ops->decide(engine, command, patience, ret_decision);
}

/*
 * Takes an item. If the answer was so slow that the claim's deadline may be near, the take is
 * repeated once, which refreshes the claim (R3).
 */
static lk_outcome take(struct lk_claiming *claiming, int64_t *ret_sent_us,
                       struct lk_decision *ret_decision) {
    bool is_stolen = false;
    lk_outcome outcome = LK_GRANTED;

    lk_decision_begin(ret_decision, NULL);
    for (int turn = 0; turn < 2 && outcome == LK_GRANTED; turn++) {
        const struct lk_patience patience = patience_of(claiming);
        lk_claim_info *claim;

        lk_decision_done(ret_decision);
        *ret_sent_us = lk_clock_now_us();
        outcome = lk_claim_decide(claiming, &claiming->command, &patience, ret_decision);
        claim = ret_decision->claim;
        if (outcome == LK_GRANTED) {
            is_stolen =
                is_stolen || claim->is_stolen; /* the repetition does not have it any more */
            claim->is_stolen = is_stolen;
        }
        if (outcome == LK_GRANTED && !was_slow_to_answer(claim, *ret_sent_us)) {
            break;
        }
    }
    claiming->is_unknown = outcome == LK_UNAVAILABLE || outcome == LK_CANCELLED;
    if (!claiming->is_unknown) {
        lk_outage_end(&claiming->outage);
    }
    return outcome;
}

/*
 * After a cancellation: the last take may have got an item. If so, its ask number finds it (R3),
 * and the item is returned to the queue, so that no other client has to wait for the ttl.
 */
static void give_back(struct lk_claiming *claiming) {
    const struct lk_patience patience = {.until_us = lk_clock_now_us() + LK_CLOSE_BUDGET_US};
    struct lk_decision taken;
    struct lk_decision ignored;

    if (!claiming->is_unknown) {
        return;
    }
    if (lk_claim_decide(claiming, &claiming->command, &patience, &taken) == LK_GRANTED) {
        const struct lk_command command = {
            .kind = LK_COMMAND_FINISH,
            .finish = {.queue = claiming->command.take.queue,
                       .id = lk_slice_of(taken.claim->id),
                       .owner = claiming->command.take.owner,
                       .token = taken.claim->token,
                       .kind = LK_FINISH_RETRY},
        };

        (void)claiming->store->engine->ops->decide(claiming->store->engine, &command, &patience,
                                                   &ignored);
        lk_decision_done(&ignored);
    }
    lk_decision_done(&taken);
}

/* Whether there being nothing to claim now is final; then with the outcome in *ret_outcome. */
static bool is_final(struct lk_claiming *claiming, lk_outcome outcome, lk_outcome *ret_outcome) {
    if (outcome == LK_FULL && !claiming->outlasts_full) {
        *ret_outcome = LK_FULL;
    } else if (claiming->end_us == 0 || (claiming->drains && is_drained(claiming))) {
        *ret_outcome = LK_BUSY;
    } else if (lk_clock_now_us() >= claiming->end_us) {
        *ret_outcome = LK_TIMEOUT;
    } else {
        return false;
    }
    return true;
}

/* Draws a new ask number, unless the last take is to be repeated (R3). */
static void number_ask(struct lk_claiming *claiming) {
    if (!claiming->is_unknown && !claiming->keeps_number) {
        claiming->command.take.ask_number = draw_ask_number(&claiming->random);
    }
}

lk_outcome lk_claim_follow(struct lk_claiming *claiming, const struct lk_finish *finish,
                           int64_t until_us, lk_error *error) {
    struct lk_engine *engine = claiming->store->engine;
    const struct lk_patience patience = {.until_us = until_us, .waker = claiming->waker};
    struct lk_decision decision;
    lk_outcome outcome;

    number_ask(claiming);
    claiming->followed_sent_us = lk_clock_now_us();
    outcome = engine->ops->table->finish_and_take(engine, claiming->source, finish,
                                                  &claiming->command.take, &patience, &decision);
    claiming->followed = decision.claim;
    decision.claim = NULL;
    claiming->is_unknown = outcome == LK_UNAVAILABLE || outcome == LK_CANCELLED;
    claiming->keeps_number = claiming->followed == NULL;
    return lk_answer_end(&decision, error);
}

/*
 * The item that came with the last finish; NULL: none, or the take has to be repeated. It has to
 * after a cancellation, which then returns the item to the queue, and if the answer was so slow
 * that the claim's deadline may be near: the repetition refreshes the claim (R3).
 */
static lk_claim_info *take_followed(struct lk_claiming *claiming) {
    lk_claim_info *claim = claiming->followed;

    claiming->followed = NULL;
    if (claim != NULL
        && (lk_waker_is_thrown(claiming->waker)
            || was_slow_to_answer(claim, claiming->followed_sent_us))) {
        lk_claim_free(claim);
        claim = NULL;
        claiming->is_unknown = true;
    }
    return claim;
}

lk_outcome lk_claim_await(struct lk_claiming *claiming, lk_claim_info **ret_claim,
                          int64_t *ret_sent_us, lk_error *error) {
    lk_claim_info *followed = take_followed(claiming);
    struct lk_decision decision;
    int64_t drain_us = DRAIN_MIN_US;
    lk_outcome final;

    if (followed != NULL) {
        *ret_claim = followed;
        *ret_sent_us = claiming->followed_sent_us;
        return LK_GRANTED;
    }
    number_ask(claiming);
    claiming->keeps_number = false;
    while (!lk_waker_is_thrown(claiming->waker)) {
        lk_outcome outcome = take(claiming, ret_sent_us, &decision);

        switch (outcome) {
        case LK_UNAVAILABLE:
            if (!lk_outage_outlast(&claiming->outage, *ret_sent_us, claiming->away_end_us,
                                   claiming->patience_ms, claiming->waker)) {
                return lk_answer_end(&decision, error);
            }
            break;
        case LK_BUSY:
        case LK_FULL:
            if (is_final(claiming, outcome, &final)) {
                decision.error.outcome = final; /* the text says why there is nothing */
                return lk_answer_end(&decision, error);
            }
            sleep_until_work(claiming, outcome, &decision.cursor, &drain_us);
            break;
        case LK_CANCELLED:
            break; /* the waker was thrown */
        case LK_GRANTED:
            *ret_claim = decision.claim;
            decision.claim = NULL;
            return lk_answer_end(&decision, error);
        default:
            return lk_answer_end(&decision, error);
        }
    }
    give_back(claiming);
    return lk_error_clear(error, LK_CANCELLED);
}

/* ---- one claim ------------------------------------------------------------------------------- */

/* *ret_table only where the request names a table. */
static lk_outcome check(lk_store *store, const lk_claim_request *request,
                        lk_claim_request *ret_known, struct lk_path *ret_queue,
                        struct lk_table_text *ret_table, lk_error *error) {
    lk_outcome outcome = lk_store_check_can(store, LK_CAN_WORK, error);

    if (outcome == LK_OK) {
        outcome = lk_checked_copy(ret_known, sizeof *ret_known, request, error);
    }
    if (outcome == LK_OK && ret_known->table == NULL) {
        outcome = lk_path_parse(lk_slice_of(ret_known->queue), ret_queue, error);
    }
    if (outcome == LK_OK && ret_known->table != NULL) {
        outcome = lk_table_text_make(store, ret_known->queue, ret_known->table, ret_table, error);
        *ret_queue = ret_table->source.queue;
    }
    if (outcome == LK_OK && ret_known->owner != NULL) {
        outcome = lk_checked_owner(ret_known->owner, error);
    }
    if (outcome == LK_OK && (ret_known->wait_ms < 0 || ret_known->patience_ms < 0)) {
        outcome = lk_error_set(error, LK_INVALID, "a wait is not negative");
    }
    if (outcome == LK_OK) {
        outcome =
            lk_checked_claim(&ret_known->ttl_ms, ret_known->max_attempts, ret_known->note, error);
    }
    return outcome;
}

/* How long a store that does not answer is retried: a try for its patience, a wait to its end. */
static int64_t away_end_us(const lk_claim_request *request) {
    if (request->wait_ms == 0) {
        return lk_wait_patience_until(request->patience_ms);
    }
    return lk_max(lk_wait_instant_after(request->wait_ms), lk_clock_now_us() + PATIENCE_MIN_US);
}

lk_outcome lk_claim_next(lk_store *store, const lk_claim_request *request,
                         lk_claim_info **ret_claim, lk_error *error) {
    char made[LK_OWNER_BYTES_MAX + 1];
    lk_claim_request known;
    struct lk_claiming claiming = {.store = store,
                                   .command = {.kind = LK_COMMAND_TAKE},
                                   .outage = lk_outage_new(store->engine),
                                   .random = {lk_random_draw()}};
    struct lk_cancel_link link;
    int64_t sent_us;
    struct lk_table_text table;
    lk_outcome outcome = check(store, request, &known, &claiming.command.take.queue, &table, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    claiming.source = known.table != NULL ? &table.source : NULL;
    if (known.owner == NULL) {
        lk_owner_make(made);
        known.owner = made;
    }
    claiming.command.take.owner = lk_slice_of(known.owner);
    claiming.command.take.ttl_ms = known.ttl_ms;
    claiming.command.take.max_attempts = known.max_attempts;
    claiming.command.take.note_given = known.note != NULL;
    claiming.command.take.note = lk_slice_of(known.note);
    claiming.waker = &link.waker;
    claiming.end_us = known.wait_ms != 0 ? lk_wait_instant_after(known.wait_ms) : 0;
    claiming.away_end_us = away_end_us(&known);
    claiming.patience_ms = known.patience_ms;
    outcome = lk_cancel_join(known.cancel, &link, error);
    if (outcome == LK_OK) {
        outcome = lk_claim_await(&claiming, ret_claim, &sent_us, error);
        lk_cancel_leave(&link);
    }
    return outcome;
}
