/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: refuse ERRNO CALL... -- PROGRAM [ARG...]
 *
 * Runs the program in a sandbox that answers these system calls with ERRNO (EPERM or ENOSYS), as
 * old kernels and the filters of containers do.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/system_call.h"

enum { CALLS_MAX = 16, DEFECT = 99 };

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
    {"pidfd_open", SYS_pidfd_open},    {"pidfd_send_signal", SYS_pidfd_send_signal},
    {"close_range", __NR_close_range}, {"statx", SYS_statx},
    {"renameat2", SYS_renameat2},      {"memfd_create", SYS_memfd_create},
    {"signalfd", SYS_signalfd4},       {"timerfd_create", SYS_timerfd_create},
    {"eventfd", SYS_eventfd2},
#ifdef SYS_signalfd /* the older calls, which musl then tries */
    {"signalfd", SYS_signalfd},        {"eventfd", SYS_eventfd},
#endif
};

/* Adds to the filter that the call has that answer; returns how many instructions that takes. */
static unsigned refuse(const char *name, unsigned answer, struct sock_filter *ret_filter) {
    unsigned size = 0;

    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (strcmp(calls[i].name, name) == 0) {
            ret_filter[size++] =
                (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 1);
            ret_filter[size++] =
                (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | answer);
        }
    }
    return size;
}

int main(int argc, char **argv) {
    struct sock_filter filter[4 * CALLS_MAX + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned size = 1;
    int at = 2;

    if (argc < 4) {
        return DEFECT;
    }
    unsigned answer = strcmp(argv[1], "EPERM") == 0 ? EPERM : ENOSYS;
    for (; at < argc && at < 2 + CALLS_MAX && strcmp(argv[at], "--") != 0; at++) {
        unsigned added = refuse(argv[at], answer, filter + size);

        if (added == 0) {
            return DEFECT;
        }
        size += added;
    }
    filter[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {.len = (unsigned short)size, .filter = filter};
    if (at + 1 >= argc || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
        || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        return DEFECT;
    }
    execvp(argv[at + 1], argv + at + 1);
    return DEFECT;
}
