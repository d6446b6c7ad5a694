/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timers of the core: a heap, the earliest first.
 *
 * It is an array that is reserved in advance, not the pairing heap of base/heap.h. The pairing heap
 * needs no memory, but after a million calls have blocked, its first removal would merge a million
 * siblings and hold the loop for more than 10 ms. Here every change takes O(log n).
 */
#include <stdlib.h>

#include "server/core/core_internal.h"

bool lk_timer_reserve(struct lk_core *core, size_t count) {
    size_t capacity = core->timer_capacity == 0 ? 64 : core->timer_capacity;
    struct lk_timer **timers;

    while (capacity < core->timer_count + count) {
        capacity *= 2;
    }
    if (capacity == core->timer_capacity) {
        return true;
    }
    timers = realloc(core->timers, capacity * sizeof(*timers));
    if (timers == NULL) {
        return false;
    }
    core->timers = timers;
    core->timer_capacity = capacity;
    return true;
}

static void place(struct lk_core *core, struct lk_timer *timer, size_t at) {
    core->timers[at - 1] = timer;
    timer->at = at;
}

static void sift_up(struct lk_core *core, struct lk_timer *timer, size_t at) {
    while (at > 1 && core->timers[at / 2 - 1]->due_us > timer->due_us) {
        place(core, core->timers[at / 2 - 1], at);
        at /= 2;
    }
    place(core, timer, at);
}

static void sift_down(struct lk_core *core, struct lk_timer *timer, size_t at) {
    for (;;) {
        size_t child = at * 2;

        if (child < core->timer_count
            && core->timers[child]->due_us < core->timers[child - 1]->due_us) {
            child++;
        }
        if (child > core->timer_count || core->timers[child - 1]->due_us >= timer->due_us) {
            break;
        }
        place(core, core->timers[child - 1], at);
        at = child;
    }
    place(core, timer, at);
}

static void take_out(struct lk_core *core, struct lk_timer *timer) {
    size_t at = timer->at;
    struct lk_timer *last = core->timers[--core->timer_count];

    timer->at = 0;
    if (last != timer) {
        sift_up(core, last, at);
        sift_down(core, last, last->at);
    }
}

void lk_timer_set(struct lk_core *core, struct lk_timer *timer, int64_t due_us) {
    if (timer->at != 0) {
        take_out(core, timer);
    }
    timer->due_us = due_us;
    if (due_us != LK_NEVER) {
        assert(core->timer_count < core->timer_capacity);
        core->timer_count++;
        sift_up(core, timer, core->timer_count);
    }
}

struct lk_timer *lk_timer_first(const struct lk_core *core) {
    return core->timer_count > 0 ? core->timers[0] : NULL;
}
