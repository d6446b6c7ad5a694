/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Critical sections that block other processes, such as a transaction with the write lock of a
 * file. Before a process stops itself, as job control demands, it has all its threads leave these
 * sections. A process stopped inside one would block all other processes until it is continued.
 */
#ifndef LK_BASE_CRITICAL_H
#define LK_BASE_CRITICAL_H

#include <stdbool.h>
#include <stdint.h>

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
