/* SPDX-License-Identifier: Apache-2.0 */
/* How long the next batch waits for clients that were answered. */
#include "server/program/gathering.h"

#include "base/minmax.h"

bool lk_gathering_open(struct lk_gathering *gathering, struct event_base *loop) {
    return lk_moment_open(&gathering->over, loop, NULL, NULL);
}

void lk_gathering_close(struct lk_gathering *gathering) {
    lk_moment_close(&gathering->over);
}

void lk_gathering_begin(struct lk_gathering *gathering, size_t answered, int64_t took_us,
                        int64_t now_us) {
    int64_t most_us = lk_min(took_us, (int64_t)LK_GATHERING_US_MAX);

    gathering->has_waited = false;
    gathering->until_us = 0;
    if (gathering->left_out > 0) {
        gathering->left_out--;
    } else if (answered > 0 && answered <= LK_GATHERING_CLIENTS_MAX) {
        gathering->expected = gathering->away = answered;
        gathering->pause_us = most_us / 2;
        gathering->until_us = now_us + gathering->pause_us;
        gathering->latest_us = now_us + most_us;
    }
}

/* A timer that fires before that is left as it is: then it is set again. */
static void wake_up(struct lk_gathering *gathering, int64_t now_us) {
    if (gathering->alarm_us <= now_us || gathering->alarm_us > gathering->until_us) {
        (void)lk_moment_set(&gathering->over, gathering->until_us - now_us);
        gathering->alarm_us = gathering->until_us;
    }
}

bool lk_gathering_waits(struct lk_gathering *gathering, size_t away, int64_t now_us) {
    if (gathering->until_us != 0 && away < gathering->away) {
        gathering->until_us = lk_min(gathering->latest_us, now_us + gathering->pause_us);
        gathering->away = away;
    }
    if (away > 0 && now_us < gathering->until_us) {
        wake_up(gathering, now_us);
        gathering->has_waited = true;
        return true;
    }
    if (gathering->has_waited && away * 2 >= gathering->expected) {
        gathering->left_out = LK_GATHERING_LEFT_OUT;
    }
    gathering->until_us = 0;
    return false;
}
