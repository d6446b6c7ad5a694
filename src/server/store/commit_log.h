/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the service writes SQLite's write-ahead log: all pages of a commit in one write, and the file
 * longer than the log, so that most flushes have no new length to write.
 *
 * The bytes are those that SQLite writes, in the same places. After the last commit the file has
 * zeros, or what an earlier round of the log left; SQLite's checksums tell both from a commit.
 */
#ifndef LK_SERVER_STORE_COMMIT_LOG_H
#define LK_SERVER_STORE_COMMIT_LOG_H

/*
 * The name of a SQLite VFS that does so, for a connection whose every commit is flushed
 * (synchronous FULL): pages are kept in memory until the flush. NULL: it cannot be registered.
 */
const char *lk_commit_log_vfs(void);

#endif
