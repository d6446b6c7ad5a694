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

#include "sql/log_file.h"

enum {
    WRITE_MAX = 1 << 16, /* bytes; SQLite's unix VFS cannot write 128 KiB at once */
    EXTENSION_WRITES = 4,
    EXTENSION = EXTENSION_WRITES * WRITE_MAX, /* bytes by which the file is made longer */
};

struct log_file {
    struct lk_sql_log log; /* first */
    char *bytes;           /* collected, for `offset` */
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
        (void)log->log.real->pMethods->xFileSize(log->log.real, &log->length);
    }
    if (end < log->length) {
        return;
    }
    log->length = end + EXTENSION;
    zeros = calloc(1, WRITE_MAX);
    for (int i = 0; i < EXTENSION_WRITES && zeros != NULL; i++) {
        sqlite3_int64 offset = end + (sqlite3_int64)i * WRITE_MAX;

        if (log->log.real->pMethods->xWrite(log->log.real, zeros, WRITE_MAX, offset) != SQLITE_OK) {
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
    return log->log.real->pMethods->xWrite(log->log.real, log->bytes, (int)size, log->offset);
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
        return code == SQLITE_OK
                   ? log->log.real->pMethods->xWrite(log->log.real, bytes, size, offset)
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
    return log->log.real->pMethods->xSync(log->log.real, flags);
}

/* ---- the rest of a file's methods ----------------------------------------------------------- */

static int log_read(sqlite3_file *file, void *bytes, int size, sqlite3_int64 offset) {
    struct log_file *log = log_of(file);
    int code = write_collected(log);

    return code == SQLITE_OK ? log->log.real->pMethods->xRead(log->log.real, bytes, size, offset)
                             : code;
}

static int log_truncate(sqlite3_file *file, sqlite3_int64 size) {
    struct log_file *log = log_of(file);
    int code = write_collected(log);

    log->length = 0;
    return code == SQLITE_OK ? log->log.real->pMethods->xTruncate(log->log.real, size) : code;
}

static int log_size(sqlite3_file *file, sqlite3_int64 *ret_size) {
    struct log_file *log = log_of(file);
    int code = write_collected(log);

    return code == SQLITE_OK ? log->log.real->pMethods->xFileSize(log->log.real, ret_size) : code;
}

static int log_close(sqlite3_file *file) {
    struct log_file *log = log_of(file);

    /* SQLite has flushed every commit; what is left belongs to none. */
    free(log->bytes);
    return log->log.real->pMethods->xClose(log->log.real);
}

/* ---- the VFS ------------------------------------------------------------------------------- */

static int open_log(struct lk_sql_log *log, sqlite3_vfs *original, const char *path, int flags,
                    int *ret_flags) {
    return original->xOpen(original, path, log->real, flags, ret_flags);
}

static struct lk_sql_log_vfs log_vfs = {
    .name = "lk-commit-log",
    .file_bytes = (int)sizeof(struct log_file),
    .open = open_log,
    .methods = {.xClose = log_close,
                .xRead = log_read,
                .xWrite = log_write,
                .xTruncate = log_truncate,
                .xSync = log_sync,
                .xFileSize = log_size},
};
static bool is_registered;

static void set_up(void) {
    is_registered = lk_sql_log_vfs_register(&log_vfs);
}

const char *lk_commit_log_vfs(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, set_up);
    return is_registered ? log_vfs.name : NULL;
}
