/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores that are open while their process forks.
 *
 * SQLite keeps the count of a process's locks on a file in memory of its own. A child of fork()
 * inherits the counts, but none of the locks: a connection that it opens would rely on locks
 * that do not exist, and the last of the others to leave would take the write-ahead log away from
 * under it. So a child closes what it has inherited before it opens anything. For that no thread
 * may be inside SQLite while the process forks: fork() waits for the transactions under way.
 */
#ifndef LK_ENGINE_SQLITE_FORK_GUARD_H
#define LK_ENGINE_SQLITE_FORK_GUARD_H

#include "engine/sqlite/store.h"

/*
 * From here on fork() takes the store's mutex, under which all of SQLite is called, until
 * lk_sqlite_fork_guard_remove(). Closes what this process has inherited, before. LK_OK or
 * LK_INTERNAL.
 */
lk_outcome lk_sqlite_fork_guard_add(struct lk_sqlite *store, lk_error *error);

/* The store, which may never have been added, has no connection any more. */
void lk_sqlite_fork_guard_remove(struct lk_sqlite *store);

#endif
