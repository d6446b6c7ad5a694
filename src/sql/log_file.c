/* SPDX-License-Identifier: Apache-2.0 */
/* File systems (VFS of SQLite's) that are the default one but for logs. */
#include "sql/log_file.h"

#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

/* ---- files that pass calls on ---------------------------------------------------------------- */

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

enum { HEADER_BYTES = 32 };

struct mark {
    char text[8];
    uint64_t log;       /* inodes */
    uint64_t directory; /* in which it has its name */
};
_Static_assert(sizeof(struct mark) <= HEADER_BYTES, "SQLite reads a marked log as empty");

struct log_file {
    struct lk_sql_log log; /* first */
    struct mark mark;      /* of this log; no text: it has none */
    bool is_name_durable;  /* the directory was flushed since the log was made */
    bool is_header_alone;  /* written since the last flush, into a log without frames */
    uint64_t room[];       /* for the real file: SQLite aligns files by eight bytes */
};

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

    return log->log.real->pMethods->xFileSize(log->log.real, &size) == SQLITE_OK && size >= least
           && size <= most;
}

static bool is_marked(struct log_file *log) {
    struct mark found;

    return log->mark.text[0] != '\0' && has_size(log, sizeof found, sizeof found)
           && log->log.real->pMethods->xRead(log->log.real, &found, sizeof found, 0) == SQLITE_OK
           && memcmp(&found, &log->mark, sizeof found) == 0;
}

/* ---- the methods ----------------------------------------------------------------------------- */

static int write_log(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset) {
    struct log_file *log = log_of(file);

    log->is_header_alone = offset == 0 && size == HEADER_BYTES && has_size(log, 0, HEADER_BYTES);
    return log->log.real->pMethods->xWrite(log->log.real, bytes, size, offset);
}

/* The last to close the file empties the log, and no other process has it open. */
static int truncate_log(sqlite3_file *file, sqlite3_int64 size) {
    struct log_file *log = log_of(file);
    int code;

    if (size == 0 && is_marked(log)) {
        return SQLITE_OK;
    }
    log->is_header_alone = false;
    code = log->log.real->pMethods->xTruncate(log->log.real, size);
    if (code == SQLITE_OK && size == 0 && log->is_name_durable && log->mark.text[0] != '\0') {
        /* Without the mark the next process flushes the directory: no harm. */
        (void)log->log.real->pMethods->xWrite(log->log.real, &log->mark, sizeof log->mark, 0);
    }
    return code;
}

static int flush_log(sqlite3_file *file, int flags) {
    struct log_file *log = log_of(file);
    int code;

    if (log->is_header_alone) {
        return SQLITE_OK;
    }
    code = log->log.real->pMethods->xSync(log->log.real, flags);
    log->is_name_durable = log->is_name_durable || code == SQLITE_OK;
    return code;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Opened as one that is there, SQLite does not flush the directory; else with its first flush. */
static int open_log(struct lk_sql_log *log, sqlite3_vfs *original, const char *path, int flags,
                    int *ret_flags) {
    struct log_file *file = (struct log_file *)log;
    int code = original->xOpen(original, path, log->real, flags & ~SQLITE_OPEN_CREATE, ret_flags);

    if (code == SQLITE_OK) {
        make_mark(path, &file->mark);
        if (is_marked(file)) {
            file->is_name_durable = true;
            return SQLITE_OK;
        }
        (void)log->real->pMethods->xClose(log->real);
    }
    memset(log->real, 0, (size_t)original->szOsFile);
    code = original->xOpen(original, path, log->real, flags, ret_flags);
    if (code == SQLITE_OK) {
        make_mark(path, &file->mark);
    }
    return code;
}

static struct lk_sql_log_vfs file_system = {
    .name = "lockkeeper",
    .file_bytes = (int)sizeof(struct log_file),
    .open = open_log,
    .methods = {.xWrite = write_log, .xTruncate = truncate_log, .xSync = flush_log},
};
static bool is_registered;

static void make_file_system(void) {
    is_registered = lk_sql_log_vfs_register(&file_system);
}

/* For a library that is unloaded. */
__attribute__((destructor)) static void remove_file_system(void) {
    if (is_registered) {
        (void)sqlite3_vfs_unregister(&file_system.vfs);
    }
}

const char *lk_sql_log_file_system(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, make_file_system);
    return is_registered ? file_system.name : NULL;
}
