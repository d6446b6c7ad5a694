/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core of the service: sessions, blocked calls, decisions, and which of them are durable. Calls
 * in, answers out: no clock, no I/O, no threads, no globals. The program drives it from a loop, and
 * the simulator (tests/server) from a list of failures.
 *
 * The rules are the model's (src/model). The core adds waits that block (R10) and are kept alive,
 * requests that end with their connection (R18), events that are followed (R21; watchers that are
 * notified of each event: server/core/event_log.h), and *when an answer may leave*. Every decision
 * belongs to a batch of changes. No answer or event that depends on a decision leaves before the
 * batch of that decision is durable.
 *
 * The caller's turn: pass in what has arrived (calls, closed sessions), each with one reading of
 * the clocks; then call lk_core_take_batch() for what is to be written. One batch is written at a
 * time, while the next one collects. When it has been written, call lk_core_batch_durable(): the
 * answers that waited for it are released. lk_core_next_due() says when to call lk_core_tick() if
 * nothing else happens.
 *
 * Order: `times->now_us` never decreases from one call to the next.
 *
 * Reentrance: the functions of struct lk_session_ops are called from within those of lk_core_...,
 * and must not call any of them that changes something. Work that an answer makes possible (the
 * next pipelined command) is done after that call has returned.
 *
 * Ownership: arguments are borrowed for the call; what a callback gets is borrowed for the
 * callback.
 */
#ifndef LK_SERVER_CORE_H
#define LK_SERVER_CORE_H

#include "command/call.h"

struct lk_core;
struct lk_session;
struct lk_tally;          /* server/core/tally.h: counters */
struct lk_contention_top; /* server/core/contention.h: where requests wait */
struct lk_batch;          /* server/core/exchange.h: the rows to write */
struct lk_core_snapshot;  /* server/core/exchange.h: what a store has kept, loaded */

/* ---- sessions -------------------------------------------------------------------------------- */

/*
 * The callbacks of a session. `peer` belongs to the listener. A batch number says what an answer
 * depends on. 0: nothing, so the answer may leave at once, in its order. Else the answer is held
 * back until durable() names that batch or a later one. Numbers never decrease from one answer of a
 * session to the next.
 */
struct lk_session_ops {
    void (*answer)(void *peer, uint64_t tag, uint64_t batch, const struct lk_reply *reply);

    /* Every answer that depends on this batch, or on an earlier one, may leave. */
    void (*durable)(void *peer, uint64_t batch);

    /* A batch could not be written, or its outcome is unknown. Every answer that this session still
     * holds back is void and becomes UNAVAILABLE with `why`. */
    void (*failed)(void *peer, const char *why);
};

/*
 * LK_OK with *ret_session; or LK_FULL (a bound), LK_UNAVAILABLE (stopping), LK_INTERNAL (memory),
 * without a session.
 */
lk_outcome lk_core_session_open(struct lk_core *core, const struct lk_session_ops *ops, void *peer,
                                struct lk_session **ret_session, lk_error *error);

/*
 * The connection is closed: its bound requests perish (R18), and its blocked calls are forgotten or
 * withdrawn. Frees the session; its peer is not called any more.
 */
void lk_core_session_close(struct lk_core *core, struct lk_session *session,
                           const struct lk_times *times);

/* N of the owner `conn:EPOCH.N`, and that name, which is valid as long as the session. */
uint64_t lk_session_number(const struct lk_session *session);
struct lk_slice lk_session_owner(const struct lk_session *session);

/*
 * Answers once: at once, or later if the call blocks. Several calls of one session may block at a
 * time; a listener that promises order makes no further call while one blocks. Listeners make one
 * call of a connection at a time, so the bound of connections bounds what blocks at each. The core
 * sets the times of a command.
 */
void lk_core_call(struct lk_core *core, struct lk_session *session, struct lk_call *call,
                  const struct lk_times *times);

/*
 * Cancels the blocked call of that tag: the request that it queued is withdrawn, and the call is
 * not answered. Without effect if no such call blocks.
 */
void lk_core_cancel(struct lk_core *core, struct lk_session *session, uint64_t tag,
                    const struct lk_times *times);

/* ---- making, loading, stopping --------------------------------------------------------------- */

struct lk_core_config {
    struct lk_quotas quotas; /* R22: fields that are not 0 override the store and every call */
    uint64_t hash_seed;      /* random where clients that are not trusted choose names */
    const char *epoch;       /* of `conn:EPOCH.N`: new at every start; copied */
    /* Only their users may call, each by its rules, and each has owners of its own. Borrowed. NULL:
     * there are no users, and every call is allowed. */
    struct lk_users *users;
    bool is_ephemeral;        /* no store: every change is durable at once */
    bool is_fenced;           /* answers that only read wait for a commit as well: in a store that
                              * several services share, the commit proves that this one still
                              * leads */
    int64_t renew_us;         /* is_fenced: a batch is written at least this often, if only an empty
                              * one, so that the one that leads keeps its lease; 0: only when an
                              * answer waits for it */
    uint64_t value_bytes_max; /* of values and items; 0: the default, as for all that follow */
    uint64_t event_bytes_max; /* of the events that are kept */
    uint32_t sessions_max;
    uint32_t blocked_max;   /* blocked calls in all */
    size_t batch_bytes_max; /* a larger batch makes lk_core_has_backpressure() true */
};
enum {
    LK_CORE_SESSIONS_MAX_DEFAULT = 65536,
    LK_CORE_BLOCKED_MAX_DEFAULT = 1u << 20,
    LK_CORE_BATCH_BYTES_MAX_DEFAULT = 32 << 20,
    LK_CORE_EVENT_BYTES_MAX_DEFAULT = 256 << 20,
    LK_CORE_VALUE_BYTES_MAX_DEFAULT = 1 << 30,
    LK_CORE_EPOCH_BYTES_MAX = 32,
    LK_CORE_LEADER_BYTES_MAX = 255,
    LK_CORE_AUDIT_SPARE = 4096, /* ... and so many more before the oldest are dropped together */
};

/*
 * NULL: memory is exhausted. Unless it is ephemeral, the core has no model until lk_core_restore():
 * calls are answered UNAVAILABLE.
 */
struct lk_core *lk_core_new(const struct lk_core_config *config);

/* Every session must have been closed. Accepts NULL. */
void lk_core_free(struct lk_core *core);

/* The bounds of the configuration that may change while the core runs; 0 as there. */
struct lk_core_bounds {
    struct lk_quotas quotas;
    uint64_t value_bytes_max;
    uint64_t event_bytes_max;
    uint32_t sessions_max;
};
void lk_core_bound(struct lk_core *core, const struct lk_core_bounds *bounds);

/* The configuration for the model of a snapshot that is loaded at this time. */
struct lk_model_config lk_core_model_config(const struct lk_core *core,
                                            const struct lk_times *times);

/*
 * Whether the store is to be loaded: at the start, and after a batch that failed. The storage then
 * makes a snapshot (server/store/store.h), and lk_core_restore() takes ownership of it, whatever it
 * returns. The model goes on from the snapshot, and requests bound to closed connections perish.
 */
bool lk_core_wants_snapshot(const struct lk_core *core);
lk_outcome lk_core_restore(struct lk_core *core, struct lk_core_snapshot *snapshot,
                           const struct lk_times *times, lk_error *error);

/*
 * Another service leads the store, or may: until the next restore, calls are answered UNAVAILABLE,
 * with the place of that service (lk_reply), and watchers end. Copied; NULL or empty: none is
 * known.
 */
void lk_core_follow(struct lk_core *core, const char *leader);

/* Whether decisions are made here, as always where the store is not shared. Else no watcher may
 * begin. */
bool lk_core_leads(const struct lk_core *core);
#define LK_CORE_LEADS_NOT "this service does not lead its store now; ask again, or another one"

/* That service; NULL: none is known, or this one has the model. */
const char *lk_core_leader(const struct lk_core *core);

/*
 * Takes no more calls: blocked ones are answered UNAVAILABLE and their requests stay in the queue;
 * new ones are refused. Once lk_core_is_idle(), nothing is left to be written.
 */
void lk_core_stop(struct lk_core *core, const struct lk_times *times);

/*
 * After lk_core_stop(), once the core is idle, where the store is shared: the model is given up, so
 * that another service may lead. Requests that are bound to sessions end when that one loads.
 */
void lk_core_resign(struct lk_core *core);

/*
 * From now on no new request is taken, whichever session asks for it: UNAVAILABLE, so that clients
 * ask again and reach the service that is started next. Requests that live are served as before.
 */
void lk_core_drain(struct lk_core *core);
bool lk_core_is_draining(const struct lk_core *core);
bool lk_core_is_idle(const struct lk_core *core);

/* ---- time and batches ------------------------------------------------------------------------ */

/* When lk_core_tick() is due if nothing else happens; LK_NEVER: no timer is needed. */
int64_t lk_core_next_due(const struct lk_core *core);
void lk_core_tick(struct lk_core *core, const struct lk_times *times);

/*
 * The batch to be written, or NULL if there is none or one is being written. It belongs to the
 * core, shares nothing with the model, and does not change until one of the next two is called.
 */
const struct lk_batch *lk_core_take_batch(struct lk_core *core);
bool lk_core_has_batch(const struct lk_core *core); /* whether there is one */
void lk_core_batch_durable(struct lk_core *core, const struct lk_times *times);
void lk_core_batch_failed(struct lk_core *core, const char *why, const struct lk_times *times);

/* How many sessions the last durable batch has answered that have not called since. */
size_t lk_core_awaited(const struct lk_core *core);

/* Backpressure: whether so much waits to be written that the listeners should stop reading. */
bool lk_core_has_backpressure(const struct lk_core *core);

/* What a call blocks for. */
enum lk_blocked_for {
    LK_BLOCKED_FOR_GRANT,
    LK_BLOCKED_FOR_ITEM,
    LK_BLOCKED_FOR_EVENT,
    LK_BLOCKED_FOR_BREAK,
};
enum { LK_BLOCKED_FOR_COUNT = LK_BLOCKED_FOR_BREAK + 1 };

struct lk_core_stats {
    uint64_t sessions;
    uint64_t blocked; /* calls that block now */
    uint64_t blocked_for[LK_BLOCKED_FOR_COUNT];
    uint64_t bound;     /* live requests that end with their session */
    uint64_t followers; /* followers of events */
    uint64_t events;    /* events kept */
    uint64_t event_bytes;
    uint64_t events_max;
    struct lk_quotas quotas; /* R22: the bounds in force */
    uint64_t calls;          /* since the start */
    uint64_t batches;        /* batches made durable since the start */
    uint64_t batches_failed; /* ... and batches that failed */
    bool cannot_write;       /* the last write failed. INFO then tries a write that changes
                              * nothing, at most once a second, to find out whether writing is
                              * possible again */
    uint64_t bytes;          /* memory, the model's included */
};
void lk_core_stats(const struct lk_core *core, struct lk_core_stats *ret_stats);

/* For monitoring; both take a time that does not depend on how much is kept. What the tally has
 * counted, valid as long as the core; and where requests wait now. */
const struct lk_tally *lk_core_tally(const struct lk_core *core);
void lk_core_contention(const struct lk_core *core, struct lk_contention_top *ret_top);

#endif
