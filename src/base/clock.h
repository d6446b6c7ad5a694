/* SPDX-License-Identifier: Apache-2.0 */
/* The two clocks, in microseconds. */
#ifndef LK_BASE_CLOCK_H
#define LK_BASE_CLOCK_H

#include <stdint.h>

/* Since boot, suspended time included; clock steps do not move it. For deadlines. */
int64_t lk_clock_now_us(void);

/* Unix time. For draws and for what people read. */
int64_t lk_clock_wall_us(void);

#endif
