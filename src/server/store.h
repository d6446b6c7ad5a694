/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a service's decisions become durable: load everything, write a batch. SQLite in a directory
 * (store_sqlite.c); in the simulator a disk that is invented. Called from one thread at a time,
 * which is not the core's.
 */
#ifndef LK_SERVER_STORE_H
#define LK_SERVER_STORE_H

#include "lockkeeper/lockkeeper.h"
#include "server/batch.h"
#include "server/image.h"

struct lk_store_keeper; /* one open store; each kind embeds it first */

struct lk_store_keeper_ops {
    /*
     * What was written, into a fresh image, deadlines on the clock of `times` and as R11 wants them
     * after a restart; that they are so now is durable, too. LK_OK with *ret_image; or an outcome
     * with its sentence, and it may be tried again.
     */
    lk_outcome (*load)(struct lk_store_keeper *keeper, const struct lk_model_config *config,
                       const struct lk_times *times, struct lk_image **ret_image, lk_error *error);

    /*
     * All of the batch in one transaction. LK_OK: durable. Anything else: it was not written, or
     * nobody knows; what is true will be told by load().
     */
    lk_outcome (*write)(struct lk_store_keeper *keeper, const struct lk_batch *batch,
                        lk_error *error);

    /* Where the service answers, for those whom it keeps out. Before any other thread is there. */
    lk_outcome (*announce)(struct lk_store_keeper *keeper, const char *address, lk_error *error);
    void (*close)(struct lk_store_keeper *keeper);
};

struct lk_store_keeper {
    const struct lk_store_keeper_ops *ops;
};

struct lk_store_sqlite_options {
    const char *directory; /* made if it is not there */
    bool is_relaxed;
};

/*
 * The file DIRECTORY/locks.db, made if it is not there, and the claim to be the only one who
 * changes it. LK_OK; LK_DENIED (rights, or another service keeps it); LK_UNSUPPORTED (a newer
 * format, a network file system); LK_INVALID (no store); LK_UNAVAILABLE; LK_INTERNAL.
 */
lk_outcome lk_store_sqlite_open(const struct lk_store_sqlite_options *options,
                                struct lk_store_keeper **ret_keeper, lk_error *error);

#endif
