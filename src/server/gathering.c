/* SPDX-License-Identifier: Apache-2.0 */
/* How long the next batch waits for clients that were answered. */
#include "server/gathering.h"

#include "base/minmax.h"

bool lk_gathering_open(struct lk_gathering *gathering, struct event_base *loop) {
    return lk_moment_open(&gathering->over, loop, NULL, NULL);
}

void lk_gathering_close(struct lk_gathering *gathering) {
    lk_moment_close(&gathering->over);
}

void lk_gathering_begin(struct lk_gathering *gathering, size_t answered, int64_t took_us,
                        int64_t now_us) {
    gathering->has_waited = false;
    gathering->until_us = 0;
    if (gathering->left_out > 0) {
        gathering->left_out--;
    } else if (answered > 0 && answered <= LK_GATHERING_CLIENTS_MAX) {
        gathering->expected = answered;
        gathering->until_us = now_us + lk_min(took_us / 2, (int64_t)LK_GATHERING_US_MAX);
    }
}

bool lk_gathering_waits(struct lk_gathering *gathering, size_t away, int64_t now_us) {
    int64_t left_us = gathering->until_us - now_us;

    if (away > 0 && left_us > 0) {
        if (!gathering->has_waited) {
            (void)lk_moment_set(&gathering->over, left_us);
        }
        gathering->has_waited = true;
        return true;
    }
    if (gathering->has_waited && away * 2 >= gathering->expected) {
        gathering->left_out = LK_GATHERING_LEFT_OUT;
    }
    gathering->until_us = 0;
    return false;
}
