/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a store answers, as the asks and renewals of its handle find out: for lk_away_ms(). A
 * call that is under way counts as unanswered, because an engine tries for its caller's whole
 * patience before it fails.
 */
#ifndef LK_CLIENT_CONTACT_H
#define LK_CLIENT_CONTACT_H

#include <pthread.h>
#include <stdint.h>

#include "lockkeeper/lockkeeper.h"

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

#endif
