/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The storage that makes a service's decisions durable: load everything, write a batch. SQLite in a
 * folder (store_sqlite.c); in the simulator a simulated disk. Called from one thread at a time,
 * which is not the core's.
 */
#ifndef LK_SERVER_STORE_H
#define LK_SERVER_STORE_H

#include "lockkeeper/lockkeeper.h"
#include "server/core/batch.h"
#include "server/core/core_snapshot.h"

struct lk_storage; /* one open store; each kind embeds it first */

struct lk_storage_ops {
    /* Loads all that was written into a fresh snapshot, with deadlines on the clock of `times` and
     * changed as R11 requires after a restart; those changes are durable when it returns. LK_OK
     * with *ret_snapshot; or an outcome with its message, and load() may be called again. */
    lk_outcome (*load)(struct lk_storage *storage, const struct lk_model_config *config,
                       const struct lk_times *times, struct lk_core_snapshot **ret_snapshot,
                       lk_error *error);

    /* Writes all of the batch in one transaction. LK_OK: durable. Anything else: not written, or
     * the outcome is unknown; load() returns what is true. */
    lk_outcome (*write)(struct lk_storage *storage, const struct lk_batch *batch, lk_error *error);

    /* Records the service's addresses for programs that cannot open the store meanwhile. Called
     * before any other thread exists. */
    lk_outcome (*announce)(struct lk_storage *storage, const char *address, lk_error *error);
    void (*close)(struct lk_storage *storage);
};

struct lk_storage {
    const struct lk_storage_ops *ops;
};

struct lk_store_sqlite_options {
    const char *directory; /* created if it does not exist */
    bool is_relaxed;
    bool has_users; /* keeps which request belongs to which user */
};

/*
 * Opens DIRECTORY/locks.db, creates it if it does not exist, and takes the lock that excludes every
 * other writer. LK_OK; LK_DENIED (permissions, or another service has it); LK_UNSUPPORTED (a newer
 * format, a network file system); LK_INVALID (no store); LK_UNAVAILABLE; LK_INTERNAL.
 */
lk_outcome lk_store_sqlite_open(const struct lk_store_sqlite_options *options,
                                struct lk_storage **ret_storage, lk_error *error);

#endif
