/* SPDX-License-Identifier: Apache-2.0 */
/* A file system (a VFS of SQLite's) that is the default one but for logs. */
#include "sql/log_file.h"

#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

enum { HEADER_BYTES = 32 };

struct mark {
    char text[8];
    uint64_t log;       /* inodes */
    uint64_t directory; /* in which it has its name */
};
_Static_assert(sizeof(struct mark) <= HEADER_BYTES, "SQLite reads a marked log as empty");

struct log_file {
    sqlite3_file base;
    sqlite3_file *real;
    struct mark mark;     /* of this log; no text: it has none */
    bool is_name_durable; /* the directory was flushed since the log was made */
    bool is_header_alone; /* written since the last flush, into a log without frames */
    uint64_t room[];      /* for the real file: SQLite aligns files by eight bytes */
};

static sqlite3_vfs file_system; /* a copy of the default, with another open */
static sqlite3_vfs *original;

static struct log_file *log_of(sqlite3_file *file) {
    return (struct log_file *)file;
}

/* ---- the mark -------------------------------------------------------------------------------- */

static void make_mark(const char *path, struct mark *ret_mark) {
    const char *slash = strrchr(path, '/');
    char directory[PATH_MAX];
    struct stat log;
    struct stat around;
    size_t size = slash != NULL ? (size_t)(slash - path) + 1 : 0;

    memset(ret_mark, 0, sizeof *ret_mark);
    if (size == 0 || size >= sizeof directory) {
        return;
    }
    memcpy(directory, path, size);
    directory[size] = '\0';
    if (stat(path, &log) == 0 && stat(directory, &around) == 0) {
        memcpy(ret_mark->text, "lk-kept", sizeof ret_mark->text);
        ret_mark->log = log.st_ino;
        ret_mark->directory = around.st_ino;
    }
}

static bool has_size(struct log_file *log, sqlite3_int64 least, sqlite3_int64 most) {
    sqlite3_int64 size = -1;

    return log->real->pMethods->xFileSize(log->real, &size) == SQLITE_OK && size >= least
           && size <= most;
}

static bool is_marked(struct log_file *log) {
    struct mark found;

    return log->mark.text[0] != '\0' && has_size(log, sizeof found, sizeof found)
           && log->real->pMethods->xRead(log->real, &found, sizeof found, 0) == SQLITE_OK
           && memcmp(&found, &log->mark, sizeof found) == 0;
}

/* ---- the methods ----------------------------------------------------------------------------- */

static int close_log(sqlite3_file *file) {
    return log_of(file)->real->pMethods->xClose(log_of(file)->real);
}

static int read_log(sqlite3_file *file, void *bytes, int size, sqlite3_int64 offset) {
    return log_of(file)->real->pMethods->xRead(log_of(file)->real, bytes, size, offset);
}

static int write_log(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset) {
    struct log_file *log = log_of(file);

    log->is_header_alone = offset == 0 && size == HEADER_BYTES && has_size(log, 0, HEADER_BYTES);
    return log->real->pMethods->xWrite(log->real, bytes, size, offset);
}

/* The last to close the file empties the log, and nobody else has it open. */
static int truncate_log(sqlite3_file *file, sqlite3_int64 size) {
    struct log_file *log = log_of(file);
    int code;

    if (size == 0 && is_marked(log)) {
        return SQLITE_OK;
    }
    log->is_header_alone = false;
    code = log->real->pMethods->xTruncate(log->real, size);
    if (code == SQLITE_OK && size == 0 && log->is_name_durable && log->mark.text[0] != '\0') {
        /* Without the mark the next process flushes the directory: no harm. */
        (void)log->real->pMethods->xWrite(log->real, &log->mark, sizeof log->mark, 0);
    }
    return code;
}

static int flush_log(sqlite3_file *file, int flags) {
    struct log_file *log = log_of(file);
    int code;

    if (log->is_header_alone) {
        return SQLITE_OK;
    }
    code = log->real->pMethods->xSync(log->real, flags);
    log->is_name_durable = log->is_name_durable || code == SQLITE_OK;
    return code;
}

static int size_of_log(sqlite3_file *file, sqlite3_int64 *ret_size) {
    return log_of(file)->real->pMethods->xFileSize(log_of(file)->real, ret_size);
}

static int lock_log(sqlite3_file *file, int level) {
    return log_of(file)->real->pMethods->xLock(log_of(file)->real, level);
}

static int unlock_log(sqlite3_file *file, int level) {
    return log_of(file)->real->pMethods->xUnlock(log_of(file)->real, level);
}

static int check_lock(sqlite3_file *file, int *ret_is_locked) {
    return log_of(file)->real->pMethods->xCheckReservedLock(log_of(file)->real, ret_is_locked);
}

static int control_log(sqlite3_file *file, int operation, void *argument) {
    return log_of(file)->real->pMethods->xFileControl(log_of(file)->real, operation, argument);
}

static int sector_size(sqlite3_file *file) {
    return log_of(file)->real->pMethods->xSectorSize(log_of(file)->real);
}

static int characteristics(sqlite3_file *file) {
    return log_of(file)->real->pMethods->xDeviceCharacteristics(log_of(file)->real);
}

static const sqlite3_io_methods methods = {
    .iVersion = 1, /* shared memory and mapping are the database's, not the log's */
    .xClose = close_log,
    .xRead = read_log,
    .xWrite = write_log,
    .xTruncate = truncate_log,
    .xSync = flush_log,
    .xFileSize = size_of_log,
    .xLock = lock_log,
    .xUnlock = unlock_log,
    .xCheckReservedLock = check_lock,
    .xFileControl = control_log,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
};

/* ---- opening --------------------------------------------------------------------------------- */

/* Opened as one that is there, SQLite does not flush the directory; else with its first flush. */
static int open_real(struct log_file *log, const char *path, int flags, int *ret_flags) {
    int code = original->xOpen(original, path, log->real, flags & ~SQLITE_OPEN_CREATE, ret_flags);

    if (code == SQLITE_OK) {
        make_mark(path, &log->mark);
        if (is_marked(log)) {
            log->is_name_durable = true;
            return SQLITE_OK;
        }
        (void)log->real->pMethods->xClose(log->real);
    }
    memset(log->real, 0, (size_t)original->szOsFile);
    code = original->xOpen(original, path, log->real, flags, ret_flags);
    if (code == SQLITE_OK) {
        make_mark(path, &log->mark);
    }
    return code;
}

static int open_file(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags,
                     int *ret_flags) {
    struct log_file *log = log_of(file);
    int code;

    (void)vfs;
    if ((flags & SQLITE_OPEN_WAL) == 0) {
        return original->xOpen(original, path, file, flags, ret_flags);
    }
    memset(log, 0, sizeof *log + (size_t)original->szOsFile);
    log->real = (sqlite3_file *)log->room;
    code = open_real(log, path, flags, ret_flags);
    log->base.pMethods = code == SQLITE_OK ? &methods : NULL;
    return code;
}

static void make_file_system(void) {
    original = sqlite3_vfs_find(NULL);
    if (original != NULL) {
        file_system = *original;
        file_system.zName = "lockkeeper";
        file_system.szOsFile = (int)sizeof(struct log_file) + original->szOsFile;
        file_system.xOpen = open_file;
        if (sqlite3_vfs_register(&file_system, 0) != SQLITE_OK) {
            original = NULL;
        }
    }
}

/* For a library that is unloaded. */
__attribute__((destructor)) static void remove_file_system(void) {
    if (original != NULL) {
        (void)sqlite3_vfs_unregister(&file_system);
    }
}

const char *lk_sql_log_file_system(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, make_file_system);
    return original != NULL ? file_system.zName : NULL;
}
