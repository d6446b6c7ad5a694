/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A VFS of SQLite's that is the default one but for write-ahead logs. What the variants have in
 * common: a log's calls go to the default VFS's file, but for those that a variant makes itself.
 */
#ifndef LK_SQL_LOG_VFS_H
#define LK_SQL_LOG_VFS_H

#include <sqlite3.h>
#include <stdbool.h>

/* First in a variant's own file, which ends where the default VFS's file begins. */
struct lk_sql_log {
    sqlite3_file base;
    sqlite3_file *real;
};

/* Opens log->real by the default VFS. All but `base` and `real` is zero. An SQLite code. */
typedef int lk_sql_log_open(struct lk_sql_log *log, sqlite3_vfs *original, const char *path,
                            int flags, int *ret_flags);

struct lk_sql_log_vfs {
    sqlite3_vfs vfs;       /* first; set, like `original`, by lk_sql_log_vfs_register() */
    sqlite3_vfs *original; /* the default one */
    const char *name;
    int file_bytes; /* of a variant's own file; a multiple of 8 */
    lk_sql_log_open *open;
    sqlite3_io_methods methods; /* xWrite, xTruncate and xSync; others where they differ */
};

/* To be called once. False: it cannot be had. */
bool lk_sql_log_vfs_register(struct lk_sql_log_vfs *vfs);

#endif
