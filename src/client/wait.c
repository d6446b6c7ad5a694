/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wait: ask, sleep until something may have changed, ask again.
 *
 * Every ask is a repetition of the first (R3), so a lost answer or a needless wake-up does no
 * harm. Repeating it every third of the ttl keeps the request's place in the queue (R10). A call
 * that ends early takes back the request if it has made it, and no other: what an ask without an
 * answer may have made as well (leftover.h).
 */
#include "client/wait.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/random.h"
#include "client/batch.h"
#include "client/cancel.h"
#include "client/contact.h"
#include "client/renewal.h"
#include "client/split.h"
#include "engine/reply/reply.h"

#define PATIENCE_MIN_US INT64_C(1000000) /* however short the wait: a store may just be busy */
#define REFRESH_MIN_US INT64_C(10000)    /* between two asks, however near the deadline is */
#define CLOSE_MIN_US INT64_C(500000)     /* for the last call, however late it is */

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
    struct lk_waker *late;     /* the same, for asks: what they have sent may be answered */
    struct lk_outage outage;
    struct lk_decision *decision; /* of the last ask */
    int64_t end_us;               /* LK_NEVER: waits for ever */
    int64_t sent_us;              /* the last ask */
    int64_t began_us;             /* before the first ask, or the one that it repeats */
    struct lk_wait_entry entry;   /* the queued request, as of the last answer */
    bool is_split; /* R14: is queued at one node, and holds the parts at those before it */
    struct lk_batch_progress progress; /* of a split request */
    int64_t hold_end_us;               /* then it releases them; LK_NEVER: none is held */
    uint32_t retries;                  /* how often it has released them and begun again */
    struct lk_asking *asking;          /* NULL: the owner was made for the call */
    bool was_requeued;   /* the store had lost the request, and this wait has made a new one */
    bool is_ours;        /* this wait has made the request */
    bool is_sent;        /* the store may have received an ask */
    bool is_judged;      /* an answer has said who made the request */
    bool is_in_doubt;    /* an ask without an answer may have made it */
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
    /* What is known of the nodes may have changed since the last ask. */
    wait->is_split = wait->is_split
                     || lk_split_is_needed(engine, wait->checked->parts, wait->checked->part_count);
    return wait->is_split
               ? lk_batch_ask(engine, &wait->command, patience, &wait->progress, wait->decision)
               : engine->ops->decide(engine, &wait->command, patience, wait->decision);
}

/*
 * An answer that does not say `created` leaves it open who made the request, if an ask before it,
 * or an attempt within this one, had no answer.
 */
static void judge_origin(struct wait *wait, lk_outcome outcome, uint64_t interruptions) {
    bool is_unknown = outcome == LK_UNAVAILABLE || outcome == LK_CANCELLED;

    wait->is_answered = !is_unknown;
    if (is_unknown) {
        wait->is_in_doubt = wait->is_in_doubt || (wait->is_sent && !wait->is_judged);
    } else if (wait->decision->result.created) {
        wait->is_ours = true;
    } else if (!wait->is_judged) {
        wait->is_in_doubt = wait->is_in_doubt
                            || lk_engine_status(wait->store->engine).interruptions != interruptions;
    }
    wait->is_judged = wait->is_judged || !is_unknown;
}

static lk_outcome ask_store(struct wait *wait, lk_style style, const struct lk_patience *patience) {
    uint64_t interruptions = lk_engine_status(wait->store->engine).interruptions;

    lk_decision_done(wait->decision);
    wait->command.ask.style = style;
    wait->sent_us = lk_clock_now_us();
    lk_contact_begin(&wait->store->contact, wait->sent_us);
    lk_outcome outcome = decide(wait, patience);
    lk_contact_end(&wait->store->contact, wait->sent_us, &wait->decision->error);
    judge_origin(wait, outcome, interruptions);
    return outcome;
}

static bool is_cancelled(const struct wait *wait) {
    return lk_waker_is_thrown(wait->waker);
}

/*
 * The time for a last call: the full patience, or a moment if the store has not answered the last
 * ask. When a wait is cancelled, an engine may have spent any time on that ask; and one that was
 * answered has slept since then, in which time the store may have gone without a word.
 */
static struct lk_patience close_budget(const struct wait *wait) {
    int64_t now_us = lk_clock_now_us();
    int64_t until_us = lk_wait_patience_until(wait->checked->request.patience_ms);

    if (is_cancelled(wait)) {
        until_us = lk_min(until_us, lk_waker_thrown_us(wait->waker) + LK_CANCEL_US);
    }
    if (!wait->is_answered) {
        until_us = lk_min(until_us, now_us + LK_CLOSE_BUDGET_US);
    }
    return (struct lk_patience){.until_us = lk_max(until_us, now_us + CLOSE_MIN_US)};
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

/* What this wait may have made. One that is bound ends with the connection that has no answer. */
static bool may_be_left(const struct wait *wait) {
    bool is_made = wait->is_ours && (wait->is_sent || wait->is_judged);

    return (is_made || wait->is_in_doubt) && (wait->is_answered || !wait->command.ask.is_bound);
}

static struct lk_leftover leftover_of(const struct wait *wait) {
    const struct lk_ask *ask = &wait->command.ask;

    return (struct lk_leftover){
        .owner = ask->owner,
        .parts = ask->parts,
        .part_count = ask->part_count,
        .began_us = wait->began_us,
        .ttl_ms = ask->until_us == 0 ? ask->ttl_ms : LK_TTL_MAX_MS,
        .is_ours = wait->is_ours,
        .close_until_us = is_cancelled(wait) ? lk_waker_thrown_us(wait->waker) + LK_CANCEL_US
                                             : lk_clock_now_us() + LK_LEFTOVER_CLOSE_US,
    };
}

/* Leaves it to a thread of the store, which ends it when the store answers: unless another call may
 * have been granted it, as then no token tells them apart. */
static void end_later(struct wait *wait) {
    const struct lk_leftover leftover = leftover_of(wait);

    if (!lk_leftovers_is_shared(wait->asking)) {
        lk_leftovers_add(&wait->store->leftovers, &leftover);
    }
}

/*
 * Releases the request, queued or granted just now. The outcome of the wait stays as it is. LK_OK;
 * LK_BUSY: it is older than this wait, and stays; else a thread of the store goes on.
 */
static lk_outcome withdraw(struct wait *wait) {
    const struct lk_leftover leftover = leftover_of(wait);
    const struct lk_patience patience = close_budget(wait);
    lk_outcome outcome;
    int attempts = 0;

    /* A lost answer is asked for again; NONE then means that the first call ended the request. */
    do {
        int64_t sent_us = lk_clock_now_us();
        lk_error error;

        lk_contact_begin(&wait->store->contact, sent_us);
        outcome = lk_leftover_end(wait->store->engine, &leftover, &patience, &error);
        lk_contact_end(&wait->store->contact, sent_us, &error);
    } while (outcome == LK_UNAVAILABLE && ++attempts < WITHDRAW_ATTEMPTS_MAX
             && lk_clock_now_us() < patience.until_us);
    if (outcome == LK_UNAVAILABLE || (outcome == LK_NONE && !wait->is_answered)) {
        end_later(wait);
    }
    if (outcome != LK_BUSY) {
        forget_answer(wait);
    }
    return outcome;
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
    lk_waker_set_late(wait->late, LK_CANCEL_ANSWER_US);
    if ((outcome == LK_WAITING || outcome == LK_GRANTED) && was_ended_elsewhere(wait, patience)) {
        (void)withdraw(wait);
        return lk_decision_fail(wait->decision, LK_LOST,
                                "the request was ended from outside while it waited");
    }
    if (outcome == LK_INVALID && wait->entry.until_us != 0) {
        /* It was valid when it was queued: its fixed end has come (R11). */
        wait->end_us = 0;
        return LK_WAITING;
    }
    result->created = wait->is_ours;
    if (outcome == LK_WAITING) {
        wait->entry = lk_wait_entry_of(result, wait->sent_us, interruptions);
    }
    return outcome;
}

/* on_failure() of struct lk_patience. */
static void note_failure(void *context, const lk_error *error) {
    struct wait *wait = context;

    lk_contact_fail(&wait->store->contact, error);
    lk_waker_set_late(wait->late, LK_CANCEL_ANSWER_AWAY_US);
}

static struct lk_patience patience_for(struct wait *wait, int64_t until_us) {
    return (struct lk_patience){.until_us = until_us,
                                .waker = wait->late,
                                .on_failure = note_failure,
                                .context = wait,
                                .is_sent = &wait->is_sent};
}

static struct lk_patience patience_in_wait(struct wait *wait) {
    int64_t until_us = lk_wait_patience_until(wait->checked->request.patience_ms);
    int64_t end_us = lk_max(wait->end_us, lk_clock_now_us() + PATIENCE_MIN_US);

    return patience_for(wait, lk_min(until_us, end_us));
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

/* Whether an answer that comes after the cancellation leaves something to be taken back. */
static bool is_for_nobody(lk_outcome outcome) {
    return outcome == LK_GRANTED || outcome == LK_WAITING || outcome == LK_UNAVAILABLE
           || outcome == LK_CANCELLED;
}

/*
 * Asks until the answer is final. LK_WAITING: the time is up; LK_CANCELLED: the waker was thrown.
 * In both cases the caller withdraws the request.
 */
static lk_outcome wait_for_grant(struct wait *wait) {
    while (!is_cancelled(wait)) {
        const struct lk_patience patience = patience_in_wait(wait);
        lk_outcome outcome = ask_in_wait(wait, LK_WAIT, &patience);

        if (is_cancelled(wait) && is_for_nobody(outcome)) {
            return LK_CANCELLED;
        }
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
    bool is_older = true;

    if (wait->is_split) {
        withdraw_split(wait);
        is_older = false;
    } else if (may_be_left(wait)) {
        is_older = withdraw(wait) == LK_BUSY;
    }
    if (is_older && wait->entry.until_us != 0) {
        lk_outcome outcome = end_wait_in_queue(wait);

        if (reason == LK_TIMEOUT && outcome != LK_WAITING) {
            return outcome; /* granted at the last moment, or lost, or the store is away */
        }
    } else if (is_older && reason == LK_CANCELLED) {
        forget_answer(wait);
    }
    return lk_error_clear(&wait->decision->error, reason);
}

/* The store is away: what it has made, or will make of what it has, is taken back later. */
static void give_up_away(struct wait *wait) {
    if (wait->is_split) { /* nothing may stay at the nodes that answer */
        withdraw_split(wait);
    } else if (wait->is_ours && lk_engine_status(wait->store->engine).is_read_only) {
        (void)withdraw(wait); /* the store answers, and may hold what it cannot promise */
    } else if (may_be_left(wait)) {
        end_later(wait);
    }
}

static lk_outcome ask_until_final(struct wait *wait) {
    lk_outcome outcome = wait_for_grant(wait);

    switch (outcome) {
    case LK_WAITING:
        return give_up(wait, LK_TIMEOUT);
    case LK_CANCELLED:
        return give_up(wait, LK_CANCELLED);
    case LK_UNAVAILABLE:
        give_up_away(wait);
        return outcome;
    default:
        return outcome;
    }
}

/* A try, which a wait of no duration is as well, or an entry into the queue. */
static lk_outcome ask_once(struct wait *wait, lk_style style) {
    const struct lk_patience patience =
        patience_for(wait, lk_wait_patience_until(wait->checked->request.patience_ms));
    lk_outcome outcome = LK_CANCELLED;

    if (!is_cancelled(wait)) {
        outcome = ask_store(wait, style, &patience);
    }
    if (is_cancelled(wait) && is_for_nobody(outcome)) {
        return give_up(wait, LK_CANCELLED);
    }
    if (outcome == LK_UNAVAILABLE && !wait->is_split) { /* else every node has been asked */
        give_up_away(wait);
    }
    return outcome;
}

lk_outcome lk_wait_ask(lk_store *store, const struct lk_checked *checked, struct lk_tie *tie,
                       struct lk_decision *ret_decision, int64_t *ret_sent_us) {
    const lk_request *request = &checked->request;
    struct lk_cancel_link link;
    struct lk_asking asking = {
        .url = store->url, .parts = checked->parts, .part_count = checked->part_count};
    struct wait wait = {
        .store = store,
        .checked = checked,
        .asking = checked->is_owner_made ? NULL : &asking,
        .command = {.kind = LK_COMMAND_ASK, .ask = ask_from(checked)},
        .tie = tie,
        .waker = &link.waker,
        .late = &link.late,
        .outage = lk_outage_new(store->engine),
        .decision = ret_decision,
        .end_us = lk_wait_instant_after(request->wait_ms),
        .hold_end_us = LK_NEVER,
        .is_split = lk_split_is_needed(store->engine, checked->parts, checked->part_count),
        .progress = {.is_owner_made = checked->is_owner_made, .leftovers = &store->leftovers},
        .is_ours = checked->is_owner_made,
    };

    *ret_sent_us = 0;
    lk_decision_begin(ret_decision, NULL);
    if (lk_cancel_join(request->cancel, &link, &ret_decision->error) != LK_OK) {
        return LK_INTERNAL;
    }
    wait.began_us = lk_clock_now_us();
    if (wait.asking != NULL) {
        asking.owner = wait.command.ask.owner;
        wait.began_us = lk_min(wait.began_us, lk_leftovers_enter(&asking));
    }
    wait.progress.began_us = wait.began_us;
    wait.progress.asking = wait.asking;
    if (request->style == LK_WAIT && request->wait_ms > 0) {
        (void)ask_until_final(&wait);
    } else {
        (void)ask_once(&wait, request->style == LK_QUEUE ? LK_QUEUE : LK_TRY);
    }
    if (wait.asking != NULL) {
        lk_leftovers_leave(&asking);
    }
    lk_cancel_leave(&link);
    ret_decision->result.requeued = wait.was_requeued || wait.progress.was_requeued;
    *ret_sent_us = wait.sent_us;
    return ret_decision->error.outcome;
}
