/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor that becomes readable at an instant of lk_clock_now_us(), also when the machine was
 * suspended meanwhile. */
#ifndef LK_CLI_RUN_TIMER_H
#define LK_CLI_RUN_TIMER_H

#include <stdint.h>

/* -1 with errno when the system has no descriptor left. Close it with close(). */
int lk_run_timer_open(void);

/* Sets the instant; LK_RUN_NEVER_US disarms it. Safe in a forked child. */
void lk_run_timer_set(int timer, int64_t instant_us);

#endif
