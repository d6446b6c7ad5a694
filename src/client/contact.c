/* SPDX-License-Identifier: Apache-2.0 */
/* Any answer ends the time without one, from whichever thread it comes. */
#include "client/contact.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/random.h"
#include "client/store.h"
#include "model/model.h"

/* ---- all calls ------------------------------------------------------------------------------- */

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

/* ---- one call -------------------------------------------------------------------------------- */

/* Backing off while a store is away. */

#define BACK_OFF_MIN_US INT64_C(50000)
#define BACK_OFF_MAX_US INT64_C(1000000)

struct lk_outage lk_outage_new(struct lk_engine *engine) {
    return (struct lk_outage){.engine = engine, .since_us = LK_NEVER};
}

void lk_outage_end(struct lk_outage *outage) {
    outage->has_answered = true;
    outage->since_us = LK_NEVER;
    outage->retries = 0;
}

static bool is_hopeless(const struct lk_outage *outage) {
    const struct lk_engine_status status = lk_engine_status(outage->engine);

    return status.is_gone || (!outage->has_answered && status.is_read_only);
}

bool lk_outage_outlast(struct lk_outage *outage, int64_t sent_us, int64_t end_us,
                       int64_t patience_ms, struct lk_waker *waker) {
    int64_t now_us = lk_clock_now_us();
    int64_t pause_us;

    if (outage->since_us == LK_NEVER) {
        outage->since_us = sent_us;
    }
    if (now_us >= end_us || is_hopeless(outage)
        || (patience_ms != 0 && (now_us - outage->since_us) / 1000 >= patience_ms)) {
        return false;
    }
    pause_us = lk_backoff_delay(BACK_OFF_MIN_US, BACK_OFF_MAX_US, outage->retries++);
    (void)lk_waker_sleep(waker, lk_min(end_us - now_us, pause_us));
    return true;
}
