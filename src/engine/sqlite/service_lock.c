/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock of the service that keeps a file. It is a lock of an open file description: unlike a
 * process's lock it is not dropped when another descriptor of the same file is closed.
 */
#include "engine/sqlite/service_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int open_beside(const char *path, int flags, int *ret_descriptor) {
    char beside[PATH_MAX + sizeof "-served"];
    int size = snprintf(beside, sizeof beside, "%s-served", path);
    int descriptor;

    if (size < 0 || (size_t)size >= sizeof beside) {
        return ENAMETOOLONG;
    }
    descriptor = open(beside, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0) {
        return errno;
    }
    *ret_descriptor = descriptor;
    return 0;
}

int lk_sqlite_service_lock_take(const char *path, int *ret_descriptor) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char whole[PATH_MAX];
    int descriptor = -1;
    int failure;

    if (realpath(path, whole) == NULL) {
        return errno;
    }
    failure = open_beside(whole, O_RDWR | O_CREAT, &descriptor);
    if (failure != 0) {
        return failure;
    }
    if (fcntl(descriptor, F_OFD_SETLK, &lock) != 0) {
        failure = errno == EACCES ? EAGAIN : errno;
        (void)close(descriptor);
        return failure;
    }
    *ret_descriptor = descriptor;
    return 0;
}

bool lk_sqlite_service_lock_is_held(const char *path) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int descriptor;
    int failure = open_beside(path, O_RDWR, &descriptor);
    bool is_held;

    if (failure != 0) {
        return failure != ENOENT;
    }
    is_held = fcntl(descriptor, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
    (void)close(descriptor);
    return is_held;
}
