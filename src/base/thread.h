/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of a library, which leave signals to the application's: how one is started, how it waits
 * on a condition, and how all of them leave what blocks other processes before this process stops
 * itself.
 */
#ifndef LK_BASE_THREAD_H
#define LK_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Starts a thread in which all signals are blocked. false: the system has no room for one. */
bool lk_thread_start(pthread_t *ret_thread, void *(*run)(void *context), void *context);

/* ---- conditions ------------------------------------------------------------------------------ */

/* Condition variables with a wait by duration, so that steps of the wall clock do not move it. */

/* A condition on CLOCK_MONOTONIC. Returns false when the system has no more of what it needs. */
bool lk_condition_init(pthread_cond_t *condition);

/* The instant `duration_us` from now for pthread_cond_timedwait(); durations are cut to a day. */
struct timespec lk_condition_instant(int64_t duration_us);

/* ---- critical sections ----------------------------------------------------------------------- */

/*
 * Critical sections that block other processes, such as a transaction with the write lock of a
 * file. Before a process stops itself, as job control demands, it has all its threads leave these
 * sections. A process stopped inside one would block all other processes until it is continued.
 */

/* Any thread, and nested if need be. Blocks while the sections are closed. */
void lk_critical_enter(void);
void lk_critical_leave(void); /* by the thread that entered */

/*
 * Waits until no thread is inside, for about `patience_us` at most. True: threads that enter now
 * block until lk_critical_open(). False: a thread stayed inside, and nothing is closed.
 */
bool lk_critical_close(int64_t patience_us);
void lk_critical_open(void);

#endif
