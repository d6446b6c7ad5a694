/* SPDX-License-Identifier: Apache-2.0 */
/* Names and inodes, and the lock of a service. */
#include "engine/sqlite/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/system_call.h"

/* ---- identity -------------------------------------------------------------------------------- */

/*
 * Does not ask for the times of the file. After a query of its times, Linux 6.13 and later give the
 * next write a time of its own, and on some file systems each flush of the log then writes the
 * inode as well.
 */
static bool find_path(const char *path, struct lk_sqlite_beside *ret_file) {
    struct statx status;
    struct stat former;

    if (lk_statx(AT_FDCWD, path, 0, STATX_INO, &status) == 0) {
        *ret_file = (struct lk_sqlite_beside){
            .device = makedev(status.stx_dev_major, status.stx_dev_minor), .inode = status.stx_ino};
        return true;
    }
    /* A sandbox may refuse the call, which says nothing of the file. */
    if (errno == ENOENT || stat(path, &former) != 0) {
        return false;
    }
    *ret_file = (struct lk_sqlite_beside){.device = former.st_dev, .inode = former.st_ino};
    return true;
}

static bool find(const char *database, const char *suffix, struct lk_sqlite_beside *ret_file) {
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%s%s", database, suffix);

    return size >= 0 && (size_t)size < sizeof path && find_path(path, ret_file);
}

bool lk_sqlite_has_moved(sqlite3 *handle, struct lk_sqlite_beside beside[LK_SQLITE_BESIDE_COUNT]) {
    static const char *const suffixes[LK_SQLITE_BESIDE_COUNT] = {"-wal", "-shm"};
    const char *database = sqlite3_db_filename(handle, "main");
    int is_moved = 0;

    (void)sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &is_moved);
    for (int i = 0; i < LK_SQLITE_BESIDE_COUNT && is_moved == 0; i++) {
        struct lk_sqlite_beside *known = &beside[i];
        struct lk_sqlite_beside found;

        if (!find(database, suffixes[i], &found)) {
            is_moved = 1;
        } else if (known->inode == 0) {
            *known = found;
        } else {
            is_moved = found.device != known->device || found.inode != known->inode;
        }
    }
    return is_moved != 0;
}

/* ---- the service lock ------------------------------------------------------------------------ */

/*
 * The lock of the service that keeps a file. It is a lock of an open file description: unlike a
 * process's lock it is not dropped when another descriptor of the same file is closed.
 */

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
