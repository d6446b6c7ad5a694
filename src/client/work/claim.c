/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claiming work: take, sleep until something may have become claimable, take again.
 *
 * A claim has no place in a queue, so the first client that wakes gets the item. All takes for one
 * claim carry one ask number, so that a lost answer is found again and never becomes a second item
 * (R3).
 */
#include "client/work/claim.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "client/answer.h"
#include "client/cancel.h"
#include "client/checked.h"
#include "client/safe_until.h"
#include "client/wait.h"
#include "client/work/finder.h"
#include "client/work/stuck.h"
#include "engine/reply/reply.h"

#define OPEN_US INT64_C(10000000) /* how long a take may be on its way */
#define POLL_US INT64_C(5000000)  /* a take is sent this often, without a wake-up too */
#define DRAIN_MIN_US                                                                               \
    INT64_C(10000) /* the queue's end wakes no waiter: it is polled, by growing pauses */
#define DRAIN_MAX_US INT64_C(1000000)
#define FULL_US INT64_C(1000000) /* until a bound may have room again */
#define FOLLOW_US                                                                                  \
    INT64_C(30000000) /* a follower takes by itself this often: its leader may be stopped */
#define PAUSE_US INT64_C(50000)          /* when the engine cannot wait */
#define PATIENCE_MIN_US INT64_C(1000000) /* of a take, also of the last one, at the end of a wait */

/* So short that the numbers of all takes of the ask are below 2^53, as every number is (R4). */
static uint64_t draw_ask_number(struct lk_random *random) {
    uint64_t number = lk_random_next(random) >> 19;

    return number != 0 ? number : 1; /* 0 would mean: none */
}

static struct lk_patience patience_of(struct lk_claiming *claiming) {
    int64_t until_us = claiming->away_end_us;

    if (claiming->end_us != 0) {
        until_us = lk_max(until_us, lk_clock_now_us() + PATIENCE_MIN_US);
    }
    if (claiming->patience_ms != 0 || until_us == LK_NEVER) {
        until_us = lk_min(until_us, lk_wait_patience_until(claiming->patience_ms));
    }
    return (struct lk_patience){.until_us = until_us,
                                .waker = claiming->late,
                                .on_failure = lk_contact_fail,
                                .context = &claiming->store->contact,
                                .is_sent = &claiming->is_sent};
}

/* Records whether the last take had an answer. An earlier one may still be on its way. */
static void note_answer(struct lk_claiming *claiming, lk_outcome outcome) {
    int64_t now_us = lk_clock_now_us();

    claiming->is_unknown = outcome == LK_UNAVAILABLE || outcome == LK_CANCELLED;
    if (claiming->is_unknown) {
        claiming->open_us = now_us;
    } else if (now_us - claiming->open_us > OPEN_US) {
        claiming->open_us = 0;
    }
}

/* What a take without an answer has claimed, or will claim, is given back by the store's thread. */
static void leave(const struct lk_claiming *claiming) {
    const struct lk_take *take = &claiming->command.take;
    const struct lk_part queue = {.path = take->queue};
    const struct lk_leftover leftover = {
        .owner = take->owner,
        .parts = &queue,
        .part_count = 1,
        .began_us = claiming->began_us,
        .ttl_ms = take->ttl_ms,
        .is_ours = claiming->is_owner_made,
        .take = take,
        .take_count = claiming->series != NULL ? claiming->max : 1,
        .source = claiming->source,
        .close_until_us = lk_waker_is_thrown(claiming->waker)
                              ? lk_waker_thrown_us(claiming->waker) + LK_CANCEL_US
                              : lk_clock_now_us() + LK_LEFTOVER_CLOSE_US,
    };

    /* The engines of tables do not say what they have sent. */
    if (claiming->open_us != 0 && (claiming->is_sent || claiming->source != NULL)) {
        lk_leftovers_add(&claiming->store->leftovers, &leftover);
    }
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

/* Whether what is left waits for an order that parked items keep, and nothing else goes on. */
static bool is_stuck(const struct lk_claiming *claiming, const struct lk_patience *patience) {
    struct lk_engine *engine = claiming->store->engine;
    const struct lk_path *path = &claiming->command.take.queue;
    char queue[LK_PATH_BYTES_MAX + 1];
    lk_queue_stats stats;

    if (engine->ops->stats(engine, path, LK_STATS_WHOLE, patience, &stats, NULL) != LK_OK
        || stats.delayed_now + stats.claimed_now > 0 || stats.parked_now == 0) {
        return false;
    }
    (void)snprintf(queue, sizeof queue, "%.*s", (int)path->size, path->bytes);
    return lk_queue_is_stuck(claiming->store, queue);
}

/*
 * R16: whether no item and no row is left that can be claimed some time. Rows are counted first: a
 * row that is announced meanwhile is an item when items are counted. False also when the store does
 * not answer.
 */
static bool is_drained(struct lk_claiming *claiming) {
    const struct lk_patience patience = patience_of(claiming);

    return !has_rows(claiming, &patience)
           && (!has_items(claiming, &patience) || is_stuck(claiming, &patience));
}

/*
 * One worker of a pool waits for all: whether it is this one. It must lead before it takes, so that
 * the store wakes the worker that waits, and no other one.
 */
static bool leads(struct lk_claiming *claiming, int64_t wait_us) {
    if (claiming->leader != NULL && !claiming->leads) {
        claiming->leads =
            lk_pool_leader_become(claiming->leader, claiming->member, wait_us, claiming->waker);
    }
    return claiming->leader == NULL || claiming->leads;
}

static void end_lead(struct lk_claiming *claiming) {
    if (claiming->leads) {
        claiming->leads = false;
        lk_pool_leader_cease(claiming->leader, claiming->member);
    }
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

static lk_outcome decide_take(struct lk_claiming *claiming, const struct lk_patience *patience,
                              struct lk_decision *ret_decision) {
    return claiming->series != NULL
               ? lk_claim_take_series(claiming, patience, ret_decision)
               : lk_claim_decide(claiming, &claiming->command, patience, ret_decision);
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
        lk_contact_begin(&claiming->store->contact, *ret_sent_us);
        outcome = decide_take(claiming, &patience, ret_decision);
        lk_contact_end(&claiming->store->contact, *ret_sent_us, &ret_decision->error);
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
    note_answer(claiming, outcome);
    if (!claiming->is_unknown) {
        lk_outage_end(&claiming->outage);
    }
    return outcome;
}

/* Notes that the item may stay claimed, unless the store has answered. */
static void return_item(struct lk_claiming *claiming, const lk_claim_info *claim,
                        const struct lk_patience *patience) {
    lk_outcome outcome =
        lk_leftover_return_item(claiming->store->engine, &claiming->command.take,
                                lk_slice_of(claim->id), claim->token, patience, NULL);

    if (outcome == LK_UNAVAILABLE || outcome == LK_CANCELLED) {
        claiming->open_us = lk_clock_now_us();
    }
}

/*
 * After a cancellation: the last take may have got an item. If so, its ask number finds it (R3),
 * and the item is returned to the queue, so that no other client has to wait for the ttl.
 */
static void give_back(struct lk_claiming *claiming) {
    int64_t until_us = lk_waker_thrown_us(claiming->waker) + LK_CANCEL_US;
    const struct lk_patience patience = {
        .until_us = lk_max(until_us, lk_clock_now_us() + LK_CLOSE_BUDGET_US),
        .is_sent = &claiming->is_sent};
    struct lk_decision taken;
    lk_outcome outcome;

    if (!claiming->is_unknown) {
        return;
    }
    outcome = decide_take(claiming, &patience, &taken);
    note_answer(claiming, outcome);
    if (outcome == LK_GRANTED) {
        claiming->open_us = 0; /* it is found */
        return_item(claiming, taken.claim, &patience);
        for (size_t i = 1; claiming->series != NULL && i < claiming->series->count; i++) {
            if (claiming->series->answers[i].claim != NULL) {
                return_item(claiming, claiming->series->answers[i].claim, &patience);
            }
        }
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
        claiming->command.take.ask_number = lk_take_number(draw_ask_number(&claiming->random), 0);
        claiming->is_sent = false;
        claiming->open_us = 0;
        claiming->began_us = lk_clock_now_us();
    }
}

lk_outcome lk_claim_follow(struct lk_claiming *claiming, const struct lk_finish *finish,
                           int64_t until_us, lk_error *error) {
    struct lk_engine *engine = claiming->store->engine;
    const struct lk_patience patience = {
        .until_us = until_us, .waker = claiming->late, .is_sent = &claiming->is_sent};
    struct lk_decision decision;
    lk_outcome outcome;

    number_ask(claiming);
    claiming->followed_sent_us = lk_clock_now_us();
    outcome = engine->ops->table->finish_and_take(engine, claiming->source, finish,
                                                  &claiming->command.take, &patience, &decision);
    claiming->followed = decision.claim;
    decision.claim = NULL;
    note_answer(claiming, outcome);
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

static lk_outcome await_claim(struct lk_claiming *claiming, lk_claim_info **ret_claim,
                              int64_t *ret_sent_us, lk_error *error) {
    lk_claim_info *followed = take_followed(claiming);
    struct lk_decision decision;
    int64_t drain_us = DRAIN_MIN_US;
    int64_t idle_us = 0; /* since when there has been nothing to claim; 0: that is not known */
    lk_outcome final;

    if (followed != NULL) {
        *ret_claim = followed;
        *ret_sent_us = claiming->followed_sent_us;
        return LK_GRANTED;
    }
    number_ask(claiming);
    claiming->keeps_number = false;
    while (!lk_waker_is_thrown(claiming->waker)) {
        claiming->command.take.is_try = claiming->end_us == 0 || !leads(claiming, 0);
        lk_outcome outcome = take(claiming, ret_sent_us, &decision);

        if (outcome == LK_GRANTED && lk_waker_is_thrown(claiming->waker)) {
            claiming->is_unknown = true; /* no caller gets it: its ask number finds it */
            lk_decision_done(&decision);
            break;
        }
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
            idle_us = idle_us != 0 ? idle_us : *ret_sent_us;
            decision.cursor.waited_us = lk_clock_now_us() - idle_us;
            if (claiming->leader == NULL || claiming->leads) {
                sleep_until_work(claiming, outcome, &decision.cursor, &drain_us);
            } else {
                (void)leads(claiming, FOLLOW_US);
            }
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

lk_outcome lk_claim_await(struct lk_claiming *claiming, lk_claim_info **ret_claim,
                          int64_t *ret_sent_us, lk_error *error) {
    lk_outcome outcome = await_claim(claiming, ret_claim, ret_sent_us, error);

    end_lead(claiming);
    if (outcome != LK_GRANTED) {
        leave(claiming);
    }
    return outcome;
}

/* ---- claims by themselves -------------------------------------------------------------------- */

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

/* One call that claims. It must not move. */
struct call {
    lk_claim_request request; /* of the size that this version knows */
    char owner[LK_OWNER_BYTES_MAX + 1];
    struct lk_table_text table;
    struct lk_claiming claiming;
    struct lk_cancel_link link; /* of the claiming, for lk_cancel_leave() */
};

static lk_outcome begin(struct call *call, lk_store *store, const lk_claim_request *request,
                        lk_error *error) {
    lk_claim_request *known = &call->request;
    struct lk_claiming *claiming = &call->claiming;
    struct lk_take *take = &claiming->command.take;
    lk_outcome outcome;

    *claiming = (struct lk_claiming){.store = store,
                                     .command = {.kind = LK_COMMAND_TAKE},
                                     .outage = lk_outage_new(store->engine),
                                     .random = {lk_random_draw()}};
    outcome = check(store, request, known, &take->queue, &call->table, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    claiming->source = known->table != NULL ? &call->table.source : NULL;
    if (known->owner == NULL) {
        lk_owner_make(call->owner);
        known->owner = call->owner;
        claiming->is_owner_made = true;
    }
    take->owner = lk_slice_of(known->owner);
    take->ttl_ms = known->ttl_ms;
    take->max_attempts = known->max_attempts;
    take->note_given = known->note != NULL;
    take->note = lk_slice_of(known->note);
    claiming->waker = &call->link.waker;
    claiming->late = &call->link.late;
    claiming->end_us = known->wait_ms != 0 ? lk_wait_instant_after(known->wait_ms) : 0;
    claiming->away_end_us = away_end_us(known);
    claiming->patience_ms = known->patience_ms;
    return lk_cancel_join(known->cancel, &call->link, error);
}

/* Counts the deadline from now on: the caller does not know when the claim was asked for. */
static void count_from_now(lk_claim_info *claim, int64_t sent_us) {
    int64_t left_us = lk_safe_until_end_us(sent_us, claim->expires_in_ms) - lk_clock_now_us();

    claim->expires_in_ms = lk_max(left_us, 0) / 1000;
}

lk_outcome lk_claim_next(lk_store *store, const lk_claim_request *request,
                         lk_claim_info **ret_claim, lk_error *error) {
    struct call call;
    int64_t sent_us;
    lk_outcome outcome = begin(&call, store, request, error);

    if (outcome == LK_OK) {
        outcome = lk_claim_await(&call.claiming, ret_claim, &sent_us, error);
        lk_cancel_leave(&call.link);
        if (outcome == LK_GRANTED) {
            count_from_now(*ret_claim, sent_us);
        }
    }
    return outcome;
}

void lk_claim_list_free(lk_claim_list *list) {
    if (list != NULL) {
        for (size_t i = 0; i < list->count; i++) {
            lk_claim_free(list->claims[i]);
        }
        free(list->claims);
        free(list);
    }
}

static lk_claim_list *list_new(size_t max) {
    lk_claim_list *list = calloc(1, sizeof *list);

    if (list != NULL) {
        list->claims = calloc(max, sizeof *list->claims);
    }
    if (list != NULL && list->claims == NULL) {
        free(list);
        list = NULL;
    }
    return list;
}

/* Waits for the claims of a series, into a list with room for all of them. */
static lk_outcome await_many(struct lk_claiming *claiming, lk_claim_list *list, lk_error *error) {
    int64_t sent_us;
    lk_outcome outcome = lk_claim_await(claiming, &list->claims[0], &sent_us, error);

    if (outcome != LK_GRANTED) {
        return outcome;
    }
    list->count = 1;
    for (size_t i = 1; i < claiming->series->count; i++) {
        struct lk_series_answer *answer = &claiming->series->answers[i];

        if (answer->claim != NULL) {
            list->claims[list->count++] = answer->claim;
            answer->claim = NULL;
        }
    }
    for (size_t i = 0; i < list->count; i++) {
        count_from_now(list->claims[i], sent_us);
    }
    return outcome;
}

/* What a claim of several has to be beside what one claim has to be. */
static lk_outcome check_many(const struct call *call, size_t max, lk_error *error) {
    if (call->request.table != NULL) {
        return lk_error_set(error, LK_UNSUPPORTED,
                            "R17: items of a table are claimed one at a time");
    }
    if (max < 1 || max > LK_CLAIMS_MAX) {
        return lk_error_set(error, LK_INVALID, "R16: 1 to %d items can be claimed at once, not %zu",
                            LK_CLAIMS_MAX, max);
    }
    return LK_OK;
}

_Static_assert(LK_CLAIMS_MAX == LK_TAKES_MAX, "as the model numbers them");

lk_outcome lk_claim_many(lk_store *store, const lk_claim_request *request, size_t max,
                         lk_claim_list **ret_list, lk_error *error) {
    struct call call;
    lk_claim_list *list = NULL;
    lk_outcome outcome = lk_store_check_can(store, LK_CAN_BATCHES, error);

    if (outcome == LK_OK) {
        outcome = begin(&call, store, request, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = check_many(&call, max, error);
    if (outcome == LK_OK) {
        list = list_new(max);
        outcome = list != NULL && lk_claim_begin_series(&call.claiming, max)
                      ? await_many(&call.claiming, list, error)
                      : lk_error_set(error, LK_INTERNAL, "no memory for the claims");
    }
    lk_claim_end_series(&call.claiming);
    lk_cancel_leave(&call.link);
    if (outcome == LK_GRANTED) {
        *ret_list = list;
    } else {
        lk_claim_list_free(list);
    }
    return outcome;
}
