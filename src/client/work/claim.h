/* SPDX-License-Identifier: Apache-2.0 */
/* Claiming work (R16), and waiting until there is some. */
#ifndef LK_CLIENT_WORK_CLAIM_H
#define LK_CLIENT_WORK_CLAIM_H

#include "base/random.h"
#include "client/outage.h"
#include "client/store.h"

/* A claimant. May claim again and again. */
struct lk_claiming {
    lk_store *store;
    struct lk_command command;      /* a take; its ask number is drawn for each claim */
    const struct lk_source *source; /* R17; NULL: the queue is no table */
    struct lk_waker *waker;
    struct lk_outage outage;
    struct lk_random random; /* for ask numbers */
    bool is_unknown;   /* whether what was asked last has got an item: then it is asked again */
    bool keeps_number; /* what was asked with an end brought nothing, or its answer was lost */
    lk_claim_info *followed; /* what the next lk_claim_await() brings; NULL: nothing yet */
    int64_t followed_sent_us;
    int64_t end_us;      /* until when work is waited for; 0: a try; LK_NEVER */
    int64_t away_end_us; /* until when a store that is away is waited for; LK_NEVER */
    int64_t patience_ms; /* the same, from when it went away; 0: any */
    bool drains;         /* gives up when nothing is left: nothing ready, delayed or claimed */
    bool outlasts_full;  /* LK_FULL is waited out like having nothing to claim */
};

/* The engine's decide(), or its table's where the queue is one. */
lk_outcome lk_claim_decide(const struct lk_claiming *claiming, const struct lk_command *command,
                           const struct lk_patience *patience, struct lk_decision *ret_decision);

/*
 * Ends a claim as done, and may take the next one in the same call, for the lk_claim_await() that
 * has to follow: the outcome of the finish. `until_us`: until when an answer is waited for.
 */
lk_outcome lk_claim_follow(struct lk_claiming *claiming, const struct lk_finish *finish,
                           int64_t until_us, lk_error *error);

/*
 * LK_GRANTED with *ret_claim and *ret_sent_us, when the ask that brought it was sent: the claim
 * lives at least until then + expires_in_ms. LK_BUSY: a try found nothing, or nothing is left;
 * LK_TIMEOUT; LK_CANCELLED: the waker was thrown; or what else the engine said.
 */
lk_outcome lk_claim_await(struct lk_claiming *claiming, lk_claim_info **ret_claim,
                          int64_t *ret_sent_us, lk_error *error);

#endif
