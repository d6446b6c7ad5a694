/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine must do: the table of operations that every kind of store implements.
 *
 * An engine decides one ask at a time, atomically, by the rules of src/model (R1-R23), and answers
 * at once: it never blocks a caller for a grant. Waiting, keep-alive, client-side deadlines and
 * batches over several stores' nodes are the keeper's (src/keeper), written once above this table.
 *
 * All functions may be called from several threads at once on one engine. Outputs are untouched
 * unless the outcome says otherwise. The ask, target and break structs are the model's own: parsed
 * and checked before they get here, so an engine never sees an invalid path.
 */
#ifndef LK_ENGINE_ENGINE_H
#define LK_ENGINE_ENGINE_H

#include "base/waker.h"
#include "lockkeeper/lockkeeper.h"
#include "model/model.h"

/* What an engine can. What it lacks is answered LK_UNSUPPORTED, by name, above the engine: the
 * operations that only such a capability needs may be NULL. */
enum lk_capability {
    LK_CAN_QUEUE = 1u << 0,     /* waiting in line, R7-R12 */
    LK_CAN_ROOTS = 1u << 1,     /* several roots in one decision, R14 */
    LK_CAN_DEADLOCK = 1u << 2,  /* R13 */
    LK_CAN_BREAK = 1u << 3,     /* R12 break and audit */
    LK_CAN_EXCLUSIVE = 1u << 4, /* exclusive and unlimited shared parts, not limits alone */
    LK_CAN_VALUES = 1u << 6,    /* R15 */
    LK_CAN_WORK = 1u << 7,      /* R16 */
    LK_CAN_PERSIST = 1u << 5,   /* survives the death of every process */
    LK_CAN_TABLE = 1u << 8,     /* R17: work that lives in a table of the user's */
    LK_CAN_EVENTS = 1u << 9,    /* R21 */
    LK_CAN_LIMITS = 1u << 10,   /* R22: bounds that are set through the store and kept in it */
    LK_CAN_RETRY = 1u << 11,    /* without a line: a blocked wait asks again until it is granted */

    /* What it cannot: a lease ends with the process that took it, and only that can end it. */
    LK_BINDS_TO_PROCESS = 1u << 12,

    /* How it waits: await_work() takes, and the take that follows finds what it got (R3). */
    LK_TAKES_IN_AWAIT = 1u << 13,
};

/* How long a call may wait for the store itself (file lock, network), and what ends that. */
struct lk_patience {
    int64_t until_us;       /* an instant of lk_clock_now_us(); LK_NEVER: for ever */
    struct lk_waker *waker; /* NULL: none. Woken: give up with LK_CANCELLED */
};

struct lk_engine {
    const struct lk_engine_ops *ops;
};

/*
 * Where a blocked ask stood when the caller last looked; filled by ask, read by await. A take that
 * is BUSY fills it for await_work.
 */
struct lk_stand {
    uint64_t id;       /* the request's id in the store */
    uint64_t version;  /* the engine's own: what it had seen of the store by then */
    size_t in_the_way; /* 0: unknown. An engine that polls looks seldom when many are ahead */
    int64_t due_us;    /* of a take: the engine's own, when something may come free by itself */

    /* For engines that wait by asking again: what was asked, as long as the stand is used. */
    const struct lk_ask *ask;
    const struct lk_take *take;
};

/* R21: which events somebody wants next. */
struct lk_event_query {
    uint64_t after;               /* those behind this one; LK_EVENTS_FROM_NOW: none yet */
    const struct lk_path *prefix; /* with a path at or below it; NULL: all */
    size_t max;                   /* events in one answer, at least 1 */
    int64_t until_us;             /* an engine that asks somewhere else may wait there so long for
                                     the first one, on lk_clock_now_us(); 0: not at all */
};
#define LK_EVENTS_FROM_NOW UINT64_MAX

/*
 * Who asks for events marks the store as watched for so long; events are kept as long as the mark
 * lasts. An engine may leave a mark alone that is good for LK_WATCHED_LEAST_US.
 */
#define LK_WATCHED_US INT64_C(30000000)
#define LK_WATCHED_LEAST_US INT64_C(20000000)
enum {
    LK_WATCHED_EVENTS_MAX = 10000
}; /* kept of a store that is watched, unless bounds say more */

struct lk_happenings; /* engine/happening.h */

/*
 * R17: a table or view of the owner's, in the store's own database, as the source of a queue. Names
 * are quoted by the engine; `where`, `order` and `done` are the owner's own SQL.
 */
struct lk_source {
    struct lk_path queue;
    struct lk_slice table;
    struct lk_slice id_column;
    struct lk_slice where; /* a condition on rows; empty: all fit */
    struct lk_slice order; /* what ORDER BY takes; empty: as the database has it */
    struct lk_slice done;  /* one statement, with :id, :token, :owner, :attempt; empty: none */
};

/* What one round of announcing came to. */
struct lk_announcement {
    size_t found;      /* rows that fit, and had neither an item nor a mark of being done */
    size_t pushed;     /* of these */
    size_t duplicates; /* of these: somebody else had pushed them meanwhile */
    size_t forgotten;  /* marks whose row does not fit any more */
    bool has_enough;   /* so many items are ready that none were looked for */
    uint64_t version;  /* for table_await: what it had seen of the store by then */
};

struct lk_engine_ops {
    const char *scheme;    /* of the URL: "mem", "sqlite" */
    const char *alias;     /* another word for it; NULL: there is none */
    const char *title;     /* for people */
    unsigned capabilities; /* of enum lk_capability */

    /*
     * `rest` is the URL behind "scheme:". LK_OK with *ret_engine, which close() ends; else an
     * outcome of lk_open() with its sentence in *error.
     */
    lk_outcome (*open)(struct lk_slice rest, const struct lk_patience *patience,
                       struct lk_engine **ret_engine, struct lk_error *error);
    void (*close)(struct lk_engine *engine);

    /*
     * Whether what has been UNAVAILABLE stays so until the store is opened anew: then nobody waits
     * for it. NULL: it may always come back.
     */
    bool (*is_gone)(struct lk_engine *engine);

    /*
     * Whether the last call was UNAVAILABLE because this store can only be read, as a replica can.
     * Who has asked for the first time is told so at once; who waits already may see it become the
     * primary. NULL: it never is so.
     */
    bool (*is_read_only)(struct lk_engine *engine);

    /* What this very store can, of `capabilities`, once it is open. NULL: all of them. */
    unsigned (*capabilities_of)(struct lk_engine *engine);

    /*
     * R14: where a root lives. Only what lives in one place is decided together; the keeper takes
     * what does not place by place. NULL: everything lives in one place.
     */
    unsigned (*place_of)(struct lk_engine *engine, struct lk_slice root);

    /*
     * R3, R7-R10, R13. Fills *result (the caller has cleared it) and, for LK_WAITING, *ret_stand.
     * The outcome is also result->outcome. LK_UNAVAILABLE: unknown whether it took effect.
     */
    lk_outcome (*ask)(struct lk_engine *engine, const struct lk_ask *ask,
                      const struct lk_patience *patience, lk_result *result,
                      struct lk_stand *ret_stand);
    lk_outcome (*renew)(struct lk_engine *engine, const struct lk_renew *renew,
                        const struct lk_patience *patience, lk_result *result);
    lk_outcome (*release)(struct lk_engine *engine, const struct lk_release *release,
                          const struct lk_patience *patience, lk_result *result);

    /*
     * Blocks until the standing request may have changed (granted, ended), until `until_us`, or
     * until the waker is woken. May return early without reason. Never spins. LK_OK; LK_CANCELLED
     * (woken); LK_UNAVAILABLE when the store has gone.
     */
    lk_outcome (*await)(struct lk_engine *engine, const struct lk_stand *stand, int64_t until_us,
                        struct lk_waker *waker);

    /* R12. `by` and `reason` go on record. */
    lk_outcome (*break_)(struct lk_engine *engine, const struct lk_break *broken,
                         struct lk_slice by, struct lk_slice reason,
                         const struct lk_patience *patience, size_t *ret_count,
                         struct lk_error *error);

    /* prefix NULL: everything. Ordered by ticket. */
    lk_outcome (*list)(struct lk_engine *engine, const struct lk_path *prefix,
                       const struct lk_patience *patience, lk_listing **ret_listing,
                       struct lk_error *error);
    lk_outcome (*show)(struct lk_engine *engine, const struct lk_path *path,
                       const struct lk_patience *patience, lk_listing **ret_listing,
                       struct lk_error *error);
    lk_outcome (*audit)(struct lk_engine *engine, const struct lk_path *prefix,
                        const struct lk_patience *patience, lk_audit **ret_audit,
                        struct lk_error *error);

    /* R15. *ret_value: LK_OK only, the caller frees it; else LK_NONE. */
    lk_outcome (*value_get)(struct lk_engine *engine, const struct lk_path *path,
                            const struct lk_patience *patience, lk_value **ret_value,
                            lk_error *error);
    lk_outcome (*value_put)(struct lk_engine *engine, const struct lk_put *put,
                            const struct lk_patience *patience, lk_error *error);

    /* R16. A take answers at once: LK_GRANTED with *ret_claim, or LK_BUSY. */
    lk_outcome (*push)(struct lk_engine *engine, const struct lk_push *push,
                       const struct lk_patience *patience, bool *ret_added, lk_error *error);
    lk_outcome (*take)(struct lk_engine *engine, const struct lk_take *take,
                       const struct lk_patience *patience, lk_claim_info **ret_claim,
                       struct lk_stand *ret_stand, lk_error *error);
    lk_outcome (*finish)(struct lk_engine *engine, const struct lk_finish *finish,
                         const struct lk_patience *patience, lk_error *error);
    lk_outcome (*unpark)(struct lk_engine *engine, const struct lk_unpark *unpark,
                         const struct lk_patience *patience, lk_error *error);
    lk_outcome (*items)(struct lk_engine *engine, const struct lk_path *queue,
                        const struct lk_patience *patience, lk_item_list **ret_list,
                        lk_error *error);
    lk_outcome (*stats)(struct lk_engine *engine, const struct lk_path *queue,
                        const struct lk_patience *patience, lk_queue_stats *ret_stats,
                        lk_error *error);
    /* Whether anything is ready, delayed or claimed. NULL: stats() says it as cheaply. */
    lk_outcome (*has_items)(struct lk_engine *engine, const struct lk_path *queue,
                            const struct lk_patience *patience, bool *ret_has_items,
                            lk_error *error);

    /*
     * Blocks, as await() does, until there may be something to take after a take that was BUSY:
     * something was pushed, unparked, given back, released or has become due. The stand is the
     * one that the take filled in.
     */
    lk_outcome (*await_work)(struct lk_engine *engine, const struct lk_path *queue,
                             const struct lk_stand *stand, int64_t until_us,
                             struct lk_waker *waker);

    /*
     * R21. Marks the store as watched, makes what is overdue happen, and answers at once with what
     * has happened behind query->after, or with where that is now. Gaps stand among the events. An
     * engine that waits until query->until_us while there are none need not do so once more in
     * await_events().
     */
    lk_outcome (*events)(struct lk_engine *engine, const struct lk_event_query *query,
                         const struct lk_patience *patience, struct lk_happenings **ret_happenings,
                         lk_error *error);

    /* Blocks, as await() does, until there may be events behind `after`. Marks nothing. */
    lk_outcome (*await_events)(struct lk_engine *engine, uint64_t after, int64_t until_us,
                               struct lk_waker *waker);

    /* R22. The setter gets checked bounds, and leaves alone what is LK_LIMIT_AS_IS. */
    lk_outcome (*limits_get)(struct lk_engine *engine, const struct lk_patience *patience,
                             lk_limits *ret_limits, lk_error *error);
    lk_outcome (*limits_set)(struct lk_engine *engine, const lk_limits *limits,
                             const struct lk_patience *patience, lk_error *error);

    /*
     * R17. Whether the source can be worked with: LK_OK; LK_INVALID: no such table or column, SQL
     * that does not parse or does what it must not. To be called first, once.
     */
    lk_outcome (*table_check)(struct lk_engine *engine, const struct lk_source *source,
                              const struct lk_patience *patience, lk_error *error);

    /*
     * R17. Looks for up to `max` rows to announce and pushes them, some in each of several short
     * transactions; forgets some marks of rows that do not fit any more. max 0: only looks; `found`
     * is 1 if there are any.
     */
    lk_outcome (*table_announce)(struct lk_engine *engine, const struct lk_source *source,
                                 size_t max, const struct lk_patience *patience,
                                 struct lk_announcement *ret_announcement, lk_error *error);

    /*
     * R17. A take that looks again, in its own transaction, whether the item's row still fits: if
     * not, the item is dropped and the next one looked at. The claim has the row's id.
     */
    lk_outcome (*table_take)(struct lk_engine *engine, const struct lk_source *source,
                             const struct lk_take *take, const struct lk_patience *patience,
                             lk_claim_info **ret_claim, struct lk_stand *ret_stand,
                             lk_error *error);

    /*
     * R17. A finish. When it ends the claim as done, the source's statement runs in the same
     * transaction; a row that fits even then is marked. LK_INVALID: the statement failed, and
     * nothing has changed: the claim is held as before.
     */
    lk_outcome (*table_finish)(struct lk_engine *engine, const struct lk_source *source,
                               const struct lk_finish *finish, const struct lk_patience *patience,
                               lk_error *error);

    /*
     * R17. A finish of what is done and, where that is simple, a take in the same transaction:
     * LK_OK with *ret_claim, or with NULL: a take by itself may find something, or say why not.
     * NULL: the engine gains nothing by it.
     */
    lk_outcome (*table_finish_and_take)(struct lk_engine *engine, const struct lk_source *source,
                                        const struct lk_finish *finish, const struct lk_take *take,
                                        const struct lk_patience *patience,
                                        lk_claim_info **ret_claim, lk_error *error);

    /*
     * Blocks, as await() does, until there may be something to announce since a round that has
     * seen `version`. NULL: the engine cannot tell; come again after a while.
     */
    lk_outcome (*table_await)(struct lk_engine *engine, uint64_t version, int64_t until_us,
                              struct lk_waker *waker);

    /* For `lk doctor`. */
    lk_outcome (*examine)(struct lk_engine *engine, const struct lk_patience *patience,
                          lk_report **ret_report, struct lk_error *error);
};

/*
 * The engines in this build, ended by NULL. Generated by the build from what is enabled: the folder
 * src/engine/NAME defines `const struct lk_engine_ops lk_engine_NAME`.
 */
extern const struct lk_engine_ops *const lk_engines[];

#endif
