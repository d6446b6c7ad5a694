/* SPDX-License-Identifier: Apache-2.0 */
/* One instant of the whole program; what is forked from it has the same. */
#include "cli/run/budget.h"

#include "base/clock.h"
#include "base/minmax.h"
#include "lockkeeper/lockkeeper.h"

static int64_t began_us;

void lk_budget_begin(void) {
    began_us = lk_clock_now_us();
}

int64_t lk_budget_left_ms(int64_t wait_ms) {
    if (wait_ms == 0 || wait_ms == LK_FOREVER) {
        return wait_ms;
    }
    return lk_max(wait_ms - (lk_clock_now_us() - began_us) / 1000, 1);
}
