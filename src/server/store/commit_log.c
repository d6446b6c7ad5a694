/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A VFS that opens every file as SQLite's own does, except for the write-ahead log.
 *
 * SQLite writes a log page by page, each with a header of its own: two writes a page. They are
 * collected here until SQLite flushes or reads the file, or does not continue where the last write
 * ended. Readers in other processes see a commit only after its flush, through the index that
 * SQLite keeps in shared memory. A write that fails is reported by the flush, which fails the
 * commit.
 */
#include "server/store/commit_log.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    WRITE_MAX = 1 << 16, /* bytes; SQLite's unix VFS cannot write 128 KiB at once */
    EXTENSION_WRITES = 4,
    EXTENSION = EXTENSION_WRITES * WRITE_MAX, /* bytes by which the file is made longer */
};

struct log_file {
    sqlite3_file file; /* first */
    sqlite3_file *real;
    char *bytes; /* collected, for `offset` */
    size_t size;
    size_t capacity;
    sqlite3_int64 offset;
    sqlite3_int64 length; /* of the real file; 0: not known */
};

static struct log_file *log_of(sqlite3_file *file) {
    return (struct log_file *)file;
}

/* ---- writing ------------------------------------------------------------------------------ */

/*
 * Makes the file longer if what is written ends at its end or beyond. It need not succeed: the disk
 * may have room for the commit, and for nothing else.
 */
static void extend(struct log_file *log, sqlite3_int64 end) {
    char *zeros;

    if (log->length == 0) {
        (void)log->real->pMethods->xFileSize(log->real, &log->length);
    }
    if (end < log->length) {
        return;
    }
    log->length = end + EXTENSION;
    zeros = calloc(1, WRITE_MAX);
    for (int i = 0; i < EXTENSION_WRITES && zeros != NULL; i++) {
        sqlite3_int64 offset = end + (sqlite3_int64)i * WRITE_MAX;

        if (log->real->pMethods->xWrite(log->real, zeros, WRITE_MAX, offset) != SQLITE_OK) {
            break;
        }
    }
    free(zeros);
}

/* Writes what has been collected. What cannot be written is dropped: its commit fails. */
static int write_collected(struct log_file *log) {
    size_t size = log->size;

    if (size == 0) {
        return SQLITE_OK;
    }
    log->size = 0;
    return log->real->pMethods->xWrite(log->real, log->bytes, (int)size, log->offset);
}

static bool reserve(struct log_file *log, size_t size) {
    size_t capacity = log->capacity > 0 ? log->capacity : 4096;
    char *bytes;

    while (capacity < size) {
        capacity *= 2;
    }
    if (capacity == log->capacity) {
        return true;
    }
    bytes = realloc(log->bytes, capacity);
    if (bytes == NULL) {
        return false;
    }
    log->bytes = bytes;
    log->capacity = capacity;
    return true;
}

static int log_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset) {
    struct log_file *log = log_of(file);
    bool continues = log->size > 0 && offset == log->offset + (sqlite3_int64)log->size;
    int code = SQLITE_OK;

    if (!continues || log->size + (size_t)size > WRITE_MAX) {
        code = write_collected(log);
    }
    if (code != SQLITE_OK) {
        return code;
    }
    if (!reserve(log, log->size + (size_t)size)) {
        code = write_collected(log);
        return code == SQLITE_OK ? log->real->pMethods->xWrite(log->real, bytes, size, offset)
                                 : code;
    }
    if (log->size == 0) {
        log->offset = offset;
    }
    memcpy(log->bytes + log->size, bytes, (size_t)size);
    log->size += (size_t)size;
    return SQLITE_OK;
}

static int log_sync(sqlite3_file *file, int flags) {
    struct log_file *log = log_of(file);
    sqlite3_int64 end = log->offset + (sqlite3_int64)log->size;
    int code;

    if (log->offset == 0 && log->size > 0) {
        log->length = 0; /* the log begins again: another process may have emptied the file */
    }
    code = write_collected(log);
    if (code != SQLITE_OK) {
        return code;
    }
    extend(log, end);
    return log->real->pMethods->xSync(log->real, flags);
}

/* ---- the rest of a file's methods ----------------------------------------------------------- */

static int log_read(sqlite3_file *file, void *bytes, int size, sqlite3_int64 offset) {
    struct log_file *log = log_of(file);
    int code = write_collected(log);

    return code == SQLITE_OK ? log->real->pMethods->xRead(log->real, bytes, size, offset) : code;
}

static int log_truncate(sqlite3_file *file, sqlite3_int64 size) {
    struct log_file *log = log_of(file);
    int code = write_collected(log);

    log->length = 0;
    return code == SQLITE_OK ? log->real->pMethods->xTruncate(log->real, size) : code;
}

static int log_size(sqlite3_file *file, sqlite3_int64 *ret_size) {
    struct log_file *log = log_of(file);
    int code = write_collected(log);

    return code == SQLITE_OK ? log->real->pMethods->xFileSize(log->real, ret_size) : code;
}

static int log_close(sqlite3_file *file) {
    struct log_file *log = log_of(file);

    /* SQLite has flushed every commit; what is left belongs to none. */
    free(log->bytes);
    return log->real->pMethods->xClose(log->real);
}

/* SQLite locks the database, not the log. */
static int log_lock(sqlite3_file *file, int kind) {
    sqlite3_file *real = log_of(file)->real;

    return real->pMethods->xLock(real, kind);
}

static int log_unlock(sqlite3_file *file, int kind) {
    sqlite3_file *real = log_of(file)->real;

    return real->pMethods->xUnlock(real, kind);
}

static int log_check_lock(sqlite3_file *file, int *ret_is_locked) {
    sqlite3_file *real = log_of(file)->real;

    return real->pMethods->xCheckReservedLock(real, ret_is_locked);
}

static int log_control(sqlite3_file *file, int what, void *argument) {
    sqlite3_file *real = log_of(file)->real;

    return real->pMethods->xFileControl(real, what, argument);
}

static int log_sector_size(sqlite3_file *file) {
    sqlite3_file *real = log_of(file)->real;

    return real->pMethods->xSectorSize(real);
}

static int log_characteristics(sqlite3_file *file) {
    sqlite3_file *real = log_of(file)->real;

    return real->pMethods->xDeviceCharacteristics(real);
}

static const sqlite3_io_methods log_methods = {
    .iVersion = 1, /* no shared memory, no mapping: SQLite asks neither of a log */
    .xClose = log_close,
    .xRead = log_read,
    .xWrite = log_write,
    .xTruncate = log_truncate,
    .xSync = log_sync,
    .xFileSize = log_size,
    .xLock = log_lock,
    .xUnlock = log_unlock,
    .xCheckReservedLock = log_check_lock,
    .xFileControl = log_control,
    .xSectorSize = log_sector_size,
    .xDeviceCharacteristics = log_characteristics,
};

/* ---- the VFS ------------------------------------------------------------------------------- */

static sqlite3_vfs *real_vfs;
static sqlite3_vfs log_vfs;
static bool is_registered;

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                     int *ret_flags) {
    struct log_file *log = log_of(file);
    int code;

    (void)vfs;
    if ((flags & SQLITE_OPEN_WAL) == 0) {
        return real_vfs->xOpen(real_vfs, name, file, flags, ret_flags);
    }
    memset(log, 0, sizeof *log);
    log->real = (sqlite3_file *)(log + 1);
    code = real_vfs->xOpen(real_vfs, name, log->real, flags, ret_flags);
    log->file.pMethods = code == SQLITE_OK ? &log_methods : NULL;
    return code;
}

/* The other methods are those of the real VFS, which finds its own data in the copy. */
static void set_up(void) {
    real_vfs = sqlite3_vfs_find(NULL);
    if (real_vfs == NULL) {
        return;
    }
    log_vfs = *real_vfs;
    log_vfs.zName = "lk-commit-log";
    log_vfs.szOsFile += (int)sizeof(struct log_file);
    log_vfs.xOpen = open_file;
    is_registered = sqlite3_vfs_register(&log_vfs, 0) == SQLITE_OK;
}

const char *lk_commit_log_vfs(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, set_up);
    return is_registered ? log_vfs.zName : NULL;
}
