/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detecting dead processes by kernel locks.
 *
 * A process in a region holds a lock (F_OFD_SETLK) on a byte behind the region's end. The lock
 * belongs to the open file through which the region is mapped. Only that mapping keeps the file
 * open: the descriptor is closed at once, and forks do not inherit the mapping. So the lock lasts
 * exactly as long as the address space. exit, kill -9 and exec end it before the process becomes a
 * zombie; a stop does not end it, nor does a child that continues to run. Pids are not compared, so
 * a reused pid does no harm. A fork at the moment of opening could inherit the descriptor;
 * alive.c delays forks during that time.
 *
 * The end of a thread is detected by its destructor (holder.c). A thread that ends without running
 * destructors is detected by its number, which is missing in its process.
 */
#ifndef LK_CANAL_ALIVE_H
#define LK_CANAL_ALIVE_H

#include "canal/handle.h"

/* No fork() begins between these two calls. */
void lk_canal_forks_hold(void);
void lk_canal_forks_go_on(void);

/* Takes a place among the region's processes, with its lock, through `file`. LK_CANAL_OK; NO_ROOM;
 * SYSTEM (locks do not work on that file). */
lk_canal_status lk_canal_process_enter(lk_canal *canal, int file, char *text);
void lk_canal_process_leave(lk_canal *canal);

/* True: the process that `word` was read for is certainly dead, and stays so. */
bool lk_canal_process_is_dead(const lk_canal *canal, uint32_t process, uint64_t word);

/* The same for a thread of a live process. */
bool lk_canal_thread_is_dead(const lk_canal *canal, uint32_t process, int32_t thread);

/* The number of this process's pid namespace; 0: unknown. */
uint64_t lk_canal_namespace(void);

/* Raises the count of records that have ever been used to at least `count`. */
void lk_canal_raise(_Atomic uint32_t *top, uint32_t count);

/* The count of records that have ever been used, at most `most`. */
static inline uint32_t lk_canal_top(const _Atomic uint32_t *top, uint32_t most) {
    uint32_t count = atomic_load_explicit(top, memory_order_acquire);

    return count < most ? count : most;
}

#endif
