/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers: the kernel's, and splitmix64; and exponential back-off with jitter. */
#include "base/random.h"

#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/minmax.h"

uint64_t lk_random_draw(void) {
    uint64_t bits = 0;

    if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits) {
        /*
         * Without getrandom(), as in some sandboxes, clocks and process id still make names differ.
         */
        struct lk_random fallback = {.state = (uint64_t)lk_clock_now_us()
                                              ^ ((uint64_t)getpid() << 32)
                                              ^ ((uint64_t)lk_clock_wall_us() << 16)};

        bits = lk_random_next(&fallback);
    }
    return bits;
}

uint64_t lk_random_next(struct lk_random *random) {
    uint64_t mixed;

    random->state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = random->state;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

int64_t lk_random_between(struct lk_random *random, int64_t low, int64_t high) {
    uint64_t span = (uint64_t)high - (uint64_t)low + 1;

    /* The remainder's bias is below 2^-20 for every span used here, seconds in microseconds. */
    return low + (int64_t)(span == 0 ? lk_random_next(random) : lk_random_next(random) % span);
}

/* ---- the delay before a try is repeated ------------------------------------------------------ */

int64_t lk_backoff_delay(int64_t first, int64_t max, uint32_t retries) {
    struct lk_random random = {lk_random_draw()};
    int64_t delay = lk_min(first, max);

    for (; retries > 0 && delay < max; retries--) {
        delay = delay > max / 2 ? max : delay * 2;
    }
    return lk_random_between(&random, delay - delay / 2, delay);
}
