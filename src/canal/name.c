/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a region's name still refers to it. A file that was removed (rm, systemd's RemoveIPC=yes)
 * stays valid for the processes that have it mapped, but processes that open the name create
 * another one, and the two would count separately. The processes in the new region cannot detect
 * that, so the processes in the old region acquire no more permits.
 *
 * A check costs two system calls, so each holder makes at most one in CHECK_NS. Reading the clock
 * costs a fifth of an acquire, so while acquires come faster than that it is read for one in
 * STRIDE + 1. A holder that acquires slowly checks each time.
 */
#include <sys/stat.h>
#include <time.h>

#include "canal/handle.h"

#define CHECK_NS INT64_C(10000000)

enum { STRIDE = 15 };

/* A name that does not exist counts as the region's too: no other region has been created there
 * yet, and behind a chroot() none will be. */
static bool does_name_lead(const lk_canal *canal) {
    struct stat own;
    struct stat named;

    if (fstat(canal->file, &own) != 0 || own.st_nlink == 0) {
        return false;
    }
    return stat(canal->path, &named) != 0
           || (named.st_dev == own.st_dev && named.st_ino == own.st_ino);
}

bool lk_canal_is_gone(lk_canal *canal) {
    if (canal->seal != HANDLE_SEAL) {
        return true;
    }
    if (!atomic_load_explicit(&canal->is_gone, memory_order_relaxed) && !does_name_lead(canal)) {
        atomic_store_explicit(&canal->is_gone, true, memory_order_relaxed);
    }
    return atomic_load_explicit(&canal->is_gone, memory_order_relaxed);
}

bool lk_canal_name_look(lk_canal_holder *holder) {
    struct timespec now;
    int64_t now_ns;

    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    holder->unchecked = now_ns - holder->clock_read_ns < CHECK_NS ? STRIDE : 0;
    holder->clock_read_ns = now_ns;
    if (now_ns - holder->name_checked_ns < CHECK_NS) {
        return !atomic_load_explicit(&holder->canal->is_gone, memory_order_relaxed);
    }
    holder->name_checked_ns = now_ns;
    return !lk_canal_is_gone(holder->canal);
}
