/* SPDX-License-Identifier: Apache-2.0 */
/* The timers of the core: a heap, the earliest first. */
#ifndef LK_SERVER_TIMER_H
#define LK_SERVER_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lk_core;

/* A timer; it is in the heap unless it is due at LK_NEVER. */
struct lk_timer {
    int64_t due_us;
    size_t at; /* index in the heap, plus 1; 0: not in it */
    bool is_queue;
};

bool lk_timer_reserve(struct lk_core *core, size_t count);
void lk_timer_set(struct lk_core *core, struct lk_timer *timer, int64_t due_us);
struct lk_timer *lk_timer_first(const struct lk_core *core);

#endif
