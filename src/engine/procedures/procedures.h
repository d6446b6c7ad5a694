/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of stores whose rules are procedures inside a database. Each call is one
 * procedure (lk_ask, lk_release, ...) and one round trip, on a connection taken from a small pool.
 * This part writes the arguments, decodes the answers and retries; `struct lk_database` holds what
 * differs between kinds of databases.
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

/* Whether a call may be sent again after its answer was lost; calls that only read may be. */
enum lk_repeat { LK_ONCE, LK_REPEATABLE, LK_READING };

/* The result of one exchange. */
enum lk_fate {
    LK_FATE_ANSWERED,   /* by rows, or by an error that is final */
    LK_FATE_CONFLICTED, /* nothing was done, because of concurrent transactions: retry */
    LK_FATE_UNREACHED,  /* nothing was sent, the connection is lost: retry */
    LK_FATE_UNKNOWN,    /* sent, and the answer was lost with the connection */
    LK_FATE_CANCELLED,  /* the caller has given up; the connection is unusable */
};

struct lk_procedures;
struct lk_source_sql;  /* in table.h */
struct lk_transaction; /* in table.h */

/* One call of a procedure, or one statement of SQL. */
struct lk_procedure_call {
    const char *name; /* of the procedure */
    const char *sql;  /* run in its place, without arguments; else NULL */
    enum lk_repeat repeat;
    bool is_series; /* it answers a row for each of several commands */
    const struct lk_arguments *arguments;
};

/* One kind of database. `connection` is what connect() returns. */
struct lk_database {
    enum lk_list_form lists;
    bool has_items; /* it has the procedure lk_has_items() */

    /* Connects; returns the outcomes of an engine's operation. */
    lk_outcome (*connect)(struct lk_procedures *store, const struct lk_patience *patience,
                          void **ret_connection, lk_error *error);
    bool (*is_alive)(void *connection); /* checks a connection that was idle */
    /*
     * Whether a connection may be used for another call: no answer is outstanding on it. A call
     * that was answered may leave one that is not: exchange() and transact() ask the server why it
     * has refused, and the answer to that may be late. The next call would take it for its own.
     */
    bool (*is_idle)(const void *connection);
    void (*disconnect)(void *connection);

    /*
     * LK_FATE_ANSWERED with *ret_outcome LK_OK and *ret_rows, or another outcome with its sentence.
     */
    enum lk_fate (*exchange)(struct lk_procedures *store, void *connection,
                             const struct lk_procedure_call *call,
                             const struct lk_patience *patience, struct lk_rows **ret_rows,
                             lk_outcome *ret_outcome, lk_error *error);

    uint64_t (*version)(struct lk_procedures *store); /* for wait cursors; NULL: none */

    /*
     * Writes the statement of lk_procedures_look(), whose columns look.c has: up to `max` rows in
     * the order of their tickets. For free(); NULL when memory is exhausted. A database that does
     * not look has NULL here.
     */
    char *(*write_look)(struct lk_procedures *store, const struct lk_ask *ask, int max);

    /*
     * R15: the text of a page of values, by path, for free(): path, size, whether it is in doubt.
     * Arguments: the path that is one of them, or NULL; behind which path; the bounds of all
     * others, the upper one NULL: none; how many. NULL: memory is exhausted. It runs in a
     * transaction of its own, behind `plan_sql` if there is one, which has no arguments.
     */
    char *(*values_sql)(const struct lk_procedures *store);
    const char *plan_sql;

    /* R17, table.h. NULL where LK_CAN_TABLE is missing. */
    lk_outcome (*table_open)(struct lk_procedures *store, const struct lk_source *source,
                             const struct lk_patience *patience, struct lk_source_sql *ret_table,
                             lk_error *error);
    /*
     * Runs a transaction. LK_FATE_ANSWERED: it was committed, or it failed and is not to be
     * retried.
     */
    enum lk_fate (*transact)(struct lk_procedures *store, void *connection,
                             struct lk_transaction *transaction, const struct lk_patience *patience,
                             lk_outcome *ret_outcome, lk_error *error);
};

/* R17: how far a purge has come: the position of the last row that was checked, or nothing. */
struct lk_purge_position {
    char text[LK_SEGMENT_BYTES_MAX + 1];
};
enum { LK_PROCEDURES_PURGED = 2 }; /* marks of done rows, and parked items */

/* An open store. The first member of the store of each kind of database. */
struct lk_procedures {
    struct lk_engine engine;
    const struct lk_database *database;
    pid_t process; /* the process that opened it */
    pthread_mutex_t mutex;
    void *idle[LK_PROCEDURES_IDLE_MAX];
    size_t idle_count;
    uint64_t calls;                 /* releases and finishes, from all threads */
    _Atomic uint64_t interruptions; /* connections that broke or could not be made */
    atomic_bool is_read_only;       /* as the last call found; set by exchange() */
    atomic_bool has_refused;        /* the last ask: a try after it is looked at first */
    struct lk_purge_position purged[LK_PROCEDURES_PURGED]; /* by rounds of announcing; under the
                                                              mutex */
};

static inline struct lk_procedures *lk_procedures_of(struct lk_engine *engine) {
    return (struct lk_procedures *)engine;
}

static inline enum lk_list_form lk_procedures_lists(struct lk_engine *engine) {
    return lk_procedures_of(engine)->database->lists;
}

/* ---- call.c ---------------------------------------------------------------------------------- */

/* Returns false when the system has no mutexes left. */
bool lk_procedures_init(struct lk_procedures *store, const struct lk_engine_ops *ops,
                        const struct lk_database *database);

/* Closes the connections, except in a child of fork(), where they belong to the parent. */
void lk_procedures_done(struct lk_procedures *store);

/* Whether this process is a child of the one that opened the store; if so, sets the error. */
bool lk_procedures_is_forked(const struct lk_procedures *store, lk_error *error);

/* The engine's `status`. */
void lk_procedures_status(struct lk_engine *engine, struct lk_engine_status *status);

/* The version that a waiter records before its ask. */
uint64_t lk_procedures_version(struct lk_procedures *store);

/* Calls a procedure. LK_OK with its rows; else an outcome with its sentence. Ends the arguments. */
lk_outcome lk_procedures_call(struct lk_procedures *store, const char *name, enum lk_repeat repeat,
                              struct lk_arguments *arguments, const struct lk_patience *patience,
                              struct lk_rows **ret_rows, lk_error *error);

/* The same, of a procedure that decides a series of commands and answers several rows. */
lk_outcome lk_procedures_call_series(struct lk_procedures *store, const char *name,
                                     enum lk_repeat repeat, struct lk_arguments *arguments,
                                     const struct lk_patience *patience, struct lk_rows **ret_rows,
                                     lk_error *error);

/* Runs a statement that only reads, with the same results. */
lk_outcome lk_procedures_ask_sql(struct lk_procedures *store, const char *sql,
                                 const struct lk_patience *patience, struct lk_rows **ret_rows,
                                 lk_error *error);

/* Runs a transaction, and retries it where that is safe. Ends its arguments. */
lk_outcome lk_procedures_transact(struct lk_procedures *store, struct lk_transaction *transaction,
                                  const struct lk_patience *patience, lk_error *error);

/*
 * Sleeps before a retry, longer each time; *retries begins with 0. Returns false when the time
 * budget is exhausted or the waker was thrown.
 */
bool lk_procedures_back_off(const struct lk_patience *patience, uint32_t *retries);

/*
 * Called after a lease or claim ends. Every Nth call also removes a few expired rows, under other
 * roots too. Otherwise rows that no request reads again, and the records of ends, would stay for
 * ever. The caller's own answer is complete by then and does not depend on the sweep.
 */
void lk_procedures_sweep_sometimes(struct lk_procedures *store);

/* ---- decide.c, work.c ------------------------------------------------------------------------ */

/* Copies the outcome and the sentence that a row begins with; returns the outcome. */
lk_outcome lk_procedures_answered(const struct lk_rows *rows, int row,
                                  struct lk_decision *decision);

/* Calls a procedure whose row begins with an outcome and a sentence. */
lk_outcome lk_procedures_perform(struct lk_procedures *store, const char *name,
                                 enum lk_repeat repeat, struct lk_arguments *arguments,
                                 const struct lk_patience *patience, struct lk_decision *decision);

/* Operations of lk_procedures_decide(); each fills an empty decision. */
lk_outcome lk_procedures_push(struct lk_procedures *store, const struct lk_push *push,
                              const struct lk_patience *patience, struct lk_decision *decision);
lk_outcome lk_procedures_take(struct lk_procedures *store, const struct lk_take *take,
                              const struct lk_patience *patience, struct lk_decision *decision);
lk_outcome lk_procedures_finish(struct lk_procedures *store, const struct lk_finish *finish,
                                const struct lk_patience *patience, struct lk_decision *decision);
lk_outcome lk_procedures_unpark(struct lk_procedures *store, const struct lk_unpark *unpark,
                                const struct lk_patience *patience, struct lk_decision *decision);
lk_outcome lk_procedures_drop(struct lk_procedures *store, const struct lk_drop *drop,
                              const struct lk_patience *patience, struct lk_decision *decision);

/*
 * Whether a read alone refuses the ask: a try of one part, after a refused one, by what is held at
 * its path. If so, the decision is LK_BUSY; else it is still empty.
 */
bool lk_procedures_look(struct lk_procedures *store, const struct lk_ask *ask,
                        const struct lk_patience *patience, struct lk_decision *decision);

/*
 * Decodes a row of the answer of lk_take(), or of one that begins like it. `version` is kept in the
 * wait cursor.
 */
lk_outcome lk_procedures_taken(const struct lk_rows *rows, int row, const struct lk_take *take,
                               uint64_t version, struct lk_decision *decision);

/*
 * ---- queries.c ----------------------------------------------------------------------------------
 */

/* Applies what is overdue at the root of `path` (NULL: everywhere). */
lk_outcome lk_procedures_tick(struct lk_procedures *store, const struct lk_path *path,
                              const struct lk_patience *patience, lk_error *error);

/* Does so; then calls a procedure that reads about `path` (NULL: everything). */
lk_outcome lk_procedures_read(struct lk_procedures *store, const char *name,
                              const struct lk_path *path, const struct lk_patience *patience,
                              struct lk_rows **ret_rows, lk_error *error);

/* ---- events.c -------------------------------------------------------------------------------- */

/*
 * For a caller that has waited for events since `begun_us` and has applied what was due before.
 * Answers the last event number drawn, and when the next overdue change is to be applied; LK_NEVER:
 * none.
 */
lk_outcome lk_procedures_events_poll(struct lk_procedures *store, int64_t begun_us,
                                     struct lk_waker *waker, uint64_t *ret_last,
                                     int64_t *ret_next_us);

/* ---- examine.c ------------------------------------------------------------------------------- */

/* Makes a report from the row that answers the question; NULL when memory is exhausted. */
typedef lk_report *lk_make_report(struct lk_procedures *store, const struct lk_rows *rows);

/*
 * Runs `question`, whose first column is the server's time in microseconds, and reports. A NULL
 * question means that there was no memory for it.
 */
lk_outcome lk_procedures_examine(struct lk_procedures *store, const char *question,
                                 lk_make_report *make_report, const struct lk_patience *patience,
                                 lk_report **ret_report, lk_error *error);

struct lk_text;

/* Appends the row's limits and events: four limits, events kept, whether there are watchers. */
void lk_procedures_report_limits(struct lk_text *text, const struct lk_rows *rows, int column);

/* ---- operations of the table ----------------------------------------------------------------- */

lk_outcome lk_procedures_decide(struct lk_engine *engine, const struct lk_command *command,
                                const struct lk_patience *patience,
                                struct lk_decision *ret_decision);
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
lk_outcome lk_procedures_values(struct lk_engine *engine, const struct lk_value_query *query,
                                const struct lk_patience *patience, lk_value_list **ret_list,
                                lk_error *error);
lk_outcome lk_procedures_items(struct lk_engine *engine, const struct lk_item_query *query,
                               const struct lk_patience *patience, lk_item_list **ret_list,
                               lk_error *error);
lk_outcome lk_procedures_table_announce(struct lk_engine *engine, const struct lk_source *source,
                                        size_t max, const struct lk_patience *patience,
                                        struct lk_announcement *ret_announcement, lk_error *error);
lk_outcome lk_procedures_table_purge(struct lk_engine *engine, const struct lk_source *source,
                                     const struct lk_patience *patience, lk_error *error);
lk_outcome lk_procedures_table_decide(struct lk_engine *engine, const struct lk_source *source,
                                      const struct lk_command *command,
                                      const struct lk_patience *patience,
                                      struct lk_decision *ret_decision);
lk_outcome lk_procedures_table_finish_and_take(struct lk_engine *engine,
                                               const struct lk_source *source,
                                               const struct lk_finish *finish,
                                               const struct lk_take *take,
                                               const struct lk_patience *patience,
                                               struct lk_decision *ret_decision);
/* R21, R22: lk_watch, lk_events_after, lk_events_due, lk_limits, lk_set_limits. */
lk_outcome lk_procedures_events(struct lk_engine *engine, const struct lk_event_query *query,
                                const struct lk_patience *patience, struct lk_event_page **ret_page,
                                lk_error *error);
extern const struct lk_limit_ops lk_procedures_limit_ops;
lk_outcome lk_procedures_stats(struct lk_engine *engine, const struct lk_path *queue,
                               enum lk_stats_depth depth, const struct lk_patience *patience,
                               lk_queue_stats *ret_stats, lk_error *error);

/* R12: reads the end of the record of breaks once, from the table of that name. */
lk_outcome lk_procedures_poll_revoked(struct lk_procedures *store, const char *table,
                                      struct lk_revoked *revoked, struct lk_waker *waker);

/* R16: several commands in one decision, and the queries that go with them. */
lk_outcome lk_procedures_parked(struct lk_engine *engine, const struct lk_parked_query *query,
                                const struct lk_patience *patience, lk_item_list **ret_list,
                                uint64_t *ret_reached, lk_error *error);
lk_outcome lk_procedures_queues(struct lk_engine *engine, const struct lk_queue_query *query,
                                const struct lk_patience *patience, lk_queue_list **ret_list,
                                bool *ret_has_more, lk_error *error);
extern const struct lk_batch_ops lk_procedures_batch_ops;

/* For an engine's struct lk_engine_ops: the operations of all kinds that need only calls. */
#define LK_PROCEDURES_OPERATIONS                                                                   \
    .capabilities =                                                                                \
        LK_CAN_QUEUE | LK_CAN_ROOTS | LK_CAN_DEADLOCK | LK_CAN_EXCLUSIVE | LK_CAN_PERSIST,         \
    .status = lk_procedures_status, .decide = lk_procedures_decide, .list = lk_procedures_list,    \
    .list_trips = 2, .show = lk_procedures_show, .audit = lk_procedures_audit,                     \
    .value_get = lk_procedures_value_get, .values = lk_procedures_values,                          \
    .items = lk_procedures_items, .stats = lk_procedures_stats,                                    \
    .limits = &lk_procedures_limit_ops, .batches = &lk_procedures_batch_ops

/* For an engine's operations on a table of the owner's. */
#define LK_PROCEDURES_TABLE_OPERATIONS                                                             \
    .announce = lk_procedures_table_announce, .purge = lk_procedures_table_purge,                  \
    .decide = lk_procedures_table_decide, .finish_and_take = lk_procedures_table_finish_and_take

#endif
