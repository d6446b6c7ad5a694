/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service without its surroundings: who is connected, who waits, what was decided and what of
 * it is durable. Events in, effects out: no clock, no I/O, no threads, no globals. The program
 * drives it from a loop, the simulator (tests/server) from a list of invented misfortunes.
 *
 * Rules are the model's (src/model). What is added here: waits that block (R10) and are kept alive,
 * requests that end with their connection (R18), happenings that are followed (R21; who is told of
 * them as they happen: server/history.h), and *when an answer may leave*: every decision belongs to
 * a batch of changes, and nothing that was decided in it, or after it, is told to anybody before
 * that batch is durable.
 *
 * The turn of whoever drives it: hand in what has come (calls, ends of sessions), each with one
 * reading of the clocks; then ask lk_core_take_batch() for what is to be written. One batch is
 * being written at a time, while the next one collects. When it has been written, say so; answers
 * that waited for it are let go. lk_core_next_due() says when to come back though nothing happens.
 *
 * Order: `times->now_us` never runs backwards from one call to the next.
 * Reentrance: the functions of struct lk_session_ops are called from within those of lk_core_...,
 * and must not call any of them. What an answer makes possible (the next pipelined command) is
 * done once the call that led to it has returned.
 * Ownership: what is passed in is borrowed for the call; what is passed out for the callback.
 */
#ifndef LK_SERVER_CORE_H
#define LK_SERVER_CORE_H

#include "command/call.h"

struct lk_core;
struct lk_session;
struct lk_batch; /* server/batch.h: the rows to write */
struct lk_image; /* server/image.h: what a store has kept, loaded */

/* ---- sessions -------------------------------------------------------------------------------- */

/*
 * How a session is spoken to. `peer` is the door's own. A batch number says what an answer depends
 * on: 0 nothing, it may leave at once (in its order); else it is held back until durable() names
 * that batch or a later one. Numbers never fall from one answer of a session to the next.
 */
struct lk_session_ops {
    void (*answer)(void *peer, uint64_t tag, uint64_t batch, const struct lk_reply *reply);

    /* All that depends on this batch, or on an earlier one, may leave. */
    void (*durable)(void *peer, uint64_t batch);

    /*
     * A batch could not be written, or nobody knows whether it was. All that this session still
     * holds back is void: each answer becomes UNAVAILABLE with `why`.
     */
    void (*failed)(void *peer, const char *why);
};

/*
 * LK_OK with *ret_session, or LK_FULL (a bound), LK_UNAVAILABLE (stopping), LK_INTERNAL (memory),
 * without one.
 */
lk_outcome lk_core_session_open(struct lk_core *core, const struct lk_session_ops *ops, void *peer,
                                struct lk_session **ret_session, lk_error *error);

/*
 * The connection is gone: its bound requests perish (R18), its blocked calls are forgotten or
 * withdrawn. The peer is not called any more, and the session is no more.
 */
void lk_core_session_close(struct lk_core *core, struct lk_session *session,
                           const struct lk_times *times);

/* N of the owner `conn:EPOCH.N`, and that name, which lives as long as the session. */
uint64_t lk_session_number(const struct lk_session *session);
struct lk_slice lk_session_owner(const struct lk_session *session);

/*
 * Answers once: at once, or later if it blocks. Several calls of one session may block at a time;
 * a door that promises order makes no further call while one blocks.
 */
void lk_core_call(struct lk_core *core, struct lk_session *session, const struct lk_call *call,
                  const struct lk_times *times);

/*
 * The blocked call of that tag is wanted no more: what it put in line is withdrawn, and it is not
 * answered. Without effect if it does not block.
 */
void lk_core_cancel(struct lk_core *core, struct lk_session *session, uint64_t tag,
                    const struct lk_times *times);

/* ---- making, loading, stopping --------------------------------------------------------------- */

struct lk_core_config {
    struct lk_quotas quotas; /* R22: those that are not 0 hold, whatever the store or a call says */
    uint64_t hash_seed;      /* random where names come from strangers */
    const char *epoch;       /* of `conn:EPOCH.N`: new at every start; copied */
    bool is_ephemeral;       /* no store: everything is durable at once */
    bool is_fenced;          /* answers that only read wait for a commit as well: a store that
                                others share says by it that we still lead */
    uint32_t sessions_max;   /* these four; 0: the default */
    uint32_t blocked_max;    /* blocked calls in all */
    uint32_t blocked_per_session_max;
    size_t batch_bytes_max; /* a batch larger than this wants no more calls */
};
enum {
    LK_CORE_SESSIONS_MAX_DEFAULT = 65536,
    LK_CORE_BLOCKED_MAX_DEFAULT = 1u << 20,
    LK_CORE_BLOCKED_PER_SESSION_MAX_DEFAULT = 4096,
    LK_CORE_BATCH_BYTES_MAX_DEFAULT = 32 << 20,
    LK_CORE_EPOCH_BYTES_MAX = 32,
    LK_CORE_AUDIT_MAX = 65536, /* breaks kept on record (R12) */
};

/* NULL: memory is exhausted. Without a model yet, unless it is ephemeral: calls are UNAVAILABLE. */
struct lk_core *lk_core_new(const struct lk_core_config *config);

/* Every session must have been closed. Accepts NULL. */
void lk_core_free(struct lk_core *core);

/* What the model of an image has to be made with. */
struct lk_model_config lk_core_model_config(const struct lk_core *core);

/*
 * Whether the store is to be loaded: at the start, and after a batch that failed. Then lk_store
 * makes an image (server/store.h) and lk_core_restore() takes it over, whatever it returns: the
 * model goes on from there, and what was bound to connections that are gone perishes.
 */
bool lk_core_wants_image(const struct lk_core *core);
lk_outcome lk_core_restore(struct lk_core *core, struct lk_image *image,
                           const struct lk_times *times, lk_error *error);

/*
 * No more calls: blocked ones are answered UNAVAILABLE and stay in line, new ones are refused.
 * Once lk_core_is_idle(), nothing is left to be written.
 */
void lk_core_stop(struct lk_core *core, const struct lk_times *times);
bool lk_core_is_idle(const struct lk_core *core);

/* ---- time and batches ------------------------------------------------------------------------ */

/* When lk_core_tick() is due though nothing else happens; LK_NEVER: not by itself. */
int64_t lk_core_next_due(const struct lk_core *core);
void lk_core_tick(struct lk_core *core, const struct lk_times *times);

/*
 * What is to be written, if there is anything and nothing is being written; else NULL. It is the
 * core's, shares nothing with the model, and stays untouched until one of the next two is called.
 */
const struct lk_batch *lk_core_take_batch(struct lk_core *core);
void lk_core_batch_durable(struct lk_core *core, const struct lk_times *times);
void lk_core_batch_failed(struct lk_core *core, const char *why, const struct lk_times *times);

/* Whether so much waits to be written that the doors had better not read on. */
bool lk_core_is_choked(const struct lk_core *core);

struct lk_core_stats {
    uint64_t sessions;
    uint64_t blocked;   /* calls that block just now */
    uint64_t bound;     /* live requests that end with their session */
    uint64_t followers; /* of events */
    uint64_t events;    /* kept */
    uint64_t events_max;
    struct lk_quotas quotas; /* R22: that hold */
    uint64_t calls;          /* since the start */
    uint64_t batches;        /* durable ones since the start */
    uint64_t batches_failed; /* ... and those that were not */
    uint64_t bytes;          /* memory, the model's included */
};
void lk_core_stats(const struct lk_core *core, struct lk_core_stats *ret_stats);

#endif
