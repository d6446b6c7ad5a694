/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Critical sections that other processes wait for, as a transaction that holds a file's write lock
 * is one. Whoever stops its own process, as job control asks for, first has all threads out of
 * them: stopped within one, it would keep everybody else waiting until somebody continues it.
 */
#ifndef LK_BASE_CRITICAL_H
#define LK_BASE_CRITICAL_H

#include <stdbool.h>
#include <stdint.h>

/* Any thread, and nested if need be. Blocks while the sections are closed. */
void lk_critical_enter(void);
void lk_critical_leave(void); /* by the thread that entered */

/*
 * Waits until no thread is inside, for about `patience_us` at most. True: nobody enters until
 * lk_critical_open(). False: somebody stayed inside, and nothing is closed.
 */
bool lk_critical_close(int64_t patience_us);
void lk_critical_open(void);

#endif
