/* SPDX-License-Identifier: Apache-2.0 */
/* Backing off while a store is away. */
#include "keeper/absence.h"

#include "base/clock.h"
#include "base/least.h"
#include "model/model.h"

#define BACK_OFF_MIN_US INT64_C(50000)
#define BACK_OFF_MAX_US INT64_C(1000000)

struct lk_absence lk_absence_new(struct lk_engine *engine) {
    return (struct lk_absence){.engine = engine,
                               .since_us = LK_NEVER,
                               .back_off_us = BACK_OFF_MIN_US,
                               .random = {.state = lk_random_draw()}};
}

void lk_absence_end(struct lk_absence *absence) {
    absence->has_answered = true;
    absence->since_us = LK_NEVER;
    absence->back_off_us = BACK_OFF_MIN_US;
}

static bool is_hopeless(const struct lk_absence *absence) {
    struct lk_engine *engine = absence->engine;
    const struct lk_engine_ops *ops = engine->ops;

    return (ops->is_gone != NULL && ops->is_gone(engine))
           || (!absence->has_answered && ops->is_read_only != NULL && ops->is_read_only(engine));
}

bool lk_absence_outlast(struct lk_absence *absence, int64_t sent_us, int64_t end_us,
                        int64_t patience_ms, struct lk_waker *waker) {
    int64_t now_us = lk_clock_now_us();
    int64_t pause_us;

    if (absence->since_us == LK_NEVER) {
        absence->since_us = sent_us;
    }
    if (now_us >= end_us || is_hopeless(absence)
        || (patience_ms != 0 && (now_us - absence->since_us) / 1000 >= patience_ms)) {
        return false;
    }
    pause_us = lk_random_between(&absence->random, absence->back_off_us / 2, absence->back_off_us);
    (void)lk_waker_sleep(waker, lk_least(end_us - now_us, pause_us));
    absence->back_off_us = lk_least(absence->back_off_us * 2, BACK_OFF_MAX_US);
    return true;
}
