/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the files that a connection has open are still the ones with their names.
 *
 * Locks are on inodes. A process that finds a replaced database, log or log index uses another
 * store, and neither side sees what the other grants. Once a connection has read, no user of SQLite
 * removes the two files beside the database; a clean-up job may.
 */
#ifndef LK_ENGINE_SQLITE_FILE_IDENTITY_H
#define LK_ENGINE_SQLITE_FILE_IDENTITY_H

#include <sqlite3.h>
#include <stdbool.h>
#include <sys/types.h>

enum { LK_SQLITE_BESIDE_COUNT = 2 }; /* -wal, -shm */

/* The files beside a connection's database. Zeros: not known yet. */
struct lk_sqlite_beside {
    dev_t device;
    ino_t inode;
};

/*
 * To be called inside a transaction, or after the first one: the first call records the identities
 * of the two files beside the database.
 */
bool lk_sqlite_has_moved(sqlite3 *handle, struct lk_sqlite_beside beside[LK_SQLITE_BESIDE_COUNT]);

#endif
