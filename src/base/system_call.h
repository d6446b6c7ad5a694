/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that the C library has functions for only since glibc 2.34 and 2.36. What is built
 * must not need those functions: it could not be started where glibc is older, though the kernel
 * may well have the calls (tests/lint/glibc.py). Where it has not, errno says so: ENOSYS, or what
 * the filter of a sandbox answers.
 *
 * Safe between fork and exec.
 */
#ifndef LK_BASE_SYSTEM_CALL_H
#define LK_BASE_SYSTEM_CALL_H

#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* Headers of Linux before 5.9 lack it. It is the same on every architecture that lk runs on. */
#ifndef __NR_close_range
#define __NR_close_range 436
#endif

/* A descriptor that becomes readable when the process ends, closed on exec. -1 with errno. */
static inline int lk_pidfd_open(pid_t pid) {
    return (int)syscall(__NR_pidfd_open, pid, 0U);
}

/* Sends the signal to the process of such a descriptor, and to no later one with its number. 0, or
 * -1 with errno. */
static inline int lk_pidfd_send_signal(int descriptor, int signal) {
    return (int)syscall(__NR_pidfd_send_signal, descriptor, signal, NULL, 0U);
}

/* Closes all descriptors from `first` to `last`. 0, or -1 with errno: none is closed. */
static inline int lk_close_range(unsigned first, unsigned last) {
    return (int)syscall(__NR_close_range, first, last, 0U);
}

#endif
