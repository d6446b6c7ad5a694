/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stores have in common whose rules are procedures inside a database: each call is one
 * procedure (lk_ask, lk_release, ...), one round trip, on a connection that is taken from a small
 * pool for it. Here is what such a call is given, what is made of its answer, and what is tried
 * again; `struct lk_database` is what differs from one kind of database to another.
 *
 * The procedures of all kinds have the same names, take the same arguments, and answer the same
 * columns in the same order.
 */
#ifndef LK_ENGINE_PROCEDURES_PROCEDURES_H
#define LK_ENGINE_PROCEDURES_PROCEDURES_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "engine/engine.h"
#include "engine/procedures/arguments.h"
#include "engine/procedures/rows.h"

enum { LK_PROCEDURES_IDLE_MAX = 8 };

/* What may be sent a second time when its answer was lost; what only reads may be. */
enum lk_repeat { LK_ONCE, LK_REPEATABLE, LK_READING };

/* What became of one exchange. */
enum lk_fate {
    LK_FATE_ANSWERED,   /* by rows, or by an error that is final */
    LK_FATE_CONFLICTED, /* nothing was done, for others were in the way: again */
    LK_FATE_UNREACHED,  /* nothing was sent, the connection is lost: again */
    LK_FATE_UNKNOWN,    /* sent, and the answer lost with the connection */
    LK_FATE_CANCELLED,  /* the caller has given up, and so has the connection */
};

struct lk_procedures;
struct lk_table;       /* table.h */
struct lk_transaction; /* likewise */

/* One call of a procedure, or one statement of SQL. */
struct lk_call {
    const char *name; /* of the procedure */
    const char *sql;  /* instead of it, without arguments; else NULL */
    enum lk_repeat repeat;
    const struct lk_arguments *arguments;
};

/* One kind of database. A connection is whatever connect() makes. */
struct lk_database {
    enum lk_list_form lists;

    /* As an operation of the engine, with its outcomes. */
    lk_outcome (*connect)(struct lk_procedures *store, const struct lk_patience *patience,
                          void **ret_connection, lk_error *error);
    bool (*is_alive)(void *connection); /* one that was idle */
    void (*disconnect)(void *connection);

    /* LK_FATE_ANSWERED with *ret_outcome LK_OK and *ret_rows, or another outcome explained. */
    enum lk_fate (*exchange)(struct lk_procedures *store, void *connection,
                             const struct lk_call *call, const struct lk_patience *patience,
                             struct lk_rows **ret_rows, lk_outcome *ret_outcome, lk_error *error);

    uint64_t (*version)(struct lk_procedures *store); /* for stands; NULL: none */

    /* R17, table.h. NULL where LK_CAN_TABLE is missing. */
    lk_outcome (*table_open)(struct lk_procedures *store, const struct lk_source *source,
                             const struct lk_patience *patience, struct lk_table *ret_table,
                             lk_error *error);
    /* Runs a transaction: LK_FATE_ANSWERED, when it was committed or has failed for good. */
    enum lk_fate (*transact)(struct lk_procedures *store, void *connection,
                             struct lk_transaction *transaction, const struct lk_patience *patience,
                             lk_outcome *ret_outcome, lk_error *error);
};

/* A store that is open. The first member of each kind's own. */
struct lk_procedures {
    struct lk_engine engine;
    const struct lk_database *database;
    pid_t process; /* that opened it */
    pthread_mutex_t mutex;
    void *idle[LK_PROCEDURES_IDLE_MAX];
    size_t idle_count;
    uint64_t calls;           /* releases and finishes, from anywhere */
    atomic_bool is_read_only; /* so the server has refused the last call; set by exchange() */
    char mark_looked[LK_SEGMENT_BYTES_MAX + 1]; /* R17: the last mark looked at; by the mutex */
};

static inline struct lk_procedures *lk_procedures_of(struct lk_engine *engine) {
    return (struct lk_procedures *)engine;
}

static inline enum lk_list_form lk_procedures_lists(struct lk_engine *engine) {
    return lk_procedures_of(engine)->database->lists;
}

/* ---- call.c ---------------------------------------------------------------------------------- */

/* false: the system has no more mutexes. */
bool lk_procedures_init(struct lk_procedures *store, const struct lk_engine_ops *ops,
                        const struct lk_database *database);

/* Closes the connections. Not in a child of fork(): they are the parent's. */
void lk_procedures_done(struct lk_procedures *store);

/* Whether this process is a child of the one that opened the store; if so, says so. */
bool lk_procedures_is_forked(const struct lk_procedures *store, lk_error *error);

bool lk_procedures_is_read_only(struct lk_engine *engine); /* `is_read_only` of the engine */

/* What a waiter has seen before he asks. */
uint64_t lk_procedures_version(struct lk_procedures *store);

/*
 * Calls a procedure. LK_OK with its rows; else an outcome with its sentence. Ends the arguments.
 */
lk_outcome lk_procedures_call(struct lk_procedures *store, const char *name, enum lk_repeat repeat,
                              struct lk_arguments *arguments, const struct lk_patience *patience,
                              struct lk_rows **ret_rows, lk_error *error);

/* Runs a statement that only reads, as above. */
lk_outcome lk_procedures_ask_sql(struct lk_procedures *store, const char *sql,
                                 const struct lk_patience *patience, struct lk_rows **ret_rows,
                                 lk_error *error);

/* Runs a transaction, and again where it may be. Ends its arguments. */
lk_outcome lk_procedures_transact(struct lk_procedures *store, struct lk_transaction *transaction,
                                  const struct lk_patience *patience, lk_error *error);

/*
 * Sleeps before another try, longer each time; *delay_us begins with 0. false: patience is over,
 * or the waker was thrown.
 */
bool lk_procedures_back_off(const struct lk_patience *patience, int64_t *delay_us);

/*
 * For who has ended something: every so many calls the one who comes by sweeps a little, elsewhere
 * too: what nobody asks about any more would stay for ever, and so would what is kept of each end.
 * His own answer is complete by then, and what becomes of the sweeping does not matter to him.
 */
void lk_procedures_sweep_sometimes(struct lk_procedures *store);

/* ---- work.c ---------------------------------------------------------------------------------- */

/* What lk_take() answers, or what begins like that. `version` goes into *ret_stand. */
lk_outcome lk_procedures_taken(const struct lk_rows *rows, const struct lk_take *take,
                               uint64_t version, lk_claim_info **ret_claim,
                               struct lk_stand *ret_stand, lk_error *error);

/* ---- look.c ---------------------------------------------------------------------------------- */

/* What is overdue takes effect; then calls what reads about `path` (NULL: everything). */
lk_outcome lk_procedures_read(struct lk_procedures *store, const char *name,
                              const struct lk_path *path, const struct lk_patience *patience,
                              struct lk_rows **ret_rows, lk_error *error);

/* ---- events.c -------------------------------------------------------------------------------- */

/*
 * For who has waited for events since `begun_us`, and has seen to what was due before: the last
 * number drawn, and when to see to what is due now; LK_NEVER: nothing is.
 */
lk_outcome lk_procedures_events_look(struct lk_procedures *store, int64_t begun_us,
                                     struct lk_waker *waker, uint64_t *ret_last,
                                     int64_t *ret_see_us);

/* ---- examine.c ------------------------------------------------------------------------------- */

/* A report of the row that a question was answered with; NULL when memory is exhausted. */
typedef lk_report *lk_make_report(struct lk_procedures *store, const struct lk_rows *rows);

/*
 * Asks `question`, whose first column is the server's time in microseconds, and reports. NULL for
 * the question: there was no memory for it.
 */
lk_outcome lk_procedures_examine(struct lk_procedures *store, const char *question,
                                 lk_make_report *make_report, const struct lk_patience *patience,
                                 lk_report **ret_report, lk_error *error);

struct lk_text;

/* What the row says of bounds and events: four bounds, events kept, whether somebody watches. */
void lk_procedures_report_limits(struct lk_text *text, const struct lk_rows *rows, int column);

/* ---- operations of the table ----------------------------------------------------------------- */

lk_outcome lk_procedures_ask(struct lk_engine *engine, const struct lk_ask *ask,
                             const struct lk_patience *patience, lk_result *result,
                             struct lk_stand *ret_stand);
lk_outcome lk_procedures_renew(struct lk_engine *engine, const struct lk_renew *renew,
                               const struct lk_patience *patience, lk_result *result);
lk_outcome lk_procedures_release(struct lk_engine *engine, const struct lk_release *release,
                                 const struct lk_patience *patience, lk_result *result);
lk_outcome lk_procedures_break(struct lk_engine *engine, const struct lk_break *broken,
                               struct lk_slice by, struct lk_slice reason,
                               const struct lk_patience *patience, size_t *ret_count,
                               struct lk_error *error);
lk_outcome lk_procedures_list(struct lk_engine *engine, const struct lk_path *prefix,
                              const struct lk_patience *patience, lk_listing **ret_listing,
                              struct lk_error *error);
lk_outcome lk_procedures_show(struct lk_engine *engine, const struct lk_path *path,
                              const struct lk_patience *patience, lk_listing **ret_listing,
                              struct lk_error *error);
lk_outcome lk_procedures_audit(struct lk_engine *engine, const struct lk_path *prefix,
                               const struct lk_patience *patience, lk_audit **ret_audit,
                               struct lk_error *error);
lk_outcome lk_procedures_value_get(struct lk_engine *engine, const struct lk_path *path,
                                   const struct lk_patience *patience, lk_value **ret_value,
                                   lk_error *error);
lk_outcome lk_procedures_value_put(struct lk_engine *engine, const struct lk_put *put,
                                   const struct lk_patience *patience, lk_error *error);
lk_outcome lk_procedures_push(struct lk_engine *engine, const struct lk_push *push,
                              const struct lk_patience *patience, bool *ret_added, lk_error *error);
lk_outcome lk_procedures_take(struct lk_engine *engine, const struct lk_take *take,
                              const struct lk_patience *patience, lk_claim_info **ret_claim,
                              struct lk_stand *ret_stand, lk_error *error);
lk_outcome lk_procedures_finish(struct lk_engine *engine, const struct lk_finish *finish,
                                const struct lk_patience *patience, lk_error *error);
lk_outcome lk_procedures_unpark(struct lk_engine *engine, const struct lk_unpark *unpark,
                                const struct lk_patience *patience, lk_error *error);
lk_outcome lk_procedures_items(struct lk_engine *engine, const struct lk_path *queue,
                               const struct lk_patience *patience, lk_item_list **ret_list,
                               lk_error *error);
lk_outcome lk_procedures_table_announce(struct lk_engine *engine, const struct lk_source *source,
                                        size_t max, const struct lk_patience *patience,
                                        struct lk_announcement *ret_announcement, lk_error *error);
lk_outcome lk_procedures_table_take(struct lk_engine *engine, const struct lk_source *source,
                                    const struct lk_take *take, const struct lk_patience *patience,
                                    lk_claim_info **ret_claim, struct lk_stand *ret_stand,
                                    lk_error *error);
lk_outcome lk_procedures_table_finish(struct lk_engine *engine, const struct lk_source *source,
                                      const struct lk_finish *finish,
                                      const struct lk_patience *patience, lk_error *error);
lk_outcome lk_procedures_table_finish_and_take(struct lk_engine *engine,
                                               const struct lk_source *source,
                                               const struct lk_finish *finish,
                                               const struct lk_take *take,
                                               const struct lk_patience *patience,
                                               lk_claim_info **ret_claim, lk_error *error);
/* R21, R22: lk_watch, lk_events_after, lk_events_due, lk_limits, lk_set_limits. */
lk_outcome lk_procedures_events(struct lk_engine *engine, const struct lk_event_query *query,
                                const struct lk_patience *patience,
                                struct lk_happenings **ret_happenings, lk_error *error);
lk_outcome lk_procedures_limits_get(struct lk_engine *engine, const struct lk_patience *patience,
                                    lk_limits *ret_limits, lk_error *error);
lk_outcome lk_procedures_limits_set(struct lk_engine *engine, const lk_limits *limits,
                                    const struct lk_patience *patience, lk_error *error);
/* For databases that have lk_has_items(). */
lk_outcome lk_procedures_has_items(struct lk_engine *engine, const struct lk_path *queue,
                                   const struct lk_patience *patience, bool *ret_has_items,
                                   lk_error *error);
lk_outcome lk_procedures_stats(struct lk_engine *engine, const struct lk_path *queue,
                               const struct lk_patience *patience, lk_queue_stats *ret_stats,
                               lk_error *error);

/* Of an engine's struct lk_engine_ops: what all of this kind can, and do by calls alone. */
#define LK_PROCEDURES_OPERATIONS                                                                   \
    .capabilities = LK_CAN_QUEUE | LK_CAN_ROOTS | LK_CAN_DEADLOCK | LK_CAN_BREAK                   \
                    | LK_CAN_EXCLUSIVE | LK_CAN_VALUES | LK_CAN_WORK | LK_CAN_TABLE                \
                    | LK_CAN_PERSIST | LK_CAN_EVENTS | LK_CAN_LIMITS,                              \
    .ask = lk_procedures_ask, .renew = lk_procedures_renew, .release = lk_procedures_release,      \
    .break_ = lk_procedures_break, .list = lk_procedures_list, .show = lk_procedures_show,         \
    .audit = lk_procedures_audit, .value_get = lk_procedures_value_get,                            \
    .value_put = lk_procedures_value_put, .push = lk_procedures_push, .take = lk_procedures_take,  \
    .finish = lk_procedures_finish, .unpark = lk_procedures_unpark, .items = lk_procedures_items,  \
    .stats = lk_procedures_stats, .events = lk_procedures_events,                                  \
    .limits_get = lk_procedures_limits_get, .limits_set = lk_procedures_limits_set,                \
    .table_announce = lk_procedures_table_announce, .table_take = lk_procedures_table_take,        \
    .table_finish = lk_procedures_table_finish,                                                    \
    .table_finish_and_take = lk_procedures_table_finish_and_take,                                  \
    .is_read_only = lk_procedures_is_read_only

#endif
