/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores that are open while their process forks.
 *
 * SQLite counts the locks of a process on a file in the process's memory. A child of fork()
 * inherits the counts, but none of the locks: a connection that it opens would rely on locks that
 * do not exist, and another process that closes the file last would remove the write-ahead log. So
 * a child closes the connections that it inherited before it opens a store. For that no thread may
 * be inside SQLite while the process forks: fork() waits for transactions to end.
 */
#ifndef LK_ENGINE_SQLITE_FORK_GUARD_H
#define LK_ENGINE_SQLITE_FORK_GUARD_H

#include "engine/sqlite/store.h"

/*
 * Closes the connections that this process inherited. From then on fork() takes the store's mutex,
 * under which all of SQLite is called, until lk_sqlite_fork_guard_remove(). LK_OK or LK_INTERNAL.
 */
lk_outcome lk_sqlite_fork_guard_add(struct lk_sqlite *store, lk_error *error);

/* The store has no connection any more. It need not have been added. */
void lk_sqlite_fork_guard_remove(struct lk_sqlite *store);

#endif
