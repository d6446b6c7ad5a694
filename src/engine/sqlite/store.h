/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One open store, for the files of this folder: its connection, and the turns taken on it.
 *
 * A turn is one transaction with one reading of the clocks, taken under the store's mutex. It never
 * sleeps while it holds the mutex or the file: who finds the file busy lets go of both, backs off,
 * and tries again until the caller's patience is over.
 */
#ifndef LK_ENGINE_SQLITE_STORE_H
#define LK_ENGINE_SQLITE_STORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/random.h"
#include "engine/sqlite/place.h"
#include "engine/sqlite/sqlite.h"
#include "sql/items.h"
#include "sql/ledger.h"
#include "sql/requests.h"

enum {
    LK_SQLITE_CHECKPOINT_PAGES = 4000, /* of the write-ahead log: 16 MiB */
    LK_SQLITE_OVERDUE_MAX = 64,        /* overdue requests from elsewhere taken along by a call */
    LK_SQLITE_ENDED_MAX = 65536,       /* ended tokens kept (R3), give or take one upkeep's worth */
    LK_SQLITE_AUDIT_MAX = 65536,       /* breaks kept on record (R12) */
    LK_SQLITE_SWEEP_EVERY = 16,        /* one in so many writing turns sweeps ended tokens */
    LK_SQLITE_SWEEP_ENDED = 64,        /* ended tokens looked at by each */
    LK_SQLITE_UPKEEP_EVERY = 256,  /* one in so many counts them, and looks after unused roots */
    LK_SQLITE_UPKEEP_ROOTS = 1024, /* roots looked at by each */
    LK_SQLITE_SWEEP_EVENTS = 256,  /* events that nobody watches any more, forgotten at a time */
};
#define LK_SQLITE_EVENTS_LINGER_US INT64_C(300000000) /* after the store was last watched */
#define LK_SQLITE_ROOT_IDLE_US INT64_C(60000000) /* unused for so long, a root is forgotten (R4) */

struct lk_sqlite {
    struct lk_engine engine; /* first: the keeper's handle */
    struct lk_sqlite_place place;
    struct lk_sqlite_options options;
    char boot_id[LK_SQL_BOOT_ID_MAX + 1];
    pid_t process; /* that opened it: a child of fork() must not touch it */

    atomic_bool is_gone;    /* its files are not those that others find */
    struct lk_sqlite *next; /* forks.h */
    bool is_held;           /* by a fork() under way */

    pthread_mutex_t mutex; /* guards what follows, and is held whenever SQLite is called */
    struct lk_sql sql;
    struct lk_random random;
    uint64_t own_commits;          /* that changed something; PRAGMA data_version counts others' */
    int own_changes;               /* rows that this connection had changed by the last of them */
    struct lk_sql_request request; /* the row in hand; too large for the stack */
    struct lk_sql_item item;       /* likewise */
    struct lk_sqlite_sources *sources; /* tables of the owner's (R17); NULL: none yet */
    int64_t done_looked;               /* the last mark that a round of announcing looked at */
};

enum lk_sqlite_access { LK_SQLITE_READ, LK_SQLITE_WRITE };

struct lk_sqlite_turn {
    struct lk_sqlite *store;
    enum lk_sqlite_access access;
    struct lk_sql_meta meta;
    struct lk_times times;
};

/*
 * Begins a turn: LK_OK, with the mutex held until lk_sqlite_turn_end(); or an outcome with its
 * sentence: LK_UNAVAILABLE when patience is over, LK_CANCELLED, LK_INTERNAL after a fork(), and
 * what the file's state makes of it. A turn on another boot than the file's re-bases it first.
 */
lk_outcome lk_sqlite_turn_begin(struct lk_sqlite *store, enum lk_sqlite_access access,
                                const struct lk_patience *patience, struct lk_sqlite_turn *ret_turn,
                                lk_error *error);

/*
 * Ends it: commits if `code` is SQLITE_OK, else rolls back. LK_OK only if it is committed.
 * Otherwise the code's, or the commit's, outcome and sentence.
 */
lk_outcome lk_sqlite_turn_end(struct lk_sqlite_turn *turn, int code, lk_error *error);

/* Whether anything has been written in it. */
bool lk_sqlite_turn_has_written(const struct lk_sqlite_turn *turn);

/*
 * Says in *ret_version what the store is at once the turn is committed: any other commit makes
 * another number of it, whoever's it is. Returns SQLite's code.
 */
int lk_sqlite_turn_version(const struct lk_sqlite_turn *turn, uint64_t *ret_version);

/* The same, outside of turns; the mutex is held. */
int lk_sqlite_version(struct lk_sqlite *store, uint64_t *ret_version);

/*
 * The file is busy: sleeps a little longer than the time before (*delay_us, 0 at first), with
 * jitter and without the mutex. LK_OK: try again; LK_UNAVAILABLE: patience is over; LK_CANCELLED.
 */
lk_outcome lk_sqlite_back_off(const struct lk_sqlite *store, const struct lk_patience *patience,
                              int64_t *delay_us, lk_error *error);

/* LK_OK, or LK_UNSUPPORTED: the tables are of a format that this program must not touch. */
lk_outcome lk_sqlite_check_format(const struct lk_sqlite *store, int64_t format,
                                  int64_t writable_from, lk_error *error);

/* Sleeps for `duration_us`, or until the waker (NULL: none) is thrown; returns whether it is. */
bool lk_sqlite_pause(struct lk_waker *waker, int64_t duration_us);

/* Whether this process is a child of the one that opened the store; if so, says so. */
bool lk_sqlite_is_forked(const struct lk_sqlite *store, lk_error *error);

/* Operations of the table: decide.c, work.c, take.c, look.c, await.c, await_work.c, follow.c,
 * limits.c, examine.c. */
lk_outcome lk_sqlite_ask(struct lk_engine *engine, const struct lk_ask *ask,
                         const struct lk_patience *patience, lk_result *result,
                         struct lk_stand *ret_stand);
lk_outcome lk_sqlite_renew(struct lk_engine *engine, const struct lk_renew *renew,
                           const struct lk_patience *patience, lk_result *result);
lk_outcome lk_sqlite_release(struct lk_engine *engine, const struct lk_release *release,
                             const struct lk_patience *patience, lk_result *result);
lk_outcome lk_sqlite_break(struct lk_engine *engine, const struct lk_break *broken,
                           struct lk_slice by, struct lk_slice reason,
                           const struct lk_patience *patience, size_t *ret_count,
                           struct lk_error *error);
lk_outcome lk_sqlite_await(struct lk_engine *engine, const struct lk_stand *stand, int64_t until_us,
                           struct lk_waker *waker);
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
lk_outcome lk_sqlite_value_put(struct lk_engine *engine, const struct lk_put *put,
                               const struct lk_patience *patience, lk_error *error);
lk_outcome lk_sqlite_push(struct lk_engine *engine, const struct lk_push *push,
                          const struct lk_patience *patience, bool *ret_added, lk_error *error);
lk_outcome lk_sqlite_take(struct lk_engine *engine, const struct lk_take *take,
                          const struct lk_patience *patience, lk_claim_info **ret_claim,
                          struct lk_stand *ret_stand, lk_error *error);
lk_outcome lk_sqlite_finish(struct lk_engine *engine, const struct lk_finish *finish,
                            const struct lk_patience *patience, lk_error *error);
lk_outcome lk_sqlite_unpark(struct lk_engine *engine, const struct lk_unpark *unpark,
                            const struct lk_patience *patience, lk_error *error);
lk_outcome lk_sqlite_items(struct lk_engine *engine, const struct lk_path *queue,
                           const struct lk_patience *patience, lk_item_list **ret_list,
                           lk_error *error);
lk_outcome lk_sqlite_stats(struct lk_engine *engine, const struct lk_path *queue,
                           const struct lk_patience *patience, lk_queue_stats *ret_stats,
                           lk_error *error);
lk_outcome lk_sqlite_await_work(struct lk_engine *engine, const struct lk_path *queue,
                                const struct lk_stand *stand, int64_t until_us,
                                struct lk_waker *waker);
lk_outcome lk_sqlite_events(struct lk_engine *engine, const struct lk_event_query *query,
                            const struct lk_patience *patience,
                            struct lk_happenings **ret_happenings, lk_error *error);
lk_outcome lk_sqlite_await_events(struct lk_engine *engine, uint64_t after, int64_t until_us,
                                  struct lk_waker *waker);
lk_outcome lk_sqlite_limits_get(struct lk_engine *engine, const struct lk_patience *patience,
                                lk_limits *ret_limits, lk_error *error);
lk_outcome lk_sqlite_limits_set(struct lk_engine *engine, const lk_limits *limits,
                                const struct lk_patience *patience, lk_error *error);
lk_outcome lk_sqlite_table_check(struct lk_engine *engine, const struct lk_source *source,
                                 const struct lk_patience *patience, lk_error *error);
lk_outcome lk_sqlite_table_announce(struct lk_engine *engine, const struct lk_source *source,
                                    size_t max, const struct lk_patience *patience,
                                    struct lk_announcement *ret_announcement, lk_error *error);
lk_outcome lk_sqlite_table_take(struct lk_engine *engine, const struct lk_source *source,
                                const struct lk_take *take, const struct lk_patience *patience,
                                lk_claim_info **ret_claim, struct lk_stand *ret_stand,
                                lk_error *error);
lk_outcome lk_sqlite_table_finish(struct lk_engine *engine, const struct lk_source *source,
                                  const struct lk_finish *finish,
                                  const struct lk_patience *patience, lk_error *error);
lk_outcome lk_sqlite_table_await(struct lk_engine *engine, uint64_t version, int64_t until_us,
                                 struct lk_waker *waker);
lk_outcome lk_sqlite_examine(struct lk_engine *engine, const struct lk_patience *patience,
                             lk_report **ret_report, struct lk_error *error);

/* The store behind the keeper's handle. */
static inline struct lk_sqlite *lk_sqlite_of(struct lk_engine *engine) {
    return (struct lk_sqlite *)engine;
}

#endif
