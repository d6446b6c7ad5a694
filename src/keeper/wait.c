/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wait: ask, sleep until something may have changed, ask again.
 *
 * Every ask is a repetition of the first (R3), so a lost answer or a needless wake-up does no
 * harm, and asking again every third of the ttl is what keeps the place in line (R10). What ends
 * a wait early takes back what this wait put in line, and only that.
 */
#include "keeper/wait.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/least.h"
#include "base/random.h"
#include "engine/reply.h"
#include "keeper/absence.h"
#include "keeper/batch.h"
#include "keeper/cancel.h"

#define PATIENCE_MIN_US INT64_C(1000000) /* however short the wait: a store may just be busy */
#define LOOK_MIN_US INT64_C(10000)       /* a request near its end is not looked at more often */

enum { WITHDRAW_ATTEMPTS_MAX = 3 };

#define PAUSE_MIN_US INT64_C(2000)
#define PAUSE_FIRST_US INT64_C(10000)
#define PAUSE_MAX_US INT64_C(250000)

struct wait {
    lk_store *store;
    const struct lk_checked *checked;
    struct lk_ask ask;
    struct lk_waker *waker; /* thrown by the request's cancellation */
    struct lk_absence absence;
    lk_result *result;
    int64_t end_us;          /* LK_NEVER: waits for ever */
    int64_t sent_us;         /* the last ask */
    int64_t stands_until_us; /* no deadline can have ended what stood in line by then; 0: nothing */
    struct lk_stand stand;
    bool is_split;       /* R14: nothing stands in line, it tries again and again */
    int64_t pause_us;    /* between two tries of a split request */
    bool is_ours;        /* this wait put the request there */
    bool is_asked_twice; /* a grant whose answer was slow was asked for again */
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
    };
}

static lk_outcome ask_store(struct wait *wait, lk_style style, const struct lk_patience *patience) {
    lk_result_clear(wait->result);
    wait->ask.style = style;
    wait->sent_us = lk_clock_now_us();
    wait->result->outcome =
        lk_batch_ask(wait->store->engine, &wait->ask, patience, wait->result, &wait->stand);
    return wait->result->outcome;
}

/* A store that answered just now is waited for; one that is away is not, by somebody who leaves. */
static struct lk_patience patience_of_farewell(const struct wait *wait) {
    int64_t until_us = wait->absence.since_us == LK_NEVER
                           ? lk_wait_patience_until(wait->checked->request.patience_ms)
                           : lk_clock_now_us() + LK_FAREWELL_US;

    return (struct lk_patience){.until_us = until_us};
}

/* Takes back what stands in line or was granted just now; the wait's answer stays what it is. */
static void withdraw(struct wait *wait) {
    const struct lk_release release = {.target = {.owner = wait->ask.owner,
                                                  .parts = wait->ask.parts,
                                                  .part_count = wait->ask.part_count}};
    const struct lk_patience patience = patience_of_farewell(wait);
    lk_result ignored = {.outcome = LK_OK};
    lk_outcome outcome;
    int attempts = 0;

    /* An answer that was lost is asked for again: what is gone by then is LOST, and as wanted. */
    do {
        outcome = lk_batch_release(wait->store->engine, &release, &patience, &ignored);
        lk_result_clear(&ignored);
    } while (outcome == LK_UNAVAILABLE && ++attempts < WITHDRAW_ATTEMPTS_MAX
             && lk_clock_now_us() < patience.until_us);
    /* Unreachable: then it perishes by its ttl. */
    wait->result->ticket = 0;
    wait->result->token = 0;
    wait->result->ttl_ms = 0;
    wait->result->expires_in_ms = -1;
    free(wait->result->value);
    wait->result->value = NULL;
    wait->result->value_size = 0;
    wait->result->in_doubt = false;
}

/*
 * What stood in line is gone, and not by its deadline: a break withdrew it (R12), or its owner did
 * elsewhere. The ask that found out has put a new one there, which must not stay.
 */
static bool was_ended_from_outside(const struct wait *wait) {
    return wait->result->created && !wait->is_split && lk_clock_now_us() < wait->stands_until_us;
}

/* Asks within a wait, and keeps count of whose the request is. */
static lk_outcome ask_in_wait(struct wait *wait, lk_style style,
                              const struct lk_patience *patience) {
    lk_result *result = wait->result;
    lk_outcome outcome = ask_store(wait, style, patience);

    if (outcome == LK_UNAVAILABLE || outcome == LK_CANCELLED) {
        return outcome;
    }
    lk_absence_end(&wait->absence);
    if ((outcome == LK_WAITING || outcome == LK_GRANTED) && was_ended_from_outside(wait)) {
        withdraw(wait);
        lk_result_clear(result);
        return lk_result_fail(result, LK_LOST,
                              "the request was ended from outside while it waited");
    }
    if (outcome == LK_INVALID && wait->stands_until_us != 0) {
        /* It was valid when it was put in line: its fixed end has come (R11). */
        wait->end_us = 0;
        return LK_WAITING;
    }
    wait->is_ours = wait->is_ours || result->created;
    result->created = wait->is_ours;
    if (outcome == LK_WAITING) {
        wait->stands_until_us = wait->sent_us + result->expires_in_ms * 1000;
    }
    return outcome;
}

/* ---- a store that is away -------------------------------------------------------------------- */

static struct lk_patience patience_in_wait(const struct wait *wait) {
    int64_t until_us = lk_wait_patience_until(wait->checked->request.patience_ms);
    int64_t end_us = lk_greatest(wait->end_us, lk_clock_now_us() + PATIENCE_MIN_US);

    return (struct lk_patience){.until_us = lk_least(until_us, end_us), .waker = wait->waker};
}

/* ---- the wait -------------------------------------------------------------------------------- */

/* R14: a randomised back-off, so that two who are in each other's way do not stay so. */
static lk_outcome pause_between_tries(struct wait *wait) {
    struct lk_random random = {lk_random_draw()};
    int64_t pause_us = lk_random_between(&random, PAUSE_MIN_US, wait->pause_us);

    wait->pause_us = lk_least(wait->pause_us * 2, PAUSE_MAX_US);
    pause_us = lk_least(pause_us, lk_greatest(wait->end_us - lk_clock_now_us(), 0));
    return lk_waker_sleep(wait->waker, pause_us) ? LK_CANCELLED : LK_OK;
}

/* Sleeps until the request may have changed, or has to be refreshed, or the wait is over. */
static lk_outcome sleep_in_line(struct wait *wait) {
    const struct lk_engine *engine = wait->store->engine;
    int64_t third_us = wait->result->expires_in_ms * 1000 / 3;
    int64_t look_us = lk_clock_now_us() + LOOK_MIN_US;

    if (wait->is_split) {
        return pause_between_tries(wait);
    }
    look_us = lk_greatest(look_us, wait->sent_us + third_us);
    return engine->ops->await(wait->store->engine, &wait->stand, lk_least(look_us, wait->end_us),
                              wait->waker);
}

/* A wait is over at the fixed end of its own request, too. */
static void end_with_fixed(struct wait *wait) {
    if (wait->result->fixed) {
        wait->end_us = lk_least(wait->end_us, wait->sent_us + wait->result->expires_in_ms * 1000);
    }
}

static bool was_slow_to_answer(const struct wait *wait) {
    int64_t third_us = wait->result->expires_in_ms * 1000 / 3;

    return !wait->result->fixed && lk_clock_now_us() - wait->sent_us > third_us;
}

/*
 * Asks until the answer is final. LK_WAITING: the time is up; LK_CANCELLED: the waker was thrown.
 * Whatever is answered then is for the caller to take back.
 */
static lk_outcome wait_for_grant(struct wait *wait) {
    while (!lk_waker_is_thrown(wait->waker)) {
        const struct lk_patience patience = patience_in_wait(wait);
        lk_outcome outcome = ask_in_wait(wait, LK_WAIT, &patience);

        switch (outcome) {
        case LK_UNAVAILABLE:
            if (!lk_absence_outlast(&wait->absence, wait->sent_us, wait->end_us,
                                    wait->checked->request.patience_ms, wait->waker)) {
                return outcome;
            }
            break;
        case LK_WAITING:
            end_with_fixed(wait);
            if (lk_clock_now_us() >= wait->end_us) {
                return LK_WAITING;
            }
            (void)sleep_in_line(wait); /* whatever it says, the next ask tells */
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

/* What this wait did not put in line stays there, but nobody is blocked on it any more (R10). */
static lk_outcome stop_attending(struct wait *wait) {
    const struct lk_patience patience = patience_of_farewell(wait);

    return ask_in_wait(wait, LK_QUEUE, &patience);
}

/* The wait is given up, by time or by cancellation. */
static lk_outcome give_up(struct wait *wait, lk_outcome reason) {
    lk_result *result = wait->result;

    if (wait->is_ours && wait->sent_us != 0) {
        withdraw(wait);
    } else if (wait->stands_until_us != 0) {
        lk_outcome outcome = stop_attending(wait);

        if (reason == LK_TIMEOUT && outcome != LK_WAITING) {
            return outcome; /* granted at the last moment, or lost, or the store is away */
        }
    }
    free(result->error);
    result->error = NULL;
    result->outcome = reason;
    return reason;
}

static lk_outcome wait_in_line(struct wait *wait) {
    lk_outcome outcome = wait_for_grant(wait);

    switch (outcome) {
    case LK_WAITING:
        return give_up(wait, LK_TIMEOUT);
    case LK_CANCELLED:
        return give_up(wait, LK_CANCELLED);
    default:
        return outcome;
    }
}

lk_outcome lk_wait_ask(lk_store *store, const struct lk_checked *checked, lk_result *result,
                       int64_t *ret_sent_us) {
    const lk_request *request = &checked->request;
    struct lk_waker waker;
    struct lk_cancel_link link;
    struct wait wait = {
        .store = store,
        .checked = checked,
        .ask = ask_from(checked),
        .waker = &waker,
        .absence = lk_absence_new(store->engine),
        .result = result,
        .end_us = lk_wait_instant_after(request->wait_ms),
        .is_split = lk_batch_is_split(store->engine, checked->parts, checked->part_count),
        .pause_us = PAUSE_FIRST_US,
        .is_ours = checked->is_owner_made,
    };

    if (!lk_waker_init(&waker)) {
        return lk_result_fail(result, LK_INTERNAL, "the system has no more conditions");
    }
    if (request->cancel != NULL) {
        lk_cancel_join(request->cancel, &link, &waker);
    }
    if (request->style == LK_WAIT && request->wait_ms > 0) {
        (void)wait_in_line(&wait);
    } else {
        const struct lk_patience patience = {
            .until_us = lk_wait_patience_until(request->patience_ms), .waker = &waker};

        /* A wait of no time is a try. */
        (void)ask_store(&wait, request->style == LK_QUEUE ? LK_QUEUE : LK_TRY, &patience);
    }
    if (request->cancel != NULL) {
        lk_cancel_leave(request->cancel, &link);
    }
    lk_waker_done(&waker);
    *ret_sent_us = wait.sent_us;
    return result->outcome;
}
