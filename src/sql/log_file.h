/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The write-ahead log, kept from one process to the next.
 *
 * SQLite makes the log when a file is opened and removes it when the last process closes the file.
 * Of the six flushes of a short process two are for that: one of the new log's header, one of the
 * directory. Here the last to close leaves an empty log with a mark in place of the header; SQLite
 * reads what is no longer than a header as empty. Two flushes are left out then:
 *
 *     of a header in a log that has no frames. What a power cut leaves of such a log begins with no
 *         header, or its frames do not have the header's salt: nothing can be read by mistake, and
 *         the first commit flushes header and frames together
 *     of the directory, if the log has the mark: its name is durable. The mark names the inodes of
 *         both, so that a log that was copied or moved has none
 *
 * All else is SQLite's own file system.
 */
#ifndef LK_SQL_LOG_FILE_H
#define LK_SQL_LOG_FILE_H

#include <sqlite3.h>
#include <stdbool.h>

/* ---- files that pass calls on ---------------------------------------------------------------- */

/*
 * A VFS of SQLite's that is the default one but for write-ahead logs. What the variants have in
 * common: a log's calls go to the default VFS's file, but for those that a variant makes itself.
 */

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

/* ---- the log --------------------------------------------------------------------------------- */

/* The name for sqlite3_open_v2(); NULL, which is the default, if it cannot be had. */
const char *lk_sql_log_file_system(void);

#endif
