/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a store: whether those that a connection has open are still the ones with their
 * names, and the lock by which a service keeps them.
 *
 * Locks are on inodes. A process that finds a replaced database, log or log index uses another
 * store, and neither side sees what the other grants. Once a connection has read, no user of SQLite
 * removes the two files beside the database; a clean-up job may.
 */
#ifndef LK_ENGINE_SQLITE_FILES_H
#define LK_ENGINE_SQLITE_FILES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <sys/types.h>

/* ---- identity -------------------------------------------------------------------------------- */

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

/* ---- the service lock ------------------------------------------------------------------------ */

/*
 * It keeps a store's file from all other writers.
 *
 * The service takes the lock on FILE-served, then writes its address into the row about the store,
 * and only then loads. Another process that is about to write reads the address in its own
 * transaction, and checks whether the lock is held. The lock ends with the service, however that
 * ends, and so does the service's claim to the file. Reading is always allowed.
 */

/*
 * Takes the lock for the file at `path`, whatever links lead there. 0 with *ret_descriptor, which
 * holds it until it is closed; EAGAIN: another service has it; else errno's value.
 */
int lk_sqlite_service_lock_take(const char *path, int *ret_descriptor);

/*
 * Whether a service holds the lock. `path` is absolute and has no symbolic links. The answer is yes
 * if it cannot be determined.
 */
bool lk_sqlite_service_lock_is_held(const char *path);

#endif
