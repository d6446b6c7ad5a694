/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the core, for the files that implement it: core.c (calls and batches), fence.c
 * (which batch an answer depends on), checks.c (whose an owner is, and what the model need not
 * see), sessions.c, blocked.c (requests that wait), claim_waiters.c (claims that wait, and where),
 * bindings.c (requests bound to sessions, and what commands name them by), series.c (several items
 * in one call), event_log.c (events), follow.c (calls about events and bounds), tally.c (counters),
 * contention.c (which roots have waiting requests).
 *
 *   session         one connection: its bindings, its blocked calls
 *   binding         a live request that a session is bound to, or a blocked call waits for, or both
 *   blocked         a call that is answered later
 *   waiting queue   a path at which blocked claims wait for work, in the order of their arrival
 *
 * README.md of this folder has their invariants.
 */
#ifndef LK_SERVER_CORE_INTERNAL_H
#define LK_SERVER_CORE_INTERNAL_H

#include <assert.h>

#include "base/hash.h"
#include "server/core/claim_waiters.h"
#include "server/core/collect.h"
#include "server/core/core.h"
#include "server/core/event_log.h"
#include "server/core/exchange.h"
#include "server/core/lists.h"
#include "server/core/tally.h"

enum {
    LK_BLOCKERS_NAMED_MAX = 16, /* named in the answer to a wait that has timer out */
};

struct lk_binding {
    lk_ref request; /* 0: there is no model */
    uint64_t id;
    struct lk_session *session; /* the session that it is bound to; NULL: none */
    struct lk_link in_session;
    struct lk_link blocked; /* ring of the calls that wait for it */
};

struct lk_blocked {
    struct lk_timer timer; /* first */
    struct lk_session *session;
    struct lk_link in_session;
    struct lk_hash_entry by_tag;
    struct lk_link in_waiters; /* of the binding, of the waiting queue, or of a list in the core */
    uint64_t tag;
    int64_t until_us;
    enum lk_blocked_for blocked_for;

    /* A request that waits: */
    struct lk_binding *binding;
    bool created; /* this call created the request, and withdraws it when it ends without a grant */
    bool ends_withdrawn;
    bool wants_value;
    uint8_t places[LK_PARTS_MAX]; /* R15: of the ask's parts among those of the request */
    size_t blockers_max;

    /* A claim: */
    struct lk_waiting_queue *queue;
    bool is_bound;
    size_t claims;       /* as in the call */
    struct lk_take take; /* its slices point into `text` */

    /* A call for events: */
    bool is_following;
    struct lk_event_query query;
    struct lk_path prefix; /* its bytes are in `text` */
    uint64_t looked;       /* up to this number no event matches */
    char text[];
};

struct lk_session {
    const struct lk_session_ops *ops;
    void *peer;
    uint64_t number;
    struct lk_slice owner;
    struct lk_link all;
    struct lk_link bindings; /* ring */
    struct lk_link blocked;  /* ring */
    struct lk_hash_table blocked_by_tag;
    struct lk_link undurable; /* in the ring of sessions that hold answers back; alone: holds
                               * none */
    uint64_t last_batch;      /* the highest batch that an answer depends on */
    uint64_t answered_batch; /* the batch that let its last answers leave; 0: it has called since */
    char owner_text[64];
};

struct lk_core {
    struct lk_core_config config;
    char epoch[LK_CORE_EPOCH_BYTES_MAX + 1];
    struct lk_model *model; /* NULL: it was given up, or is not loaded yet */
    lk_audit *audit;
    uint64_t audit_first;    /* number of its first entry: cursors of pages count from it */
    struct lk_quotas quotas; /* R22: as stored */
    struct lk_event_log event_log;
    uint64_t generation;   /* how many models were given up */
    struct lk_times times; /* of the current call */
    bool is_stopping;
    bool is_draining;

    struct lk_link sessions; /* rings */
    struct lk_link undurable;
    uint64_t answered_batch;  /* the last durable one */
    size_t awaited;           /* sessions that it has answered, and that have not called since */
    struct lk_link following; /* calls that block for events */
    struct lk_link holders;   /* calls that block for breaks */
    bool has_broken;          /* since they were answered last */
    uint64_t next_session;
    struct lk_session orphans; /* owns requests in a snapshot that are bound to closed
                                * connections */

    struct lk_binding **bindings; /* by reference */
    size_t binding_capacity;
    struct lk_binding *spare_binding; /* allocated before the step that may need them */
    struct lk_blocked *spare_blocked;
    struct lk_timer **timers; /* a heap, the earliest first */
    size_t timer_count;
    size_t timer_capacity;
    struct lk_waiting_queues queues;
    struct lk_waiting_queue *ready; /* the list of those whose claims are to be tried */

    struct lk_collection collection;
    uint64_t collecting;        /* number of the open batch */
    uint64_t writing;           /* number of the batch that is being written; 0: none */
    bool is_void;               /* the batch being written belongs to a model that was given up */
    int64_t try_write_after_us; /* no probe write before this time */
    char leader[LK_CORE_LEADER_BYTES_MAX + 1]; /* another service that leads; empty: none */
    int64_t renew_due_us;                      /* fenced: a batch is due by then, changes or not */

    struct lk_core_stats stats;
    struct lk_tally tally;
    struct lk_contention contention;
    char identity[LK_IDENTITY_BYTES_MAX];  /* of the owner of the call */
    struct lk_record record;               /* scratch space; too large for the stack */
    struct lk_answer claims[LK_TAKES_MAX]; /* of the call that claims several items */
};

/* ---- core.c ---------------------------------------------------------------------------------- */

/*
 * Runs one step of the model at the present time, collects what it changed, adds its events, and
 * answers the calls that wait for a request that it changed. NULL: the model was given up on the
 * way. The effects are valid until the next step.
 */
const struct lk_effects *lk_core_step(struct lk_core *core, struct lk_command *command);

/* Whether the request that is asked for again still lives under that ticket. */
bool lk_core_has_ticket(const struct lk_core *core, const struct lk_ask *ask, uint64_t ticket);

/* Answers a call whose decisions were lost with the model. */
void lk_core_refuse_unwritten(struct lk_core *core, struct lk_session *session, uint64_t tag);

/* Answers a session's call. Without a model: an outcome and its message. */
void lk_core_answer(struct lk_core *core, struct lk_session *session, uint64_t tag,
                    const struct lk_answer *answer);

/* The same with more fields in the reply; the fields common to all are filled in. */
void lk_core_reply(struct lk_core *core, struct lk_session *session, uint64_t tag,
                   struct lk_reply *reply);
void lk_core_refuse(struct lk_core *core, struct lk_session *session, uint64_t tag,
                    lk_outcome outcome, const char *text);

/*
 * Apply deadlines that have passed; lk_core_tick_model() also delays of items. false: the model was
 * dropped.
 */
bool lk_core_apply_deadlines(struct lk_core *core);
bool lk_core_tick_model(struct lk_core *core);

/* Completes a call: serves every waiting claim and every follower that can be served now. */
void lk_core_serve_waiters(struct lk_core *core);

/* R18: binds the request to the session. Room for the binding is reserved. */
void lk_core_bind(struct lk_core *core, struct lk_session *session, lk_ref request);

/* The decisions cannot be written: returns to the last durable state. Frees the model. */
void lk_core_drop_model(struct lk_core *core, const char *why);

/* ---- fence.c --------------------------------------------------------------------------------- */

/* The batch that an answer given now depends on; 0: none. */
uint64_t lk_core_depends_on(struct lk_core *core);
void lk_core_hold_back(struct lk_core *core, struct lk_session *session, uint64_t batch);

/* The batch, which is durable, has let the session's answers leave; and: it has called again. */
void lk_core_await(struct lk_core *core, struct lk_session *session, uint64_t batch);
void lk_core_await_no_more(struct lk_core *core, struct lk_session *session);

/* When the next commit is due to renew the lease of the one that leads; LK_NEVER: at no time. */
int64_t lk_fence_due(const struct lk_core *core);
void lk_fence_tick(struct lk_core *core);
void lk_fence_taken(struct lk_core *core); /* a batch was taken: its commit renews the lease */

/* There is a model. If another service has led since the last one, the requests that sessions of
 * this one were bound to have ended. */
void lk_fence_restore(struct lk_core *core, const struct lk_core_snapshot *snapshot);

/* ---- checks.c: what the model need not see --------------------------------------------------- */

/* Whether the core drains and the call would make a new request: the call is then answered. */
bool lk_core_refuses_new(struct lk_core *core, struct lk_session *session,
                         const struct lk_call *call);

/* Whether the bytes that a command stores, if any, fit within the bound. */
bool lk_core_has_room(const struct lk_core *core, const struct lk_command *command);

/* ---- sessions.c ------------------------------------------------------------------------------ */

void lk_sessions_init(struct lk_core *core);

/*
 * Whether the owner that the call names is not the name of another connection; else the call is
 * answered DENIED. Names of connections can be foreseen: taken in advance, they would keep later
 * connections out.
 */
bool lk_core_check_connection_owner(struct lk_core *core, struct lk_session *session,
                                    const struct lk_call *call);

/* ---- bindings.c ------------------------------------------------------------------------------ */

/* Reserves a binding for whatever request the next step names. false: memory is exhausted. */
bool lk_bindings_reserve(struct lk_core *core);

/* The request's binding, or NULL; and the existing one, or else a new one (reserved). */
struct lk_binding *lk_binding_find(const struct lk_core *core, lk_ref request);
struct lk_binding *lk_binding_make(struct lk_core *core, lk_ref request);
void lk_binding_bind(struct lk_core *core, struct lk_binding *binding, struct lk_session *session);
void lk_binding_unbind(struct lk_core *core, struct lk_binding *binding);

/* Fills in what the core keeps of a request besides its record: an lk_describe_request. */
void lk_bindings_describe(void *core, lk_ref request, struct lk_row *row);

/* R18: a bound request that names no ttl lives as long as its session: sets the longest ttl. */
void lk_binding_set_ttl(struct lk_command *command);

/* Frees the binding if no session is bound to it and no call waits for it. */
void lk_binding_drop(struct lk_core *core, struct lk_binding *binding);

/*
 * Fills core->record with the request, and names it as a command does: by its owner and its paths.
 * The owner is copied to ret_owner, because a step may move the model's own bytes. The paths are
 * those in core->record.
 */
struct lk_target lk_core_target(struct lk_core *core, lk_ref request,
                                char ret_owner[LK_IDENTITY_BYTES_MAX]);

/*
 * R12: a renewal or release by its token alone becomes one by the owner of the lease with that
 * token, whose name is copied to ret_owner. Without such a lease the owner stays as it is: the
 * connection's, which may repeat a release of its own (R3), or none, and then this is false.
 */
bool lk_core_name_holder(struct lk_core *core, struct lk_command *command,
                         char ret_owner[LK_IDENTITY_BYTES_MAX]);

/* The requests bound to the session perish (R18). */
void lk_bindings_end_session(struct lk_core *core, struct lk_session *session);

/* There is no model: the bindings keep the ids of their requests for the next one. */
void lk_bindings_suspend(struct lk_core *core);

/* Every request that a session is bound to has ended without it. */
void lk_bindings_forget(struct lk_core *core);

/* There is a model: binds these requests. false: memory is exhausted. */
bool lk_bindings_resume(struct lk_core *core, uint64_t *bound, size_t count);

/* ---- checks.c: users and owners -------------------------------------------------------------- */

/*
 * With users: whether the call is allowed by the rules of its user; else it is answered DENIED. A
 * break is recorded under the name of its user.
 */
bool lk_core_permit(struct lk_core *core, struct lk_session *session, struct lk_call *call);

/*
 * Checks the owner of a call, and with users replaces it by its identity, which is in
 * core->identity until the next call. false: the call is answered.
 */
bool lk_core_identify(struct lk_core *core, struct lk_session *session, struct lk_call *call);

/* Whether the identity that the call now has is one of its user; without users it is. */
bool lk_core_is_of_user(const struct lk_core *core, const struct lk_call *call);

/*
 * With users: replaces the owner that a break selects by its identity. It is named as USER//OWNER,
 * or as OWNER where no two users have it. false: the call is answered.
 */
bool lk_core_find_broken(struct lk_core *core, struct lk_session *session, struct lk_call *call);

/* ---- blocked.c ------------------------------------------------------------------------------- */

/* Reserves one more blocked call for the session; if that fails, answers the call. */
bool lk_blocked_reserve(struct lk_core *core, struct lk_session *session,
                        const struct lk_call *call);

/* The reserved one, added to the session's list. */
struct lk_blocked *lk_blocked_new(struct lk_core *core, struct lk_session *session,
                                  const struct lk_call *call);

/* The session's blocked call of this tag. NULL: there is none. */
struct lk_blocked *lk_blocked_find(const struct lk_session *session, uint64_t tag);

/* The request was queued, and its call blocks. */
void lk_blocked_ask(struct lk_core *core, struct lk_session *session, const struct lk_call *call,
                    const struct lk_answer *answer);

/* Answers the calls that wait for the changed request. */
void lk_blocked_on_change(struct lk_core *core, const struct lk_effects *effects,
                          const struct lk_change *change);

/* Its timer has fired: refreshes the request, or ends the wait. */
void lk_blocked_due(struct lk_core *core, struct lk_blocked *blocked);

/* Ends a wait without an answer. `is_withdrawn`: the request that the call created ends, too. */
void lk_blocked_cancel(struct lk_core *core, struct lk_blocked *blocked, bool is_withdrawn);

/* Removes it from all lists, and frees it. */
void lk_blocked_free(struct lk_core *core, struct lk_blocked *blocked);

/* Answers every blocked call with this outcome. */
void lk_blocked_refuse_all(struct lk_core *core, lk_outcome outcome, const char *text);

/* ---- claim_waiters.c ------------------------------------------------------------------------- */

/* The claim was BUSY, and its call blocks. false: memory is exhausted. */
bool lk_claim_waiters_block(struct lk_core *core, struct lk_session *session,
                            const struct lk_call *call);

/* Marks the queues ready that the change may let a claim succeed at. */
void lk_claim_waiters_on_change(struct lk_core *core, const struct lk_change *change);
void lk_claim_waiters_due(struct lk_core *core, struct lk_waiting_queue *queue);

/* Tries the claims at ready queues until none can succeed. */
void lk_claim_waiters_drain(struct lk_core *core);

/* A blocked claim has left the queue, which is freed with its last one. */
void lk_claim_waiters_leave(struct lk_core *core, struct lk_waiting_queue *queue);

/* No claim waits any more: frees the ready queues. */
void lk_claim_waiters_clear(struct lk_core *core);

/* ---- series.c -------------------------------------------------------------------------------- */

/*
 * Answers a take that was granted: with its claim, or with those of several items, which are
 * claimed here, at the same time and in the same batch. Binds them to the session if `is_bound`.
 */
struct lk_taker {
    struct lk_session *session;
    uint64_t tag; /* these three as in the call */
    size_t claims;
    bool is_bound;
};
void lk_core_answer_take(struct lk_core *core, const struct lk_taker *taker,
                         const struct lk_take *take, const struct lk_answer *first);

/* Ends or drops several items, and answers the call. */
void lk_core_end_items(struct lk_core *core, struct lk_session *session,
                       const struct lk_call *call);

/* ---- event_log.c ----------------------------------------------------------------------------- */

/* Adds the events of a step, if events are kept. */
void lk_event_log_add(struct lk_core *core, const struct lk_command *command,
                      const struct lk_effects *effects);

/* Called after events were added: answers the calls that wait for them. Without a store every event
 * is durable at once, and the watchers are notified here, too. */
void lk_event_log_serve(struct lk_core *core);

/* A follower asks for events. `stays`: it counts until lk_event_log_unfollow(). */
void lk_event_log_follow(struct lk_core *core, bool stays);
void lk_event_log_unfollow(struct lk_core *core);

/* R22: the configured bounds over the kept ones become those of the model, which is there. */
void lk_core_apply_quotas(struct lk_core *core);

/* So many events are kept at all times; 0: only for followers. */
void lk_event_log_bound(struct lk_core *core, size_t kept_max);

/* Fills in the position of the event log for a batch. */
void lk_event_log_fill(const struct lk_core *core, struct lk_batch_events *ret_events);
void lk_event_log_durable(struct lk_core *core, uint64_t batch);

/* Drops the events that are not durable. */
void lk_event_log_void(struct lk_core *core);

/* This service does not lead: there will be no events here. */
void lk_event_log_end_watchers(struct lk_core *core);

/* Takes over the loaded events. */
void lk_event_log_restore(struct lk_core *core, struct lk_event_log_snapshot *snapshot);

/* The service stops. */
void lk_event_log_stop(struct lk_core *core);
void lk_event_log_done(struct lk_event_log *event_log);

/* Whether an event after *looked matches the query; advances *looked past those that do not. */
bool lk_event_log_has(const struct lk_core *core, const struct lk_event_query *query,
                      uint64_t *looked);

/* The answer to a query, for lk_event_page_free(). NULL: memory is exhausted. */
struct lk_event_page *lk_event_log_ask(const struct lk_core *core,
                                       const struct lk_event_query *query);

/* Records in the audit what a break ended or revoked, with the administrator and the reason. */
void lk_core_audit_break(struct lk_core *core, const struct lk_break *broken,
                         const struct lk_effects *effects);

/* ---- follow.c -------------------------------------------------------------------------------- */

void lk_core_events(struct lk_core *core, struct lk_session *session, const struct lk_call *call);
void lk_core_limits(struct lk_core *core, struct lk_session *session, const struct lk_call *call);

/* Answers a blocked call for events with the matching events, of which there may be none. */
void lk_follower_answer(struct lk_core *core, struct lk_blocked *blocked);

/* Answers the calls for which there are events. */
void lk_followers_drain(struct lk_core *core);

/* R12: a call for the leases that were broken, which may block; the answer to one that does. */
void lk_core_revoked(struct lk_core *core, struct lk_session *session, const struct lk_call *call);
void lk_break_waiter_answer(struct lk_core *core, struct lk_blocked *blocked);

/* Answers all of them, if there was a break. */
void lk_break_waiters_drain(struct lk_core *core);

#endif
