/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The storage that makes a service's decisions durable: load everything, write a batch. SQLite in a
 * folder (store_sqlite.c); in the simulator a simulated disk. Called from one thread at a time: the
 * loop's for small batches, or the one that stands by (writer.h).
 *
 * Several services may share a store. Then one of them leads, under an epoch, a number that grows:
 *
 *   - Each load begins the next epoch, unless another service leads and keeps its lease. Also a
 *     service that leads already begins a new one: a batch whose outcome is unknown may still be on
 *     its way, and must not arrive after the load.
 *   - Each write checks, in its transaction, that the epoch is still the present one, and renews
 *     the lease. So a service that was replaced without noticing it writes nothing.
 *   - No answer leaves before a batch is written that was closed after it (is_fenced, core.h).
 */
#ifndef LK_SERVER_STORE_H
#define LK_SERVER_STORE_H

#include <stdatomic.h>

#include "lockkeeper/lockkeeper.h"
#include "server/core/exchange.h"

struct lk_storage; /* one open store; each kind embeds it first */

struct lk_storage_ops {
    /* Loads all that was written into a fresh snapshot, with deadlines on the clock of `times` and
     * changed as R11 requires after a restart; those changes are durable when it returns. LK_OK
     * with *ret_snapshot, and in a shared store this service leads; LK_BUSY: another service leads,
     * see `leader`; or another outcome. All have a message, and load() may be called again. */
    lk_outcome (*load)(struct lk_storage *storage, const struct lk_model_config *config,
                       const struct lk_times *times, struct lk_core_snapshot **ret_snapshot,
                       lk_error *error);

    /* Writes all of the batch in one transaction. LK_OK: durable. LK_LOST: not written, because
     * another service leads. Anything else: not written, or the outcome is unknown; load() returns
     * what is true. */
    lk_outcome (*write)(struct lk_storage *storage, const struct lk_batch *batch, lk_error *error);

    /* Records the service's addresses for programs that cannot open the store meanwhile. Called
     * before any other thread exists. */
    lk_outcome (*announce)(struct lk_storage *storage, const char *address, lk_error *error);

    /* Hands the shared store over, after the last write: another service may lead at once. NULL: it
     * is not shared. */
    lk_outcome (*resign)(struct lk_storage *storage, lk_error *error);
    void (*close)(struct lk_storage *storage);
};

enum { LK_LEADER_BYTES_MAX = 255 };

/* Who leads a shared store, as the last load() found it. */
struct lk_leader {
    uint64_t epoch;                        /* 0: no service has led yet */
    char address[LK_LEADER_BYTES_MAX + 1]; /* where clients find it; empty: it is this service */
    int64_t left_us;                       /* of its lease, then; 0 or less: it is over */
    bool is_behind; /* this service follows, and has not read the state that a takeover needs yet */
};

/* Why what was acknowledged may be lost, as the log tells it. */
struct lk_store_risk {
    const char *what;
    const char *advice;
};

struct lk_storage {
    const struct lk_storage_ops *ops;
    struct lk_leader leader; /* of a shared store; changed by load() alone */

    /* Why a shared store that this service leads may lose the last commits, which were
     * acknowledged; NULL: it does not. Static. Changed by load() and write(). */
    const struct lk_store_risk *_Atomic risk;

    /* Its tables or keys were brought to a format that this program does not know: no load() will
     * succeed any more. Changed by load() alone. */
    atomic_bool is_outdated;

    bool is_new; /* opening it has made it: nothing is held, whatever was before */
};

struct lk_store_sqlite_options {
    const char *directory; /* created if it does not exist */
    bool is_relaxed;
};

/*
 * Opens DIRECTORY/locks.db, creates it if it does not exist, and takes the lock that excludes every
 * other writer. LK_OK; LK_DENIED (permissions, or another service has it); LK_UNSUPPORTED (a newer
 * format, a network file system); LK_INVALID (no store); LK_UNAVAILABLE; LK_INTERNAL.
 */
lk_outcome lk_store_sqlite_open(const struct lk_store_sqlite_options *options,
                                struct lk_storage **ret_storage, lk_error *error);

#endif
