/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timers of the core: a heap, the earliest first.
 *
 * It is an array that is reserved in advance, not the pairing heap of base/heap.h. The pairing heap
 * needs no memory, but after a million calls have blocked, its first removal would merge a million
 * siblings and hold the loop for more than 10 ms. Here every change takes O(log n).
 */
#include <stdlib.h>

#include "server/core/inside.h"

bool lk_timed_reserve(struct lk_core *core, size_t count) {
    size_t capacity = core->timed_capacity == 0 ? 64 : core->timed_capacity;
    struct lk_timed **timed;

    while (capacity < core->timed_count + count) {
        capacity *= 2;
    }
    if (capacity == core->timed_capacity) {
        return true;
    }
    timed = realloc(core->timed, capacity * sizeof(*timed));
    if (timed == NULL) {
        return false;
    }
    core->timed = timed;
    core->timed_capacity = capacity;
    return true;
}

static void place(struct lk_core *core, struct lk_timed *timed, size_t at) {
    core->timed[at - 1] = timed;
    timed->at = at;
}

static void sift_up(struct lk_core *core, struct lk_timed *timed, size_t at) {
    while (at > 1 && core->timed[at / 2 - 1]->due_us > timed->due_us) {
        place(core, core->timed[at / 2 - 1], at);
        at /= 2;
    }
    place(core, timed, at);
}

static void sift_down(struct lk_core *core, struct lk_timed *timed, size_t at) {
    for (;;) {
        size_t child = at * 2;

        if (child < core->timed_count
            && core->timed[child]->due_us < core->timed[child - 1]->due_us) {
            child++;
        }
        if (child > core->timed_count || core->timed[child - 1]->due_us >= timed->due_us) {
            break;
        }
        place(core, core->timed[child - 1], at);
        at = child;
    }
    place(core, timed, at);
}

static void take_out(struct lk_core *core, struct lk_timed *timed) {
    size_t at = timed->at;
    struct lk_timed *last = core->timed[--core->timed_count];

    timed->at = 0;
    if (last != timed) {
        sift_up(core, last, at);
        sift_down(core, last, last->at);
    }
}

void lk_timed_set(struct lk_core *core, struct lk_timed *timed, int64_t due_us) {
    if (timed->at != 0) {
        take_out(core, timed);
    }
    timed->due_us = due_us;
    if (due_us != LK_NEVER) {
        assert(core->timed_count < core->timed_capacity);
        core->timed_count++;
        sift_up(core, timed, core->timed_count);
    }
}

struct lk_timed *lk_timed_first(const struct lk_core *core) {
    return core->timed_count > 0 ? core->timed[0] : NULL;
}
