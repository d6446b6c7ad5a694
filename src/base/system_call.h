/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that the C library has functions for only since glibc 2.34 and 2.36, or that musl
 * has none for. What is built must not need those functions: it could not be started where glibc is
 * older, though the kernel may well have the calls (tests/lint/glibc.py). Where it has not, errno
 * says so: ENOSYS, or what the filter of a sandbox answers.
 *
 * Safe between fork and exec.
 */
#ifndef LK_BASE_SYSTEM_CALL_H
#define LK_BASE_SYSTEM_CALL_H

#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* Headers of Linux before 5.9 lack it. It is the same on every architecture that lk runs on. */
#ifndef __NR_close_range
#define __NR_close_range 436
#endif

/* The kernel's headers have what musl lacks before 1.2.5. */
#ifndef STATX_INO
#include <linux/stat.h>
#endif
#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x00002000
#endif
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1U
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

/* What is asked for by the STATX_ bits of `mask`. 0, or -1 with errno. */
static inline int lk_statx(int directory, const char *path, int flags, unsigned mask,
                           struct statx *ret_status) {
    return (int)syscall(__NR_statx, directory, path, flags, mask, ret_status);
}

/* Renames a file, by RENAME_ flags. 0, or -1 with errno. */
static inline int lk_rename(const char *from, const char *to, unsigned flags) {
    return (int)syscall(__NR_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags);
}

/* Reads entries of a directory as an array of struct dirent64 of `d_reclen` bytes each; returns
 * their size, 0 behind the last, or -1 with errno. */
static inline ssize_t lk_getdents(int directory, void *entries, size_t size) {
    return syscall(__NR_getdents64, directory, entries, size);
}

/* Closes all descriptors from `first` to `last`. 0, or -1 with errno: none is closed. */
static inline int lk_close_range(unsigned first, unsigned last) {
    return (int)syscall(__NR_close_range, first, last, 0U);
}

#endif
