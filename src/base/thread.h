/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a library, which leave signals to the application's. */
#ifndef LK_BASE_THREAD_H
#define LK_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts a thread in which all signals are blocked. false: the system has no room for one. */
bool lk_thread_start(pthread_t *ret_thread, void *(*run)(void *context), void *context);

#endif
