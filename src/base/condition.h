/* SPDX-License-Identifier: Apache-2.0 */
/* Condition variables with a wait by duration, so that steps of the wall clock do not move it. */
#ifndef LK_BASE_CONDITION_H
#define LK_BASE_CONDITION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* A condition on CLOCK_MONOTONIC. Returns false when the system has no more of what it needs. */
bool lk_condition_init(pthread_cond_t *condition);

/* The instant `duration_us` from now for pthread_cond_timedwait(); durations are cut to a day. */
struct timespec lk_condition_instant(int64_t duration_us);

#endif
