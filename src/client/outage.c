/* SPDX-License-Identifier: Apache-2.0 */
/* Backing off while a store is away. */
#include "client/outage.h"

#include "base/clock.h"
#include "base/minmax.h"
#include "base/random.h"
#include "model/model.h"

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
