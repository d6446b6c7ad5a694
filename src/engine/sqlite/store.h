/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One open store, for the files of this folder: its connection, and its transactions.
 *
 * A transaction holds the store's mutex and reads the clocks once. It never sleeps while it holds
 * the mutex or the file: a call that finds the file busy releases both, backs off, and tries again
 * until the caller's patience is over.
 */
#ifndef LK_ENGINE_SQLITE_STORE_H
#define LK_ENGINE_SQLITE_STORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/random.h"
#include "engine/sqlite/address.h"
#include "engine/sqlite/files.h"
#include "engine/sqlite/sqlite.h"
#include "sql/items.h"
#include "sql/meta.h"
#include "sql/requests.h"

/* ---- transactions ---------------------------------------------------------------------------- */

enum {
    LK_SQLITE_CHECKPOINT_PAGES = 4000, /* of the write-ahead log: 16 MiB */
    LK_SQLITE_OVERDUE_MAX = 64,        /* overdue requests elsewhere that a call ends, too */
    LK_SQLITE_CROWD_MAX = 24,          /* related rows; of more, only what decides is loaded */
    LK_SQLITE_ENDED_MAX = 65536,       /* ended tokens kept (R3), give or take one upkeep's worth */
    LK_SQLITE_SWEEP_EVERY = 16,        /* one in so many writing transactions sweeps ended tokens */
    LK_SQLITE_SWEEP_ENDED = 64,        /* ended tokens that a sweep reads */
    LK_SQLITE_SWEEP_DONE = 64,         /* items that are done which a sweep forgets */
    LK_SQLITE_UPKEEP_EVERY = 256,      /* one in so many bounds their number and sweeps roots */
    LK_SQLITE_UPKEEP_ROOTS = 1024,     /* roots that a sweep reads */
    LK_SQLITE_SWEEP_EVENTS = 256,      /* unwatched events deleted at a time */
};

/* Requests whose waiters have to look again once the transaction is committed; change_watch.h. */
struct lk_sqlite_wakes {
    uint64_t *requests;
    size_t count;
    size_t capacity;
};

/* How far a purge has come: the last number or sequence that was checked. */
struct lk_sqlite_purged {
    atomic_int_least64_t mark;
    atomic_int_least64_t parked;
};

struct lk_sqlite {
    struct lk_engine engine; /* first: the client library's handle */
    struct lk_sqlite_address address;
    struct lk_sqlite_options options;
    char boot_id[LK_SQL_BOOT_ID_MAX + 1];
    pid_t process; /* that opened it: a child of fork() must not touch it */

    atomic_bool is_gone;    /* its files are not those that others find */
    atomic_bool has_got;    /* by the last ask: the next try is not looked at first */
    struct lk_sqlite *next; /* of all that are open */
    bool is_held;           /* by a fork() under way */

    struct lk_sqlite_purged purged; /* R17: by rounds of announcing */

    pthread_mutex_t mutex; /* guards what follows, and is held whenever SQLite is called */
    struct lk_sql sql;
    bool is_behind; /* its tables are older than this program; upgrade.h */
    struct lk_sqlite_beside beside[LK_SQLITE_BESIDE_COUNT];
    struct lk_random random;
    struct lk_sqlite_wakes wakes;
    uint64_t looks;                /* checks of waiters so far, for tests */
    uint64_t own_commits;          /* that changed something; PRAGMA data_version counts others' */
    int own_changes;               /* rows that this connection had changed by the last of them */
    struct lk_sql_request request; /* room for one row; too large for the stack */
    struct lk_sql_item item;       /* likewise */
    struct lk_record checked;      /* likewise: a waiting request that crowd.c decides about */
    struct lk_sqlite_sources *sources; /* tables of the owner's (R17); NULL: none yet */
};

enum lk_sqlite_access {
    LK_SQLITE_READ,  /* of a call that only reads */
    LK_SQLITE_LOOK,  /* reads, in a call that may write: upgrades tables (upgrade.h) */
    LK_SQLITE_WRITE, /* writes; upgrades tables */
};

struct lk_sqlite_transaction {
    struct lk_sqlite *store;
    enum lk_sqlite_access access; /* never LK_SQLITE_LOOK: it has become LK_SQLITE_READ */
    struct lk_sql_meta meta;
    struct lk_times times;
};

/*
 * Begins a transaction: LK_OK, with the mutex held until lk_sqlite_transaction_end(); or an outcome
 * with its sentence: LK_UNAVAILABLE when patience is over, LK_CANCELLED, LK_INTERNAL after a
 * fork(), or what the file's state makes of it. In another boot than the file's, the transaction
 * first moves the rows to this boot's clock.
 */
lk_outcome lk_sqlite_transaction_begin(struct lk_sqlite *store, enum lk_sqlite_access access,
                                       const struct lk_patience *patience,
                                       struct lk_sqlite_transaction *ret_transaction,
                                       lk_error *error);

/*
 * Commits if `code` is SQLITE_OK, else rolls back. LK_OK only if it is committed; otherwise the
 * outcome and sentence of the code or of the commit.
 */
lk_outcome lk_sqlite_transaction_end(struct lk_sqlite_transaction *transaction, int code,
                                     lk_error *error);

/* Whether the transaction has written anything. */
bool lk_sqlite_transaction_has_written(const struct lk_sqlite_transaction *transaction);

/*
 * Sets *ret_version to the store's version once the transaction is committed. Any other commit, of
 * this process or another, changes it. Returns SQLite's code.
 */
int lk_sqlite_transaction_version(const struct lk_sqlite_transaction *transaction,
                                  uint64_t *ret_version);

/* The same, outside of transactions; the mutex is held. */
int lk_sqlite_version(struct lk_sqlite *store, uint64_t *ret_version);

/*
 * The file is busy: sleeps, without the mutex, for longer with each retry (*retries, 0 at first).
 * LK_OK: try again; LK_UNAVAILABLE: patience is over; LK_CANCELLED.
 */
lk_outcome lk_sqlite_back_off(const struct lk_sqlite *store, const struct lk_patience *patience,
                              uint32_t *retries, lk_error *error);

/* Whether this process is a child of the one that opened the store; if so, says so. */
bool lk_sqlite_is_forked(const struct lk_sqlite *store, lk_error *error);

/* Operations of the engine: decide.c, await.c, queries.c, work_queries.c, follow.c, limits.c,
 * table.c, examine.c, backup.c. */
lk_outcome lk_sqlite_decide(struct lk_engine *engine, const struct lk_command *command,
                            const struct lk_patience *patience, struct lk_decision *ret_decision);
lk_outcome lk_sqlite_await(struct lk_engine *engine, const struct lk_wait_cursor *cursor,
                           int64_t until_us, struct lk_waker *waker);
lk_outcome lk_sqlite_list(struct lk_engine *engine, const struct lk_path *prefix,
                          const struct lk_patience *patience, lk_listing **ret_listing,
                          struct lk_error *error);
lk_outcome lk_sqlite_show(struct lk_engine *engine, const struct lk_path *path,
                          const struct lk_patience *patience, lk_listing **ret_listing,
                          struct lk_error *error);
lk_outcome lk_sqlite_audit(struct lk_engine *engine, const struct lk_path *prefix,
                           const struct lk_patience *patience, lk_audit **ret_audit,
                           struct lk_error *error);
lk_outcome lk_sqlite_value_get(struct lk_engine *engine, const struct lk_path *path,
                               const struct lk_patience *patience, lk_value **ret_value,
                               lk_error *error);
lk_outcome lk_sqlite_values(struct lk_engine *engine, const struct lk_value_query *query,
                            const struct lk_patience *patience, lk_value_list **ret_list,
                            lk_error *error);
lk_outcome lk_sqlite_items(struct lk_engine *engine, const struct lk_item_query *query,
                           const struct lk_patience *patience, lk_item_list **ret_list,
                           lk_error *error);
lk_outcome lk_sqlite_stats(struct lk_engine *engine, const struct lk_path *queue,
                           enum lk_stats_depth depth, const struct lk_patience *patience,
                           lk_queue_stats *ret_stats, lk_error *error);
lk_outcome lk_sqlite_decide_many(struct lk_engine *engine, const struct lk_command *commands,
                                 size_t count, const struct lk_patience *patience,
                                 struct lk_series *series);
lk_outcome lk_sqlite_parked(struct lk_engine *engine, const struct lk_parked_query *query,
                            const struct lk_patience *patience, lk_item_list **ret_list,
                            uint64_t *ret_reached, lk_error *error);
lk_outcome lk_sqlite_queues(struct lk_engine *engine, const struct lk_queue_query *query,
                            const struct lk_patience *patience, lk_queue_list **ret_list,
                            bool *ret_has_more, lk_error *error);
extern const struct lk_revoked_ops lk_sqlite_revoked_ops;
extern const struct lk_event_ops lk_sqlite_event_ops;
extern const struct lk_limit_ops lk_sqlite_limit_ops;
lk_outcome lk_sqlite_table_check(struct lk_engine *engine, const struct lk_source *source,
                                 const struct lk_patience *patience, lk_error *error);
lk_outcome lk_sqlite_table_announce(struct lk_engine *engine, const struct lk_source *source,
                                    size_t max, const struct lk_patience *patience,
                                    struct lk_announcement *ret_announcement, lk_error *error);
lk_outcome lk_sqlite_table_purge(struct lk_engine *engine, const struct lk_source *source,
                                 const struct lk_patience *patience, lk_error *error);
lk_outcome lk_sqlite_table_decide(struct lk_engine *engine, const struct lk_source *source,
                                  const struct lk_command *command,
                                  const struct lk_patience *patience,
                                  struct lk_decision *ret_decision);
lk_outcome lk_sqlite_table_await(struct lk_engine *engine, uint64_t version, int64_t until_us,
                                 struct lk_waker *waker);
lk_outcome lk_sqlite_examine(struct lk_engine *engine, const struct lk_patience *patience,
                             lk_report **ret_report, struct lk_error *error);
lk_outcome lk_sqlite_backup(struct lk_engine *engine, const char *path,
                            const struct lk_patience *patience, struct lk_error *error);

/* The store behind the client library's handle. */
static inline struct lk_sqlite *lk_sqlite_of(struct lk_engine *engine) {
    return (struct lk_sqlite *)engine;
}

/* ---- stores that are open while their process forks ------------------------------------------ */

/*
 * SQLite counts the locks of a process on a file in the process's memory. A child of fork()
 * inherits the counts, but none of the locks: a connection that it opens would rely on locks that
 * do not exist, and another process that closes the file last would remove the write-ahead log. So
 * a child closes the connections that it inherited before it opens a store. For that no thread may
 * be inside SQLite while the process forks: fork() waits for transactions to end.
 */

/*
 * Closes the connections that this process inherited. From then on fork() takes the store's mutex,
 * under which all of SQLite is called, until lk_sqlite_fork_guard_remove(). LK_OK or LK_INTERNAL.
 */
lk_outcome lk_sqlite_fork_guard_add(struct lk_sqlite *store, lk_error *error);

/* The store has no connection any more. It need not have been added. */
void lk_sqlite_fork_guard_remove(struct lk_sqlite *store);

#endif
