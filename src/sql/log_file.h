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

/* The name for sqlite3_open_v2(); NULL, which is the default, if it cannot be had. */
const char *lk_sql_log_file_system(void);

#endif
