/* SPDX-License-Identifier: Apache-2.0 */
/* Exponential back-off with jitter. */
#include "base/backoff.h"

#include "base/minmax.h"
#include "base/random.h"

int64_t lk_backoff_delay(int64_t first, int64_t max, uint32_t retries) {
    struct lk_random random = {lk_random_draw()};
    int64_t delay = lk_min(first, max);

    for (; retries > 0 && delay < max; retries--) {
        delay = delay > max / 2 ? max : delay * 2;
    }
    return lk_random_between(&random, delay - delay / 2, delay);
}
