/* SPDX-License-Identifier: Apache-2.0 */
/* timerfd on the clock that counts suspended time. */
#include "cli/run/timer.h"

#include <sys/timerfd.h>
#include <time.h>

#include "cli/run/deadline.h"

int lk_run_timer_open(void) {
    return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
}

void lk_run_timer_set(int timer, int64_t instant_us) {
    struct itimerspec setting = {0};

    if (instant_us != LK_RUN_NEVER_US) {
        /* An instant of zero would disarm it; whatever has passed fires at once. */
        int64_t armed_us = instant_us > 0 ? instant_us : 1;
        setting.it_value.tv_sec = (time_t)(armed_us / 1000000);
        setting.it_value.tv_nsec = (long)(armed_us % 1000000) * 1000;
    }
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &setting, NULL);
}
