/* SPDX-License-Identifier: Apache-2.0 */
/* Files that pass calls on. */
#include "sql/log_vfs.h"

#include <string.h>

static sqlite3_file *real_of(sqlite3_file *file) {
    return ((struct lk_sql_log *)file)->real;
}

static int close_log(sqlite3_file *file) {
    return real_of(file)->pMethods->xClose(real_of(file));
}

static int read_log(sqlite3_file *file, void *bytes, int size, sqlite3_int64 offset) {
    return real_of(file)->pMethods->xRead(real_of(file), bytes, size, offset);
}

static int size_of_log(sqlite3_file *file, sqlite3_int64 *ret_size) {
    return real_of(file)->pMethods->xFileSize(real_of(file), ret_size);
}

/* SQLite locks the database, not the log. */
static int lock_log(sqlite3_file *file, int level) {
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int unlock_log(sqlite3_file *file, int level) {
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int check_lock(sqlite3_file *file, int *ret_is_locked) {
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), ret_is_locked);
}

static int control_log(sqlite3_file *file, int operation, void *argument) {
    return real_of(file)->pMethods->xFileControl(real_of(file), operation, argument);
}

static int sector_size(sqlite3_file *file) {
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int characteristics(sqlite3_file *file) {
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

/* Variants write, truncate and flush by themselves. */
static void complete(sqlite3_io_methods *methods) {
    methods->iVersion = 1; /* shared memory and mapping are the database's, not the log's */
    methods->xClose = methods->xClose != NULL ? methods->xClose : close_log;
    methods->xRead = methods->xRead != NULL ? methods->xRead : read_log;
    methods->xFileSize = methods->xFileSize != NULL ? methods->xFileSize : size_of_log;
    methods->xLock = lock_log;
    methods->xUnlock = unlock_log;
    methods->xCheckReservedLock = check_lock;
    methods->xFileControl = control_log;
    methods->xSectorSize = sector_size;
    methods->xDeviceCharacteristics = characteristics;
}

static int open_file(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags,
                     int *ret_flags) {
    struct lk_sql_log_vfs *own = (struct lk_sql_log_vfs *)vfs;
    struct lk_sql_log *log = (struct lk_sql_log *)file;
    int code;

    if ((flags & SQLITE_OPEN_WAL) == 0) {
        return own->original->xOpen(own->original, path, file, flags, ret_flags);
    }
    memset(file, 0, (size_t)vfs->szOsFile);
    log->real = (sqlite3_file *)((char *)file + own->file_bytes);
    code = own->open(log, own->original, path, flags, ret_flags);
    log->base.pMethods = code == SQLITE_OK ? &own->methods : NULL;
    return code;
}

/* The other methods are those of the default VFS, which finds its own data in the copy. */
bool lk_sql_log_vfs_register(struct lk_sql_log_vfs *vfs) {
    vfs->original = sqlite3_vfs_find(NULL);
    if (vfs->original == NULL) {
        return false;
    }
    vfs->vfs = *vfs->original;
    vfs->vfs.zName = vfs->name;
    vfs->vfs.szOsFile += vfs->file_bytes;
    vfs->vfs.xOpen = open_file;
    complete(&vfs->methods);
    return sqlite3_vfs_register(&vfs->vfs, 0) == SQLITE_OK;
}
