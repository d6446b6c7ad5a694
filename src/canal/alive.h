/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who lives: the kernel says.
 *
 * A process in a region holds a lock (F_OFD_SETLK) on a byte behind the region's end. The lock
 * belongs to the open file through which the region is mapped, and that mapping is all that keeps
 * this file open: the descriptor is closed at once, and forks do not inherit the mapping. So the
 * lock lives exactly as long as the address space: exit, kill -9 and exec end it, before the
 * process becomes a zombie; a stop does not, nor does a child that lives on. No pid is looked
 * at, so none can be reused. What a fork in the moment of opening could inherit is kept from it by
 * alive.c, which lets none begin.
 *
 * A thread that ends is noticed by its own destructor (holder.c); one that goes without running
 * destructors, by its number, among those of its living process.
 */
#ifndef LK_CANAL_ALIVE_H
#define LK_CANAL_ALIVE_H

#include "canal/handle.h"

/* No fork() begins between the two. */
void lk_canal_forks_hold(void);
void lk_canal_forks_go_on(void);

/* A place among the region's processes, with its lock, through `file`. LK_CANAL_OK; NO_ROOM; SYSTEM
 * (locks do not work there). */
lk_canal_status lk_canal_process_enter(lk_canal *canal, int file, char *text);
void lk_canal_process_leave(lk_canal *canal);

/* Certain when true, and then for ever: the process that `word` was read for is gone. */
bool lk_canal_process_is_dead(const lk_canal *canal, uint32_t process, uint64_t word);

/* The same of a thread of a process that lives. */
bool lk_canal_thread_is_dead(const lk_canal *canal, uint32_t process, int32_t thread);

/* The number of this process's pid namespace; 0: unknown. */
uint64_t lk_canal_namespace(void);

/* Raises a count of what has ever been used to at least `count`. */
void lk_canal_raise(_Atomic uint32_t *top, uint32_t count);

/* What has ever been used, never more than there is. */
static inline uint32_t lk_canal_top(const _Atomic uint32_t *top, uint32_t most) {
    uint32_t count = atomic_load_explicit(top, memory_order_acquire);

    return count < most ? count : most;
}

#endif
