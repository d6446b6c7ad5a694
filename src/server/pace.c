/* SPDX-License-Identifier: Apache-2.0 */
/* A bucket whose content is reckoned from one instant. */
#include "server/pace.h"

#include "base/minmax.h"

int64_t lk_pace_note(struct lk_pace *pace, int64_t now_us) {
    int64_t burst_us = INT64_C(1) * LK_PACE_BURST * LK_PACE_PERIOD_US;

    pace->full_us = lk_max(pace->full_us, now_us) + LK_PACE_PERIOD_US;
    return lk_max(pace->full_us + LK_PACE_PERIOD_US - burst_us - now_us, 0);
}

void lk_pace_forget(struct lk_pace *pace) {
    pace->full_us -= LK_PACE_PERIOD_US;
}
