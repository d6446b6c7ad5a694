/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wait: ask, sleep until something may have changed, ask again.
 *
 * Every ask is a repetition of the first (R3), so a lost answer or a needless wake-up does no
 * harm. Repeating it every third of the ttl keeps the request's place in the queue (R10). A wait
 * that ends early withdraws the request if this wait has made it, and no other.
 */
#include "client/wait.h"

#include <stdlib.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "client/batch.h"
#include "client/cancel.h"
#include "client/outage.h"
#include "client/renewal.h"
#include "engine/reply/reply.h"

#define PATIENCE_MIN_US INT64_C(1000000)  /* however short the wait: a store may just be busy */
#define REFRESH_MIN_US INT64_C(10000)     /* between two asks, however near the deadline is */
#define CANCEL_BUDGET_US INT64_C(3000000) /* to withdraw after a cancellation */

enum { WITHDRAW_ATTEMPTS_MAX = 3 };

#define HOLD_FIRST_US INT64_C(500000) /* R14: parts of a split request, while another waits */
#define HOLD_MAX_US INT64_C(8000000)
#define PAUSE_FIRST_US INT64_C(10000)
#define PAUSE_MAX_US INT64_C(250000)

struct wait {
    lk_store *store;
    const struct lk_checked *checked;
    struct lk_command command; /* the ask */
    struct lk_tie *tie;        /* whose connection it ends with; NULL: none of its own */
    struct lk_waker *waker;    /* thrown by the request's cancellation */
    struct lk_outage outage;
    struct lk_decision *decision; /* of the last ask */
    int64_t end_us;               /* LK_NEVER: waits for ever */
    int64_t sent_us;              /* the last ask */
    struct lk_wait_entry entry;   /* the queued request, as of the last answer */
    bool is_split; /* R14: is queued at one node, and holds the parts at those before it */
    struct lk_batch_progress progress; /* of a split request */
    int64_t hold_end_us;               /* then it releases them; LK_NEVER: none is held */
    uint32_t retries;                  /* how often it has released them and begun again */
    bool was_requeued;   /* the store had lost the request, and this wait has made a new one */
    bool is_ours;        /* this wait has made the request */
    bool is_answered;    /* the last ask was */
    bool is_asked_twice; /* a grant whose answer was slow has been refreshed */
};

int64_t lk_wait_instant_after(int64_t duration_ms) {
    int64_t now_us = lk_clock_now_us();

    return duration_ms > (INT64_MAX - now_us) / 1000 ? LK_NEVER : now_us + duration_ms * 1000;
}

int64_t lk_wait_patience_until(int64_t patience_ms) {
    return lk_wait_instant_after(patience_ms != 0 ? patience_ms : LK_PATIENCE_DEFAULT_MS);
}

/* ---- one ask --------------------------------------------------------------------------------- */

static struct lk_ask ask_from(const struct lk_checked *checked) {
    const lk_request *request = &checked->request;

    return (struct lk_ask){
        .owner = lk_slice_of(checked->owner),
        .parts = checked->parts,
        .part_count = checked->part_count,
        .style = request->style,
        .ttl_ms = request->ttl_ms,
        .until_us = request->until_unix_ms * 1000,
        .note_given = request->note != NULL,
        .note = lk_slice_of(request->note),
        .blockers_max = request->blockers_max,
        .wants_value = request->value,
        .is_bound = request->bound,
    };
}

static lk_outcome decide(struct wait *wait, const struct lk_patience *patience) {
    struct lk_engine *engine = wait->store->engine;

    if (wait->tie != NULL) {
        return engine->ops->ties->decide(wait->tie, engine, &wait->command, patience,
                                         wait->decision);
    }
    return wait->is_split && wait->command.ask.style == LK_WAIT
               ? lk_batch_wait(engine, &wait->command, patience, &wait->progress, wait->decision)
               : lk_batch_decide(engine, &wait->command, patience, wait->decision);
}

static lk_outcome ask_store(struct wait *wait, lk_style style, const struct lk_patience *patience) {

    lk_decision_done(wait->decision);
    wait->command.ask.style = style;
    wait->sent_us = lk_clock_now_us();
    lk_contact_begin(&wait->store->contact, wait->sent_us);
    lk_outcome outcome = decide(wait, patience);
    lk_contact_end(&wait->store->contact, wait->sent_us, &wait->decision->error);
    wait->is_answered = outcome != LK_UNAVAILABLE && outcome != LK_CANCELLED;
    return outcome;
}

/*
 * The time for a last call: the full patience, or a moment if the store has not answered the last
 * ask. When a wait is cancelled, an engine may have spent any time on that ask; and one that was
 * answered has slept since then, in which time the store may have gone without a word.
 */
static struct lk_patience close_budget(const struct wait *wait) {
    int64_t now_us = lk_clock_now_us();
    int64_t until_us = lk_wait_patience_until(wait->checked->request.patience_ms);

    if (!wait->is_answered) {
        until_us = now_us + LK_CLOSE_BUDGET_US;
    } else if (lk_waker_is_thrown(wait->waker)) {
        until_us = lk_min(until_us, now_us + CANCEL_BUDGET_US);
    }
    return (struct lk_patience){.until_us = until_us};
}

/* Clears what the answer says of a request that has ended. */
static void forget_answer(struct wait *wait) {
    lk_result *result = &wait->decision->result;

    result->ticket = 0;
    result->token = 0;
    result->ttl_ms = 0;
    result->expires_in_ms = -1;
    lk_result_drop_values(result);
}

/* Releases the request, queued or granted just now. The outcome of the wait stays as it is. */
static void withdraw(struct wait *wait) {
    const struct lk_ask *ask = &wait->command.ask;
    const struct lk_command release = {
        .kind = LK_COMMAND_RELEASE,
        .release = {.target = {.owner = ask->owner,
                               .parts = ask->parts,
                               .part_count = ask->part_count}},
    };
    const struct lk_patience patience = close_budget(wait);
    struct lk_decision ignored;
    lk_outcome outcome;
    int attempts = 0;

    /* A lost answer is asked for again; LOST then means that the first call ended the request. */
    do {
        int64_t sent_us = lk_clock_now_us();
        lk_contact_begin(&wait->store->contact, sent_us);
        outcome = lk_batch_decide(wait->store->engine, &release, &patience, &ignored);
        lk_contact_end(&wait->store->contact, sent_us, &ignored.error);
        lk_decision_done(&ignored);
    } while (outcome == LK_UNAVAILABLE && ++attempts < WITHDRAW_ATTEMPTS_MAX
             && lk_clock_now_us() < patience.until_us);
    /* If the store cannot be reached, the request perishes by its ttl. */
    forget_answer(wait);
}

/* The same for a split request, node by node. */
static void withdraw_split(struct wait *wait) {
    lk_batch_withdraw(wait->store->engine, &wait->command.ask, &wait->progress);
    forget_answer(wait);
}

/*
 * Whether the queued request was ended by a break (R12), or by its owner elsewhere. The ask that
 * found this out has made a new request, which must not stay then. It stays if the store had lost
 * the former one.
 */
static bool was_ended_elsewhere(struct wait *wait, const struct lk_patience *patience) {
    const struct lk_ask *ask = &wait->command.ask;

    if (wait->is_split || !lk_wait_entry_is_gone(&wait->entry, &wait->decision->result)) {
        return false;
    }
    wait->was_requeued = true;
    return lk_wait_entry_was_ended(&wait->entry, wait->store->engine, ask->owner, ask->parts,
                                   ask->part_count, patience);
}

/* Asks within a wait, and records the request and whether this wait has made it. */
static lk_outcome ask_in_wait(struct wait *wait, lk_style style,
                              const struct lk_patience *patience) {
    lk_result *result = &wait->decision->result;
    uint64_t interruptions = lk_engine_status(wait->store->engine).interruptions;
    lk_outcome outcome = ask_store(wait, style, patience);

    if (outcome == LK_UNAVAILABLE || outcome == LK_CANCELLED) {
        return outcome;
    }
    lk_outage_end(&wait->outage);
    if ((outcome == LK_WAITING || outcome == LK_GRANTED) && was_ended_elsewhere(wait, patience)) {
        withdraw(wait);
        return lk_decision_fail(wait->decision, LK_LOST,
                                "the request was ended from outside while it waited");
    }
    if (outcome == LK_INVALID && wait->entry.until_us != 0) {
        /* It was valid when it was queued: its fixed end has come (R11). */
        wait->end_us = 0;
        return LK_WAITING;
    }
    wait->is_ours = wait->is_ours || result->created;
    result->created = wait->is_ours;
    if (outcome == LK_WAITING) {
        wait->entry = lk_wait_entry_of(result, wait->sent_us, interruptions);
    }
    return outcome;
}

static struct lk_patience patience_in_wait(const struct wait *wait) {
    int64_t until_us = lk_wait_patience_until(wait->checked->request.patience_ms);
    int64_t end_us = lk_max(wait->end_us, lk_clock_now_us() + PATIENCE_MIN_US);

    return (struct lk_patience){.until_us = lk_min(until_us, end_us),
                                .waker = wait->waker,
                                .on_failure = lk_contact_fail,
                                .context = &wait->store->contact};
}

/* ---- the wait -------------------------------------------------------------------------------- */

/*
 * R14: releases the parts that are held, and begins again after a randomised back-off, so that two
 * waits do not block each other for ever. The next time it holds longer, so that it reaches the
 * head of a queue that moves.
 */
static lk_outcome begin_again(struct wait *wait) {
    int64_t pause_us = lk_backoff_delay(PAUSE_FIRST_US, PAUSE_MAX_US, wait->retries++);

    lk_batch_withdraw(wait->store->engine, &wait->command.ask, &wait->progress);
    wait->hold_end_us = LK_NEVER;
    pause_us = lk_min(pause_us, lk_max(wait->end_us - lk_clock_now_us(), 0));
    return lk_waker_sleep(wait->waker, pause_us) ? LK_CANCELLED : LK_OK;
}

/* R14: a split request that waits at one node holds parts at others for a bounded time only. */
static void bound_hold(struct wait *wait) {
    if (wait->progress.held == 0) {
        wait->hold_end_us = LK_NEVER;
    } else if (wait->hold_end_us == LK_NEVER) {
        wait->hold_end_us =
            lk_clock_now_us() + lk_backoff_delay(HOLD_FIRST_US, HOLD_MAX_US, wait->retries);
    }
}

/* Sleeps until the request may have changed, or has to be refreshed, or the wait is over. */
static lk_outcome await_change(struct wait *wait) {
    struct lk_engine *engine = wait->store->engine;
    int64_t third_us = wait->decision->result.expires_in_ms * 1000 / 3;
    int64_t until_us = lk_clock_now_us() + REFRESH_MIN_US;

    if (wait->command.ask.is_bound) { /* so that a connection that is cut is found */
        third_us = lk_min(third_us, LK_BOUND_PROMISE_MS * 1000 / 3);
    }
    if (wait->is_split) {
        bound_hold(wait);
        if (lk_clock_now_us() >= wait->hold_end_us) {
            return begin_again(wait);
        }
    }
    until_us = lk_max(until_us, wait->sent_us + third_us);
    until_us = lk_min(until_us, lk_min(wait->hold_end_us, wait->end_us));
    return engine->ops->await(engine, &wait->decision->cursor, until_us, wait->waker);
}

/* A wait ends at the fixed end of its own request, too. */
static void end_with_fixed(struct wait *wait) {
    if (wait->decision->result.fixed) {
        wait->end_us =
            lk_min(wait->end_us, wait->sent_us + wait->decision->result.expires_in_ms * 1000);
    }
}

static bool was_slow_to_answer(const struct wait *wait) {
    int64_t third_us = wait->decision->result.expires_in_ms * 1000 / 3;

    return !wait->decision->result.fixed && lk_clock_now_us() - wait->sent_us > third_us;
}

/*
 * Asks until the answer is final. LK_WAITING: the time is up; LK_CANCELLED: the waker was thrown.
 * In both cases the caller withdraws the request.
 */
static lk_outcome wait_for_grant(struct wait *wait) {
    while (!lk_waker_is_thrown(wait->waker)) {
        const struct lk_patience patience = patience_in_wait(wait);
        lk_outcome outcome = ask_in_wait(wait, LK_WAIT, &patience);

        switch (outcome) {
        case LK_UNAVAILABLE:
            if (!lk_outage_outlast(&wait->outage, wait->sent_us, wait->end_us,
                                   wait->checked->request.patience_ms, wait->waker)) {
                return outcome;
            }
            break;
        case LK_WAITING:
            end_with_fixed(wait);
            if (lk_clock_now_us() >= wait->end_us) {
                return LK_WAITING;
            }
            (void)await_change(wait); /* the outcome does not matter: the next ask has the answer */
            break;
        case LK_GRANTED:
            if (!was_slow_to_answer(wait) || wait->is_asked_twice) {
                return outcome;
            }
            wait->is_asked_twice = true; /* its deadline may be near: refresh it (R3) */
            break;
        default:
            return outcome;
        }
    }
    return LK_CANCELLED;
}

/* Leaves a request that this wait has not made in the queue, as one that no wait attends (R10). */
static lk_outcome end_wait_in_queue(struct wait *wait) {
    const struct lk_patience patience = close_budget(wait);

    return ask_in_wait(wait, LK_QUEUE, &patience);
}

/* Ends the wait early, by time or by cancellation. */
static lk_outcome give_up(struct wait *wait, lk_outcome reason) {
    if (wait->is_split) {
        withdraw_split(wait);
    } else if (wait->is_ours && wait->sent_us != 0) {
        withdraw(wait);
    } else if (wait->entry.until_us != 0) {
        lk_outcome outcome = end_wait_in_queue(wait);

        if (reason == LK_TIMEOUT && outcome != LK_WAITING) {
            return outcome; /* granted at the last moment, or lost, or the store is away */
        }
    }
    return lk_error_clear(&wait->decision->error, reason);
}

static lk_outcome ask_until_final(struct wait *wait) {
    lk_outcome outcome = wait_for_grant(wait);

    switch (outcome) {
    case LK_WAITING:
        return give_up(wait, LK_TIMEOUT);
    case LK_CANCELLED:
        return give_up(wait, LK_CANCELLED);
    case LK_UNAVAILABLE:
        if (wait->is_split) { /* nothing may stay at the nodes that answer */
            lk_batch_withdraw(wait->store->engine, &wait->command.ask, &wait->progress);
        } else if (wait->is_ours && lk_engine_status(wait->store->engine).is_read_only) {
            withdraw(wait); /* the store answers, and may hold what it cannot promise */
        }
        return outcome;
    default:
        return outcome;
    }
}

lk_outcome lk_wait_ask(lk_store *store, const struct lk_checked *checked, struct lk_tie *tie,
                       struct lk_decision *ret_decision, int64_t *ret_sent_us) {
    const lk_request *request = &checked->request;
    struct lk_cancel_link link;
    struct wait wait = {
        .store = store,
        .checked = checked,
        .command = {.kind = LK_COMMAND_ASK, .ask = ask_from(checked)},
        .tie = tie,
        .waker = &link.waker,
        .outage = lk_outage_new(store->engine),
        .decision = ret_decision,
        .end_us = lk_wait_instant_after(request->wait_ms),
        .hold_end_us = LK_NEVER,
        .is_split = lk_batch_is_split(store->engine, checked->parts, checked->part_count),
        .is_ours = checked->is_owner_made,
    };

    *ret_sent_us = 0;
    lk_decision_begin(ret_decision, NULL);
    if (lk_cancel_join(request->cancel, &link, &ret_decision->error) != LK_OK) {
        return LK_INTERNAL;
    }
    if (request->style == LK_WAIT && request->wait_ms > 0) {
        (void)ask_until_final(&wait);
    } else {
        const struct lk_patience patience = {
            .until_us = lk_wait_patience_until(request->patience_ms), .waker = &link.waker};

        /* A wait of no duration is a try. */
        (void)ask_store(&wait, request->style == LK_QUEUE ? LK_QUEUE : LK_TRY, &patience);
    }
    lk_cancel_leave(&link);
    ret_decision->result.requeued = wait.was_requeued || wait.progress.was_requeued;
    *ret_sent_us = wait.sent_us;
    return ret_decision->error.outcome;
}
