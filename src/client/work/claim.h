/* SPDX-License-Identifier: Apache-2.0 */
/* Claiming items (R16), and waiting until one is claimable. */
#ifndef LK_CLIENT_WORK_CLAIM_H
#define LK_CLIENT_WORK_CLAIM_H

#include "base/random.h"
#include "client/contact.h"
#include "client/store.h"
#include "client/work/leader.h"

/* A claimant, for any number of claims, one after another. */
struct lk_claiming {
    lk_store *store;
    struct lk_command command;      /* a take; its ask number is drawn for each claim */
    struct lk_series *series;       /* several claims in one decision; NULL: one at a time */
    struct lk_command *commands;    /* of the series: room for... */
    size_t max;                     /* ...so many takes */
    const struct lk_source *source; /* R17; NULL: the queue is no table */
    struct lk_waker *waker;         /* thrown when it is to stop */
    struct lk_waker *late;          /* the same, for takes: what they have sent may be answered */
    struct lk_outage outage;
    struct lk_random random; /* for ask numbers */
    bool is_unknown;         /* whether the last take got an item: it is repeated */
    bool is_owner_made;      /* the owner has no claims but those of this claimant, one at a time */
    bool is_sent;            /* the store may have received a take of this ask number */
    int64_t began_us;        /* before the first of them was sent */
    int64_t open_us;         /* when the last of them ended without an answer; 0: all have one */
    bool keeps_number;       /* the take sent with a finish got no item, or its answer was lost */
    lk_claim_info *followed; /* the item of that take, for the next lk_claim_await(); NULL: none */
    int64_t followed_sent_us;
    int64_t end_us;                /* until when work is waited for; 0: a try; LK_NEVER */
    int64_t away_end_us;           /* how long to retry a store that does not answer; LK_NEVER */
    int64_t patience_ms;           /* the same, since its last answer; 0: no limit */
    bool drains;                   /* ends when no item is ready, delayed or claimed, or all that
                                      are ready wait for the order of a parked one */
    bool outlasts_full;            /* LK_FULL is waited out, as an empty queue is */
    struct lk_pool_leader *leader; /* of its pool; NULL: this one waits alone */
    uint32_t member;               /* of that pool */
    bool leads;
};

/* The engine's decide(), or its table's where the queue is one. */
lk_outcome lk_claim_decide(const struct lk_claiming *claiming, const struct lk_command *command,
                           const struct lk_patience *patience, struct lk_decision *ret_decision);

/*
 * Ends a claim as done, and may take the next one in the same call, for the lk_claim_await() that
 * must follow. Returns the outcome of the finish. Blocks until `until_us` at most.
 */
lk_outcome lk_claim_follow(struct lk_claiming *claiming, const struct lk_finish *finish,
                           int64_t until_us, lk_error *error);

/* Makes the claimant one for up to `max` items at once. false: memory is exhausted. */
bool lk_claim_begin_series(struct lk_claiming *claiming, size_t max);
void lk_claim_end_series(struct lk_claiming *claiming); /* also where there is none */

/* lk_claim_decide() of the claimant's takes. The decision is that of the first one. */
lk_outcome lk_claim_take_series(struct lk_claiming *claiming, const struct lk_patience *patience,
                                struct lk_decision *ret_decision);

/*
 * LK_GRANTED with *ret_claim and *ret_sent_us, when the ask that brought it was sent: the claim
 * lives at least until then + expires_in_ms. LK_BUSY: a try found nothing, or nothing is left;
 * LK_TIMEOUT; LK_CANCELLED: the waker was thrown; or any other outcome of the engine.
 * With a series, the claims behind the first one are in its answers.
 */
lk_outcome lk_claim_await(struct lk_claiming *claiming, lk_claim_info **ret_claim,
                          int64_t *ret_sent_us, lk_error *error);

#endif
