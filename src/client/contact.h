/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a store answers: as all calls of its handle find out, and as one call does. */
#ifndef LK_CLIENT_CONTACT_H
#define LK_CLIENT_CONTACT_H

#include <pthread.h>
#include <stdint.h>

#include "base/waker.h"
#include "engine/engine.h"
#include "lockkeeper/lockkeeper.h"

/* ---- all calls ------------------------------------------------------------------------------- */

/*
 * What the asks and renewals of a handle find out, for lk_away_ms(). A call that is under way
 * counts as unanswered, because an engine tries for its caller's whole patience before it fails.
 */

struct lk_contact {
    pthread_mutex_t mutex; /* guards the rest */
    int64_t since_us;      /* when the first unanswered call was sent; LK_NEVER: there is none */
    char why[LK_ERROR_TEXT_MAX]; /* of the last call that failed; empty: none has yet */
};

void lk_contact_init(struct lk_contact *contact);
void lk_contact_done(struct lk_contact *contact);

/* Before a call; and after it, with its outcome. */
void lk_contact_begin(struct lk_contact *contact, int64_t sent_us);
void lk_contact_end(struct lk_contact *contact, int64_t sent_us, const lk_error *error);

/* Within a call: why an attempt has failed. on_failure() of struct lk_patience. */
void lk_contact_fail(void *context, const lk_error *error);

/* ---- one call -------------------------------------------------------------------------------- */

/* A store that does not answer: since when, and how long until it is tried again. */
#define LK_CLOSE_BUDGET_US                                                                         \
    INT64_C(1000000) /* for the last calls of a client that closes, to a store that may be away */

struct lk_outage {
    struct lk_engine *engine;
    bool has_answered;
    int64_t since_us; /* the first call that was not answered; LK_NEVER: the store is there */
    uint32_t retries; /* since then */
};

struct lk_outage lk_outage_new(struct lk_engine *engine);

/* The store has answered. */
void lk_outage_end(struct lk_outage *outage);

/*
 * A call that was sent at `sent_us` was not answered: sleeps a while, longer each time. Returns
 * whether the store is to be tried again: not when `end_us` has come, when it has been away for
 * `patience_ms` (0: for as long as there is time), when it is away for good, and when it has not
 * answered yet and can only be read.
 */
bool lk_outage_outlast(struct lk_outage *outage, int64_t sent_us, int64_t end_us,
                       int64_t patience_ms, struct lk_waker *waker);

#endif
