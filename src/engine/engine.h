/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine must do: the table of operations that every kind of store implements.
 *
 *     decide   takes a command of the model, returns a decision: every change of requests, values
 *              and items. Each engine has the switch on the command's kind.
 *     await    sleeps until what a decision left open may have changed
 *     reads    list, show, audit, value_get, items, stats, examine: each with its own type
 *     events, limits, table   optional, in tables of their own
 *
 * An engine decides one command at a time, atomically, by the rules of src/model (R1-R23), and
 * answers at once: it never blocks a caller for a grant. Waiting, keep-alive, client-side deadlines
 * and batches over several nodes are the client library's (src/client), above this table.
 *
 * Commands reach an engine parsed, checked and complete (src/client/checked.h): no invalid path, no
 * default left open (the ttl of an ask or a take), blockers_max within LK_BLOCKERS_MAX.
 * A command's times are not read: the engine reads clocks of its own.
 *
 * All functions may be called from several threads at once on one engine. Everything passed in is
 * borrowed for the call. But for a decision, outputs are untouched unless the outcome is LK_OK.
 * Every read answers LK_OK; LK_UNAVAILABLE (the store did not answer within the patience),
 * LK_CANCELLED (the patience's waker was woken), LK_DENIED, LK_UNSUPPORTED, LK_INVALID or
 * LK_INTERNAL, with a sentence in *error (which may be NULL).
 */
#ifndef LK_ENGINE_ENGINE_H
#define LK_ENGINE_ENGINE_H

#include "base/waker.h"
#include "lockkeeper/lockkeeper.h"
#include "model/model.h"

/*
 * What an engine can. What it lacks is answered LK_UNSUPPORTED, by name, above the engine. An
 * engine's table states the first group; lk_engine_capabilities() reads the second off the table.
 */
enum lk_capability {
    LK_CAN_QUEUE = 1u << 0,     /* waiting requests have a queue, R7-R12 */
    LK_CAN_ROOTS = 1u << 1,     /* several roots in one decision, R14 */
    LK_CAN_DEADLOCK = 1u << 2,  /* R13 */
    LK_CAN_EXCLUSIVE = 1u << 3, /* exclusive and unlimited shared parts, not limits alone */
    LK_CAN_PERSIST = 1u << 4,   /* survives the death of every process */
    LK_CAN_RETRY = 1u << 5,     /* without a queue: a blocked wait asks again until it is granted */
    LK_BINDS_TO_PROCESS = 1u << 6, /* a lease ends with its process, and only that can end it */
    LK_TAKES_IN_AWAIT = 1u << 7,   /* await() for work takes; the next take finds the item (R3) */

    LK_CAN_BREAK = 1u << 8,   /* audit: R12 break and its record */
    LK_CAN_VALUES = 1u << 9,  /* value_get: R15 */
    LK_CAN_WORK = 1u << 10,   /* stats: R16 */
    LK_CAN_EVENTS = 1u << 11, /* events: R21 */
    LK_CAN_LIMITS = 1u << 12, /* limits: R22, bounds that are set through the store */
    LK_CAN_TABLE = 1u << 13,  /* table: R17, work that lives in a table of the user's */
};

/* How long a call may wait for the store itself (file lock, network), and what ends that. */
struct lk_patience {
    int64_t until_us;       /* an instant of lk_clock_now_us(); LK_NEVER: for ever */
    struct lk_waker *waker; /* NULL: none. Woken: give up with LK_CANCELLED */
};

struct lk_engine {
    const struct lk_engine_ops *ops;
};

/* The present state of an open store. Returned without I/O, and without holding a lock. */
struct lk_engine_status {
    unsigned capabilities; /* of the engine's: those of this store */

    /* What has been UNAVAILABLE stays so until the store is opened again: waiting is in vain. */
    bool is_gone;

    /*
     * The last call was UNAVAILABLE because this store can only be read, as a replica can. A first
     * call fails at once; a wait that has been answered before may see it become the primary.
     */
    bool is_read_only;

    /*
     * How often contact with the store has been interrupted so far: a connection broke or could
     * not be made, or another server answers. The contents of the store may have been lost since.
     * 0 for a store whose contents cannot be lost while it is open.
     */
    uint64_t interruptions;
};

/*
 * What a decision left open, for await(): an ask that is WAITING, a take that is BUSY. Filled by
 * decide(), a plain value that owns nothing.
 */
struct lk_wait_cursor {
    const struct lk_command *command; /* that was decided: its kind says what is waited for. The
                                         caller keeps it, and all it refers to, while the cursor
                                         is in use */
    uint64_t id;                      /* the request's id in the store */
    uint64_t version;                 /* the engine's own: what it had seen of the store by then */
    size_t in_the_way; /* 0: unknown. An engine that polls does so seldom when many are ahead */
    int64_t due_us;    /* the engine's own: when something may come free by itself */
    int64_t taken_us;  /* of a take: when, on the store's clock */
};

/*
 * The result of a command. decide() fills all of it in every outcome, whatever was there before.
 * The caller ends it with lk_decision_done(), or moves `result` or `claim` out of it and leaves
 * them empty. After an outcome that every kind of command may have (see decide), only `error` is
 * set.
 */
struct lk_decision {
    lk_error error;       /* the outcome, and a sentence for people, which may be empty */
    lk_result result;     /* ASK, RENEW, RELEASE: all but outcome, error, owner and paths, which the
                             client library fills in. Durations in ms, rounded down */
    lk_claim_info *claim; /* TAKE: GRANTED, else NULL */
    bool is_added;        /* PUSH: LK_OK, and it was not there */
    size_t broken;        /* BREAK: LK_OK, requests withdrawn, revoked or ended */
    struct lk_wait_cursor cursor; /* ASK: WAITING; TAKE: BUSY; else without meaning */
};

/* Frees what the decision holds, and makes it empty. */
void lk_decision_done(struct lk_decision *decision);

/* How much of a queue's counts is wanted. */
enum lk_stats_depth {
    LK_STATS_WHOLE,
    LK_STATS_WHETHER_LEFT, /* whether ready_now, delayed_now and claimed_now are all 0: nothing else
                              of the counts has to be true */
};

/* R21: the next events that a client wants. */
struct lk_event_query {
    uint64_t after;               /* those after this one; LK_EVENTS_FROM_NOW: none yet */
    const struct lk_path *prefix; /* with a path at or below it; NULL: all */
    size_t max;                   /* events in one answer, at least 1 */
    int64_t until_us; /* an engine whose events come from a server may wait there so long
                                     for the first one, on lk_clock_now_us(); 0: not at all */
};
#define LK_EVENTS_FROM_NOW UINT64_MAX

/*
 * A call for events marks the store as watched for this time; events are kept while the mark lasts.
 * An engine need not renew a mark that lasts for another LK_WATCHED_LEAST_US.
 */
#define LK_WATCHED_US INT64_C(30000000)
#define LK_WATCHED_LEAST_US INT64_C(20000000)
enum { LK_WATCHED_EVENTS_MAX = 10000 }; /* kept of a watched store, unless its bounds keep more */

struct lk_event_page; /* engine/event.h */

/*
 * R17: a table or view of the owner's, in the store's own database, as the source of a queue. Names
 * are quoted by the engine; `where`, `order` and `done` are the owner's own SQL.
 */
struct lk_source {
    struct lk_path queue;
    struct lk_slice table;
    struct lk_slice id_column;
    struct lk_slice where; /* a condition on rows; empty: all fit */
    struct lk_slice order; /* the argument of ORDER BY; empty: unordered */
    struct lk_slice done;  /* one statement, with :id, :token, :owner, :attempt; empty: none */
};

/* The result of one round of announcing. */
struct lk_announcement {
    size_t found;      /* rows that fit, and had neither an item nor a mark of being done */
    size_t pushed;     /* of these */
    size_t duplicates; /* of these: another client had pushed them meanwhile */
    size_t forgotten;  /* marks whose row does not fit any more */
    bool has_enough;   /* so many items are ready that the round read no rows */
    uint64_t version;  /* for table_await: what it had seen of the store by then */
};

/* Which files an engine's URLs name: paths that may be relative to the working directory. */
struct lk_url_files {
    bool is_path;               /* the part before the `?` is one */
    bool is_encoded;            /* with %XX in it */
    bool needs_slash;           /* it is a name without a slash, and a path with one */
    const char *const *options; /* names of options that are, with %XX; ended by NULL */
    const char *url_option;     /* an option whose value is such a URL; NULL: none */
};

/* R21. */
struct lk_event_ops {
    /*
     * Marks the store as watched, ends what is past its deadline, and returns the events behind
     * query->after, gaps among them, or the position of the last one. Does not wait for events,
     * but an engine may do so until query->until_us, and need not again in await(). LK_OK with
     * *ret_page, for lk_event_page_free().
     */
    lk_outcome (*read)(struct lk_engine *engine, const struct lk_event_query *query,
                       const struct lk_patience *patience, struct lk_event_page **ret_page,
                       lk_error *error);

    /* Blocks, as the engine's await() does, until there may be events after `after`. Sets no
     * mark. */
    lk_outcome (*await)(struct lk_engine *engine, uint64_t after, int64_t until_us,
                        struct lk_waker *waker);
};

/* R22. The setter gets checked bounds, and does not change those that are LK_LIMIT_AS_IS. */
struct lk_limit_ops {
    lk_outcome (*get)(struct lk_engine *engine, const struct lk_patience *patience,
                      lk_limits *ret_limits, lk_error *error);
    lk_outcome (*set)(struct lk_engine *engine, const lk_limits *limits,
                      const struct lk_patience *patience, lk_error *error);
};

/* R17. */
struct lk_table_ops {
    /*
     * Whether the source can be worked with: LK_OK; LK_INVALID: no such table or column, SQL
     * that does not parse or does what it must not. To be called first, once.
     */
    lk_outcome (*check)(struct lk_engine *engine, const struct lk_source *source,
                        const struct lk_patience *patience, lk_error *error);

    /*
     * Finds up to `max` rows to announce and pushes them, some in each of several short
     * transactions; forgets some marks of rows that do not fit any more. max 0: pushes none;
     * `found` is 1 if there are any.
     */
    lk_outcome (*announce)(struct lk_engine *engine, const struct lk_source *source, size_t max,
                           const struct lk_patience *patience,
                           struct lk_announcement *ret_announcement, lk_error *error);

    /*
     * The engine's decide(), of the source's queue. TAKE: checks again, in its own transaction,
     * whether the item's row still fits: if not, drops the item and checks the next one.
     * The claim has the row's id. FINISH: when it ends the claim as done, the source's statement
     * runs in the same transaction; a row that fits even then is marked. LK_INVALID: the statement
     * failed, and nothing has changed: the claim is held as before.
     */
    lk_outcome (*decide)(struct lk_engine *engine, const struct lk_source *source,
                         const struct lk_command *command, const struct lk_patience *patience,
                         struct lk_decision *ret_decision);

    /*
     * A finish as done and, where that is simple, a take in the same transaction. LK_OK with a
     * claim, or without one: then a separate take may find an item, or give the reason. NULL: the
     * engine gains nothing by it.
     */
    lk_outcome (*finish_and_take)(struct lk_engine *engine, const struct lk_source *source,
                                  const struct lk_finish *finish, const struct lk_take *take,
                                  const struct lk_patience *patience,
                                  struct lk_decision *ret_decision);

    /*
     * Blocks, as the engine's await() does, until there may be something to announce since a round
     * that has seen `version`. NULL: the engine cannot detect that; the caller polls.
     */
    lk_outcome (*await)(struct lk_engine *engine, uint64_t version, int64_t until_us,
                        struct lk_waker *waker);
};

struct lk_engine_ops {
    const char *scheme;               /* of the URL: "mem", "sqlite" */
    const char *alias;                /* another word for it; NULL: there is none */
    const char *title;                /* for people */
    unsigned capabilities;            /* of enum lk_capability, the first group */
    const struct lk_url_files *files; /* NULL: its URLs name none */

    /*
     * `rest` is the URL after "scheme:". LK_OK with *ret_engine, which close() ends; else an
     * outcome of lk_open() with its sentence in *error.
     */
    lk_outcome (*open)(struct lk_slice rest, const struct lk_patience *patience,
                       struct lk_engine **ret_engine, struct lk_error *error);
    void (*close)(struct lk_engine *engine);

    /* Changes what differs from the default of lk_engine_status(). NULL: nothing does. */
    void (*status)(struct lk_engine *engine, struct lk_engine_status *status);

    /*
     * Whether the store may have lost, without any interruption of contact, what it had under the
     * roots of these parts when it drew this ticket: then a missing request need not have been
     * ended. Asks the store; true if that fails. NULL: such a loss cannot happen.
     */
    bool (*may_have_forgotten)(struct lk_engine *engine, uint64_t ticket,
                               const struct lk_part *parts, size_t part_count,
                               const struct lk_patience *patience);

    /*
     * R14: the node of a root. One decision covers one node only; the client library asks for parts
     * at several nodes node by node. NULL: there is a single node.
     */
    unsigned (*node_of)(struct lk_engine *engine, struct lk_slice root);

    /*
     * Decides the command in one exchange with the store, and returns decision->error.outcome once
     * the change is as durable as the store makes it. Blocks for the store only, no longer than the
     * patience. The outcomes of each kind of command:
     *
     *     ASK      R3, R7-R10, R13: GRANTED: held. WAITING: in the queue. BUSY, DEADLOCK, FULL,
     *              LOST: the ask has added no request. result names the blockers, or the cycle
     *     RENEW    LK_OK: the deadline has moved. LOST: not held, nothing changed
     *     RELEASE  LK_OK: ended, and the value is written. LOST: nothing changed
     *     BREAK    R12: LK_OK, on record with `by` and `reason`
     *     PUT      R15: LK_OK, BUSY, LOST
     *     PUSH     R16: LK_OK, FULL
     *     TAKE     GRANTED, BUSY, FULL
     *     FINISH   LK_OK, LOST
     *     UNPARK   LK_OK, LOST
     *     TICK, LEAVE   are not for engines: UNSUPPORTED
     *
     * Besides, of every kind: INVALID, UNSUPPORTED, DENIED: nothing has changed. UNAVAILABLE,
     * CANCELLED, INTERNAL: it is unknown whether it took effect; asking again shows it (R3).
     */
    lk_outcome (*decide)(struct lk_engine *engine, const struct lk_command *command,
                         const struct lk_patience *patience, struct lk_decision *ret_decision);

    /*
     * Blocks until what the wait cursor is for may have changed: the waiting request was granted or
     * ended; something was pushed, unparked, given back, released or became due, so that there may
     * be something to take. Or until `until_us`, or until the waker is woken. May return early
     * without reason. Never spins. LK_OK; LK_CANCELLED (woken); LK_UNAVAILABLE when the store has
     * gone; LK_INTERNAL.
     */
    lk_outcome (*await)(struct lk_engine *engine, const struct lk_wait_cursor *cursor,
                        int64_t until_us, struct lk_waker *waker);

    /* prefix NULL: everything. Ordered by ticket. LK_OK with *ret_..., for its public free. */
    lk_outcome (*list)(struct lk_engine *engine, const struct lk_path *prefix,
                       const struct lk_patience *patience, lk_listing **ret_listing,
                       struct lk_error *error);
    lk_outcome (*show)(struct lk_engine *engine, const struct lk_path *path,
                       const struct lk_patience *patience, lk_listing **ret_listing,
                       struct lk_error *error);
    lk_outcome (*audit)(struct lk_engine *engine, const struct lk_path *prefix,
                        const struct lk_patience *patience, lk_audit **ret_audit,
                        struct lk_error *error); /* NULL: it breaks nothing */

    /* R15. LK_OK with *ret_value, which the caller frees; LK_NONE: there is none. NULL: it keeps
     * no values. */
    lk_outcome (*value_get)(struct lk_engine *engine, const struct lk_path *path,
                            const struct lk_patience *patience, lk_value **ret_value,
                            lk_error *error);

    /* R16. Both NULL: it keeps no work. */
    lk_outcome (*items)(struct lk_engine *engine, const struct lk_path *queue,
                        const struct lk_patience *patience, lk_item_list **ret_list,
                        lk_error *error);
    lk_outcome (*stats)(struct lk_engine *engine, const struct lk_path *queue,
                        enum lk_stats_depth depth, const struct lk_patience *patience,
                        lk_queue_stats *ret_stats, lk_error *error);

    /* For `lk doctor`. */
    lk_outcome (*examine)(struct lk_engine *engine, const struct lk_patience *patience,
                          lk_report **ret_report, struct lk_error *error);

    /* Optional: NULL if the engine cannot. */
    const struct lk_event_ops *events;
    const struct lk_limit_ops *limits;
    const struct lk_table_ops *table;
};

/* The capabilities of an engine, before a store is open: enum lk_capability. */
static inline unsigned lk_engine_capabilities(const struct lk_engine_ops *ops) {
    return ops->capabilities | (ops->audit != NULL ? LK_CAN_BREAK : 0u)
           | (ops->value_get != NULL ? LK_CAN_VALUES : 0u) | (ops->stats != NULL ? LK_CAN_WORK : 0u)
           | (ops->events != NULL ? LK_CAN_EVENTS : 0u) | (ops->limits != NULL ? LK_CAN_LIMITS : 0u)
           | (ops->table != NULL ? LK_CAN_TABLE : 0u);
}

static inline struct lk_engine_status lk_engine_status(struct lk_engine *engine) {
    struct lk_engine_status status = {.capabilities = lk_engine_capabilities(engine->ops)};

    if (engine->ops->status != NULL) {
        engine->ops->status(engine, &status);
    }
    return status;
}

/*
 * The engines in this build, ended by NULL. Generated by the build from what is enabled: the folder
 * src/engine/NAME defines `const struct lk_engine_ops lk_engine_NAME`.
 */
extern const struct lk_engine_ops *const lk_engines[];

#endif
