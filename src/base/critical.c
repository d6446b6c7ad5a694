/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads inside a section are counted. lk_critical_close() closes first and then waits, so
 * that threads that enter and leave all the time cannot delay it. A thread that is inside already
 * may enter again. There is no mutex: a child of fork() would find it as another thread held it.
 */
#include "base/critical.h"

#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"

static atomic_uint inside; /* threads */
static atomic_bool is_shut;
static _Thread_local unsigned depth;

static void breathe(void) {
    const struct timespec breath = {.tv_nsec = 1000000};

    (void)nanosleep(&breath, NULL);
}

void lk_critical_enter(void) {
    if (depth++ > 0) {
        return;
    }
    /* Counted before `is_shut` is read: one of the two threads sees the other's write. */
    atomic_fetch_add(&inside, 1);
    while (atomic_load(&is_shut)) {
        atomic_fetch_sub(&inside, 1);
        breathe();
        atomic_fetch_add(&inside, 1);
    }
}

void lk_critical_leave(void) {
    if (--depth == 0) {
        atomic_fetch_sub(&inside, 1);
    }
}

bool lk_critical_close(int64_t patience_us) {
    int64_t until_us = lk_clock_now_us() + patience_us;

    atomic_store(&is_shut, true);
    while (atomic_load(&inside) > 0) {
        if (lk_clock_now_us() >= until_us) {
            lk_critical_open();
            return false;
        }
        breathe();
    }
    return true;
}

void lk_critical_open(void) {
    atomic_store(&is_shut, false);
}
