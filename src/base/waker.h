/* SPDX-License-Identifier: Apache-2.0 */
/* A switch, thrown once, that ends the sleep of whoever sleeps on it. Thread-safe. */
#ifndef LK_BASE_WAKER_H
#define LK_BASE_WAKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct lk_waker {
    pthread_mutex_t mutex;
    pthread_cond_t thrown; /* on CLOCK_MONOTONIC */
    bool is_thrown;
};

/* Returns false when the system has no more of what a condition needs. End with lk_waker_done(). */
bool lk_waker_init(struct lk_waker *waker);
void lk_waker_done(struct lk_waker *waker);

void lk_waker_throw(struct lk_waker *waker);
bool lk_waker_is_thrown(struct lk_waker *waker);

/* Sleeps until thrown or for `duration_us`. Returns whether it is thrown. */
bool lk_waker_sleep(struct lk_waker *waker, int64_t duration_us);

#endif
