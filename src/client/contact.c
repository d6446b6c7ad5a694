/* SPDX-License-Identifier: Apache-2.0 */
/* Any answer ends the time without one, from whichever thread it comes. */
#include "client/contact.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "client/store.h"
#include "model/model.h"

void lk_contact_init(struct lk_contact *contact) {
    /* Without attributes it does not fail. */
    (void)pthread_mutex_init(&contact->mutex, NULL);
    contact->since_us = LK_NEVER;
    contact->why[0] = '\0';
}

void lk_contact_done(struct lk_contact *contact) {
    (void)pthread_mutex_destroy(&contact->mutex);
}

void lk_contact_begin(struct lk_contact *contact, int64_t sent_us) {
    pthread_mutex_lock(&contact->mutex);
    if (contact->since_us == LK_NEVER) {
        contact->since_us = sent_us;
        contact->why[0] = '\0';
    }
    pthread_mutex_unlock(&contact->mutex);
}

void lk_contact_end(struct lk_contact *contact, int64_t sent_us, const lk_error *error) {
    pthread_mutex_lock(&contact->mutex);
    if (error->outcome == LK_UNAVAILABLE) {
        contact->since_us = contact->since_us == LK_NEVER ? sent_us : contact->since_us;
        memcpy(contact->why, error->text, sizeof contact->why);
    } else if (error->outcome != LK_CANCELLED) { /* which says nothing of the store */
        contact->since_us = LK_NEVER;
    }
    pthread_mutex_unlock(&contact->mutex);
}

void lk_contact_fail(void *context, const lk_error *error) {
    struct lk_contact *contact = context;

    pthread_mutex_lock(&contact->mutex);
    memcpy(contact->why, error->text, sizeof contact->why);
    pthread_mutex_unlock(&contact->mutex);
}

int64_t lk_away_ms(lk_store *store, lk_error *error) {
    struct lk_contact *contact = &store->contact;
    int64_t away_us = 0;

    lk_error_clear(error, LK_OK);
    pthread_mutex_lock(&contact->mutex);
    if (contact->since_us != LK_NEVER) {
        away_us = lk_clock_now_us() - contact->since_us;
        lk_error_set(error, LK_UNAVAILABLE, "%s", contact->why);
    }
    pthread_mutex_unlock(&contact->mutex);
    return away_us / 1000;
}
