/* SPDX-License-Identifier: Apache-2.0 */
/* The two clocks, in microseconds, and the pair of them that an engine is opened with. */
#ifndef LK_BASE_CLOCK_H
#define LK_BASE_CLOCK_H

#include <stdint.h>

/* Since boot, suspended time included; clock steps do not move it. For deadlines. */
int64_t lk_clock_now_us(void);

/* Unix time. For draws and for what people read. */
int64_t lk_clock_wall_us(void);

/*
 * Where an engine that decides in this process reads the time. Borrowed for the engine's life;
 * the functions may be called from any thread. Tests bring clocks of their own.
 */
struct lk_time_source {
    int64_t (*now_us)(void *context);  /* never runs backwards */
    int64_t (*wall_us)(void *context); /* Unix time; may be stepped */
    void *context;
};

/* The machine's own clocks. */
extern const struct lk_time_source lk_time_source_system;

#endif
