/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine must do: the table of operations that every kind of store implements.
 *
 *     decide   takes a command of the model, returns a decision: every change of requests, values
 *              and items. Each engine has the switch on the command's kind.
 *     await    sleeps until what a decision left open may have changed
 *     reads    list, show, audit, value_get, values, items, stats, examine: each with its own type
 *     events, limits, table, batches   optional, in tables of their own
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

#include <stdatomic.h>

#include "base/waker.h"
#include "engine/row_id.h"
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

    /* batches: R16, several commands in one decision, priorities, failures of items, drops */
    LK_CAN_BATCHES = 1u << 14,

    LK_CAN_BIND = 1u << 15,        /* ties: R18, a request can end with its connection */
    LK_CAN_LIST_VALUES = 1u << 16, /* values: R15, those at or below a path can be listed */
};

/* How long a call may wait for the store itself (file lock, network), and what ends that. */
struct lk_patience {
    int64_t until_us;       /* an instant of lk_clock_now_us(); LK_NEVER: for ever */
    struct lk_waker *waker; /* NULL: none. Woken: give up with LK_CANCELLED */

    /* Told why an attempt has failed, while the call goes on with another one. NULL: not. */
    void (*on_failure)(void *context, const lk_error *error);
    void *context; /* for on_failure() */

    /* Set once the store may have received the command, so that it may take effect. NULL: not. */
    bool *is_sent;

    /*
     * Of opening a store: by when its server must have answered, which is then told by *is_reached.
     * What follows, such as making the store, has until until_us. 0, NULL: until_us is for all.
     */
    int64_t contact_us;
    atomic_bool *is_reached;
};

/* For a connection, until the server has let the client in. */
static inline struct lk_patience lk_patience_for_contact(const struct lk_patience *patience) {
    struct lk_patience contact = *patience;

    if (patience->contact_us != 0 && patience->contact_us < patience->until_us) {
        contact.until_us = patience->contact_us;
    }
    return contact;
}

static inline void lk_patience_note_reached(const struct lk_patience *patience) {
    if (patience->is_reached != NULL) {
        atomic_store(patience->is_reached, true);
    }
}

static inline void lk_patience_note_sent(const struct lk_patience *patience) {
    if (patience->is_sent != NULL) {
        *patience->is_sent = true;
    }
}

static inline void lk_patience_note_failure(const struct lk_patience *patience,
                                            const lk_error *error) {
    if (patience->on_failure != NULL && error != NULL) {
        patience->on_failure(patience->context, error);
    }
}

struct lk_engine {
    const struct lk_engine_ops *ops;
};

/* The present state of an open store. Returned without I/O, and without holding a lock. */
struct lk_engine_status {
    unsigned capabilities; /* of the engine's: those of this store */

    /* What has been UNAVAILABLE stays so until the store is opened again: waiting is in vain. */
    bool is_gone;

    /*
     * The last call was UNAVAILABLE because this store takes no writes now: it can only be read, as
     * a replica can, or lacks the replicas that a grant has to reach. A first call fails at once; a
     * wait that has been answered before may see that change.
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
    int64_t took_us;   /* of a take, for engines that poll: how long it took. 0: unknown */
    int64_t waited_us; /* of a take: how long there has been no item; the caller's to set */
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
    lk_push_result pushed;        /* PUSH: LK_OK; else without meaning */
    size_t broken;                /* BREAK: LK_OK, requests withdrawn, revoked or ended */
    struct lk_wait_cursor cursor; /* ASK: WAITING; TAKE: BUSY; else without meaning */
};

/* Frees what the decision holds, and makes it empty. */
void lk_decision_done(struct lk_decision *decision);

enum { LK_DECIDE_MANY_MAX = 1000 }; /* commands in one series; takes: LK_TAKES_MAX */

/* The answer to one command of a series. */
struct lk_series_answer {
    lk_outcome outcome;    /* LK_OK, GRANTED, BUSY, LOST or FULL, as of the kind of command */
    lk_push_result pushed; /* PUSH: LK_OK; else without meaning */
    lk_claim_info *claim;  /* TAKE: GRANTED, else NULL */
};

/*
 * The result of a series of commands. The caller gives it `answers`; decide_many() fills in the
 * rest in every outcome, whatever was there before. The caller ends it with lk_series_done(), or
 * moves claims out of the answers and leaves NULL there.
 */
struct lk_series {
    struct lk_series_answer *answers; /* room for one for each command */
    const struct lk_command *commands;
    size_t command_count;
    size_t count;   /* the first so many commands have an answer */
    lk_error error; /* LK_OK; the text says why the last answer that is a refusal is one. Else the
                       outcome of all, and there are no answers */
    struct lk_wait_cursor cursor; /* the last answer is BUSY, of a TAKE; else without meaning */
};

/* Frees the claims of the series, and leaves no answers. */
void lk_series_done(struct lk_series *series);

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
#define LK_EVENTS_LINGER_US INT64_C(300000000) /* kept after the store was last watched */
#define LK_ROOT_IDLE_US INT64_C(60000000)      /* unused for so long, a root is forgotten (R4) */
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

/* The longest id of an item of the queue (R1). */
static inline size_t lk_source_id_max(const struct lk_source *source) {
    size_t room = LK_PATH_BYTES_MAX - 1 - source->queue.size;

    return room < LK_SEGMENT_BYTES_MAX ? room : LK_SEGMENT_BYTES_MAX;
}

/* The result of one round of announcing. */
struct lk_announcement {
    size_t found;      /* rows that fit, and had neither an item nor a mark of being done */
    size_t pushed;     /* of these */
    size_t duplicates; /* of these: another client had pushed them meanwhile */
    bool has_enough;   /* so many items are ready that the round read no rows */
    bool is_whole;     /* it has read all rows: `skipped` is known */
    uint64_t version;  /* for table_await: what it had seen of the store by then */
    struct lk_skipped_rows skipped; /* rows that fit, but cannot be items */
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
     * transactions; purges some rows. max 0: pushes and purges none; `found` is 1 if there are any.
     */
    lk_outcome (*announce)(struct lk_engine *engine, const struct lk_source *source, size_t max,
                           const struct lk_patience *patience,
                           struct lk_announcement *ret_announcement, lk_error *error);

    /*
     * Forgets all marks, and drops all parked items, of rows that do not fit any more. So such a
     * row is announced again when it fits again. Some at a time, in short transactions.
     */
    lk_outcome (*purge)(struct lk_engine *engine, const struct lk_source *source,
                        const struct lk_patience *patience, lk_error *error);

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

/* R15: which values. */
struct lk_value_query {
    const struct lk_path *prefix; /* at or below it; NULL: all */
    struct lk_slice behind;       /* with greater paths than this text; empty: from the first */
    size_t max;                   /* values in one answer, at least 1 */
};

/* R16: which items. */
struct lk_item_query {
    const struct lk_path *queue;
    struct lk_slice id; /* the one with this id; empty: all */
};

/* R16: which parked items. */
struct lk_parked_query {
    const struct lk_path *queue;
    uint64_t behind; /* what the page before has reached; 0: from the first */
    size_t max;      /* items in one answer, at least 1 */
};

/* R16: which queues. */
struct lk_queue_query {
    const struct lk_path *prefix; /* at or below it; NULL: all */
    struct lk_slice behind;       /* with greater paths than this; empty: from the first */
    size_t max;                   /* queues in one answer, at least 1 */
};

/*
 * R16: several commands in one decision, and the queries that go with them. An engine that has
 * these also knows priorities, failures of items, and LK_COMMAND_DROP in decide().
 */
struct lk_batch_ops {
    /*
     * Decides `count` commands, 1 to LK_DECIDE_MANY_MAX, of one kind (PUSH, TAKE, FINISH as done,
     * UNPARK or DROP) and for one queue, in one transaction: each is decided as by decide(), in
     * their order, at one and the same time, and each has an answer of its own. A TAKE that is not
     * granted ends the series. TAKEs have one owner, and ask numbers of one ask
     * (lk_take_number()); each one behind the first that is granted gets that one's token as its
     * share_token. The repetition of a series of TAKEs has the same answers (R3), and may have
     * more.
     *
     * Returns series->error.outcome: LK_OK: all changes are as durable as the store makes them.
     * Else an outcome that every kind of command may have: INVALID, UNSUPPORTED, DENIED: nothing
     * has changed. UNAVAILABLE, CANCELLED, INTERNAL: it is unknown whether all took effect or none.
     */
    lk_outcome (*decide_many)(struct lk_engine *engine, const struct lk_command *commands,
                              size_t count, const struct lk_patience *patience,
                              struct lk_series *series);

    /*
     * The parked items of a queue, the oldest first. Of each only the id has to be filled in. LK_OK
     * with *ret_list, and *ret_reached for the next query; 0: there are no more.
     */
    lk_outcome (*parked)(struct lk_engine *engine, const struct lk_parked_query *query,
                         const struct lk_patience *patience, lk_item_list **ret_list,
                         uint64_t *ret_reached, lk_error *error);

    /*
     * Queues with their counts, in the order of the bytes of their paths. LK_OK with *ret_list.
     * *ret_has_more: there may be more behind the last one.
     */
    lk_outcome (*queues)(struct lk_engine *engine, const struct lk_queue_query *query,
                         const struct lk_patience *patience, lk_queue_list **ret_list,
                         bool *ret_has_more, lk_error *error);
};

/*
 * R12: leases that a break or a cancel has revoked or ended. A hint: what is missed here is noticed
 * at the next renewal.
 */
enum { LK_REVOKED_MAX = 64 }; /* in one answer */

struct lk_revoked {
    /* The engine's own: up to what it has told. Zeroed at first: it begins with the last ones. */
    uint64_t position;
    bool has_position;

    uint64_t tokens[LK_REVOKED_MAX]; /* those of other clients' leases among them */
    size_t count;
};

struct lk_revoked_ops {
    /*
     * Blocks until there are tokens behind the position, or until `until_us`, or until the waker is
     * thrown. Fills in the tokens, and moves the position behind them. Costs the store no more than
     * one small query a second, however many leases are held. LK_OK, perhaps with no tokens;
     * LK_CANCELLED; LK_UNSUPPORTED: this store does not tell, and never will; else try later.
     */
    lk_outcome (*await)(struct lk_engine *engine, struct lk_revoked *revoked, int64_t until_us,
                        struct lk_waker *waker);
};

/*
 * R18: the connection that one bound request ends with, from its first ask to its end. For one
 * thread at a time, but for cut().
 */
struct lk_tie;

struct lk_tie_ops {
    /* Without I/O. NULL when memory is exhausted. */
    struct lk_tie *(*open)(void);

    /*
     * As the engine's decide(), of an ASK that is bound, and of a RENEW of its request. An ask
     * connects; over a connection that broke, it is repeated over a new one, which the request is
     * then bound to. A renewal never connects: LOST, too, when the connection broke.
     */
    lk_outcome (*decide)(struct lk_tie *tie, struct lk_engine *engine,
                         const struct lk_command *command, const struct lk_patience *patience,
                         struct lk_decision *ret_decision);

    /*
     * Of the granted request's connection: it is hung up when the connection has ended. Stays the
     * same from the grant to close().
     */
    int (*descriptor)(const struct lk_tie *tie);

    /* Ends the connection, and with it the request. Any thread may do so, until close(). */
    void (*cut)(const struct lk_tie *tie);

    /* Ends the connection and frees the tie. The engine may be closed already. */
    void (*close)(struct lk_tie *tie);
};

struct lk_engine_ops {
    const char *scheme;               /* of the URL: "mem", "sqlite" */
    const char *alias;                /* another word for it; NULL: there is none */
    const char *title;                /* for people */
    bool is_remote;                   /* a server has it, or is asked for its address */
    unsigned capabilities;            /* of enum lk_capability, the first group */
    const struct lk_url_files *files; /* NULL: its URLs name none */

    /*
     * `rest` is the URL after "scheme:". LK_OK with *ret_engine, which close() ends; else an
     * outcome of lk_open() with its sentence in *error.
     */
    lk_outcome (*open)(struct lk_slice rest, const struct lk_patience *patience,
                       struct lk_engine **ret_engine, struct lk_error *error);
    void (*close)(struct lk_engine *engine);

    /*
     * As open(), but LK_NONE where the store would have to be made first: then nothing is made.
     * NULL: open() makes nothing, or a file (lk_open_if_there() looks for it).
     */
    lk_outcome (*open_existing)(struct lk_slice rest, const struct lk_patience *patience,
                                struct lk_engine **ret_engine, struct lk_error *error);

    /*
     * LK_OK, or LK_INVALID: this URL can name no store, whether or not its file exists. Opens
     * nothing. NULL: opening finds out, also where there is no store.
     */
    lk_outcome (*check_url)(struct lk_slice rest, struct lk_error *error);

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
     *     DROP     LK_OK, LOST. Only where `batches` is there
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

    /* How many round trips list() takes below one root; the last one reads. 0: one, or none. */
    int list_trips;

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

    /*
     * R15: values without their bytes, in the order of the bytes of their paths. Reads only those
     * of the page. LK_OK with *ret_list, whose `reached` is set if there may be more: a page may
     * have less than `max`. NULL: it cannot list them.
     */
    lk_outcome (*values)(struct lk_engine *engine, const struct lk_value_query *query,
                         const struct lk_patience *patience, lk_value_list **ret_list,
                         lk_error *error);

    /* R16. Both NULL: it keeps no work. */
    lk_outcome (*items)(struct lk_engine *engine, const struct lk_item_query *query,
                        const struct lk_patience *patience, lk_item_list **ret_list,
                        lk_error *error);
    lk_outcome (*stats)(struct lk_engine *engine, const struct lk_path *queue,
                        enum lk_stats_depth depth, const struct lk_patience *patience,
                        lk_queue_stats *ret_stats, lk_error *error);

    /* For `lk doctor`. */
    lk_outcome (*examine)(struct lk_engine *engine, const struct lk_patience *patience,
                          lk_report **ret_report, struct lk_error *error);

    /* Copies the whole store to a new file; lk_backup(). NULL: it has tools of its own for that. */
    lk_outcome (*backup)(struct lk_engine *engine, const char *path,
                         const struct lk_patience *patience, struct lk_error *error);

    /* Optional: NULL if the engine cannot. */
    const struct lk_event_ops *events;
    const struct lk_limit_ops *limits;
    const struct lk_table_ops *table;
    const struct lk_batch_ops *batches;
    const struct lk_tie_ops *ties;
    const struct lk_revoked_ops *revoked;
};

/* The capabilities of an engine, before a store is open: enum lk_capability. */
static inline unsigned lk_engine_capabilities(const struct lk_engine_ops *ops) {
    return ops->capabilities | (ops->audit != NULL ? LK_CAN_BREAK : 0u)
           | (ops->value_get != NULL ? LK_CAN_VALUES : 0u) | (ops->stats != NULL ? LK_CAN_WORK : 0u)
           | (ops->events != NULL ? LK_CAN_EVENTS : 0u) | (ops->limits != NULL ? LK_CAN_LIMITS : 0u)
           | (ops->table != NULL ? LK_CAN_TABLE : 0u) | (ops->batches != NULL ? LK_CAN_BATCHES : 0u)
           | (ops->ties != NULL ? LK_CAN_BIND : 0u)
           | (ops->values != NULL ? LK_CAN_LIST_VALUES : 0u);
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
