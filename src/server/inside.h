/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the core, for the files that make it up: core.c (calls and batches), sessions.c,
 * blocked.c (asks that wait), takers.c (claims that wait), ties.c (what requests mean to sessions),
 * history.c (what has happened), follow.c (calls about that, and about bounds).
 *
 *   session   one connection; its ties, its blocked calls
 *   tie       a live request that somebody connected cares about: bound, waited for, or both
 *   blocked   a call that is answered later
 *   waiting queue   a path at which blocked claims wait for work, in their order
 */
#ifndef LK_SERVER_INSIDE_H
#define LK_SERVER_INSIDE_H

#include <assert.h>

#include "server/collect.h"
#include "server/core.h"
#include "server/history.h"
#include "server/image.h"

enum {
    LK_BLOCKERS_TOLD_MAX = 16, /* named in the answer to a wait that is over */
    LK_QUEUE_BUCKETS = 1024,
};

/* Something with an instant at which it is looked at again; in the heap unless that is LK_NEVER. */
struct lk_timed {
    int64_t due_us;
    size_t at; /* in the heap, plus 1; 0: not in it */
    bool is_queue;
};

struct lk_link {
    struct lk_link *previous;
    struct lk_link *next;
};

struct lk_tie {
    lk_ref request; /* 0: the model is away */
    uint64_t id;
    struct lk_session *session; /* it is bound to; NULL: to none */
    struct lk_link in_session;
    struct lk_link blocked; /* ring of the asks that wait for it */
};

struct lk_blocked {
    struct lk_timed timed; /* first */
    enum lk_call_kind kind;
    struct lk_session *session;
    struct lk_link in_session;
    struct lk_link in_line; /* of the tie, of the waiting queue, or of those who follow */
    uint64_t tag;
    int64_t until_us;

    /* An ask: */
    struct lk_tie *tie;
    bool created; /* by this very call: it withdraws what it leaves */
    bool ends_withdrawn;
    bool wants_value;
    size_t blockers_max;

    /* A claim: */
    struct lk_waiting_queue *queue;
    bool is_bound;
    struct lk_take take; /* its slices point into `text` */

    /* A call for events: */
    struct lk_event_query query;
    struct lk_path prefix; /* its bytes are in `text` */
    uint64_t looked;       /* up to here there was nothing for it */
    char text[];
};

struct lk_waiting_queue {
    struct lk_timed timed; /* first: when the next delayed item is due */
    struct lk_path path;
    struct lk_link blocked;           /* ring */
    struct lk_waiting_queue *next;    /* of the same bucket */
    struct lk_waiting_queue *stirred; /* the next one that may have something to claim */
    bool is_stirred;
    bool heeds_every_end; /* items of it need locks that may be anywhere */
    char text[LK_PATH_BYTES_MAX];
};

struct lk_session {
    const struct lk_session_ops *ops;
    void *peer;
    uint64_t number;
    struct lk_slice owner;
    struct lk_link all;
    struct lk_link ties;    /* ring */
    struct lk_link blocked; /* ring */
    uint32_t blocked_count;
    struct lk_link unsettled; /* in the ring of those who hold answers back; alone: does not */
    uint64_t last_batch;      /* the greatest that an answer depends on */
    char owner_text[64];
};

struct lk_core {
    struct lk_core_config config;
    char epoch[LK_CORE_EPOCH_BYTES_MAX + 1];
    struct lk_model *model; /* NULL: away */
    lk_audit *audit;
    struct lk_quotas quotas; /* R22: as they are kept */
    struct lk_history history;
    uint64_t generation;   /* how many models were given up */
    struct lk_times times; /* of the call in hand */
    bool is_stopping;

    struct lk_link sessions; /* rings */
    struct lk_link unsettled;
    struct lk_link following; /* calls that block for events */
    uint64_t next_session;
    struct lk_session orphans; /* bound to connections that are gone: found in an image */

    struct lk_tie **ties; /* by reference */
    size_t tie_capacity;
    struct lk_tie *spare_tie; /* taken before the step that may need them */
    struct lk_blocked *spare_blocked;
    struct lk_timed **timed; /* a heap, the earliest first */
    size_t timed_count;
    size_t timed_capacity;
    struct lk_waiting_queue *queues[LK_QUEUE_BUCKETS];
    struct lk_waiting_queue *stirred;
    size_t waiting_queues;
    size_t heeding_queues; /* of these: that heed every end */

    struct lk_collection collection;
    uint64_t collecting; /* number of the open batch */
    uint64_t writing;    /* number of the batch that is being written; 0: none */
    bool is_void;        /* the batch being written is of a model that was given up */

    struct lk_core_stats stats;
    struct lk_record record; /* in hand; too large for the stack */
};

/* ---- rings ---- */

static inline void lk_link_init(struct lk_link *link) {
    link->previous = link;
    link->next = link;
}

static inline bool lk_link_is_alone(const struct lk_link *link) {
    return link->next == link;
}

static inline void lk_link_remove(struct lk_link *link) {
    link->previous->next = link->next;
    link->next->previous = link->previous;
    lk_link_init(link);
}

/* Puts a link that is alone at the end of the ring. */
static inline void lk_link_append(struct lk_link *ring, struct lk_link *link) {
    link->previous = ring->previous;
    link->next = ring;
    ring->previous->next = link;
    ring->previous = link;
}

#define LK_LINK_ITEM(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

/* ---- core.c ---- */

/*
 * One step of the model at the present time: collects what it changed, tells who watches, and
 * answers who waited for one of the requests it changed. NULL: the model was given up on the way.
 * The effects stay readable until the next step.
 */
const struct lk_effects *lk_core_step(struct lk_core *core, struct lk_event *event);

/* Whether the request that is asked for again is there still, and is the one that is meant. */
bool lk_core_lives_under(const struct lk_core *core, const struct lk_ask *ask, uint64_t ticket);

/* Answers a session's call. Without a model: an outcome and its sentence. */
void lk_core_answer(struct lk_core *core, struct lk_session *session, uint64_t tag,
                    enum lk_call_kind kind, const struct lk_answer *answer);

/* The same with more in the reply than that; what is common to all is filled in. */
void lk_core_reply(struct lk_core *core, struct lk_session *session, uint64_t tag,
                   struct lk_reply *reply);
void lk_core_refuse(struct lk_core *core, struct lk_session *session, uint64_t tag,
                    enum lk_call_kind kind, lk_outcome outcome, const char *text);

/* What time has brought about by now. false: the model was given up. */
bool lk_core_pass_time(struct lk_core *core, enum lk_call_kind kind);

/* What was begun is ended: who waits for work, or follows, and now can be served, is. */
void lk_core_settle(struct lk_core *core);

/* R18: the request ends with the session. There is room for the tie. */
void lk_core_bind(struct lk_core *core, struct lk_session *session, lk_ref request);

/* The batch that whatever is said now depends on; 0: none. */
uint64_t lk_core_depends_on(struct lk_core *core);
void lk_core_hold_back(struct lk_core *core, struct lk_session *session, uint64_t batch);

/* What was decided cannot be written: back to what was. The model is gone. */
void lk_core_give_up(struct lk_core *core, const char *why);

/* ---- sessions.c ---- */

void lk_sessions_init(struct lk_core *core);

/* ---- ties.c ---- */

/* Room for a tie to whatever the next step names. false: memory is exhausted. */
bool lk_ties_reserve(struct lk_core *core);

/* The request's tie, 0: there is none; and the one there is, or else a new one (reserved). */
struct lk_tie *lk_tie_find(const struct lk_core *core, lk_ref request);
struct lk_tie *lk_tie_make(struct lk_core *core, lk_ref request);
void lk_tie_bind(struct lk_core *core, struct lk_tie *tie, struct lk_session *session);
void lk_tie_unbind(struct lk_core *core, struct lk_tie *tie);

/* Frees it if nobody cares any more. */
void lk_tie_drop(struct lk_core *core, struct lk_tie *tie);

/* What is bound to the session perishes (R18). */
void lk_ties_leave(struct lk_core *core, struct lk_session *session);

/* The model is away: the ties wait for the next one by the ids of their requests. */
void lk_ties_suspend(struct lk_core *core);

/* The model has come: these are bound. false: memory is exhausted. */
bool lk_ties_resume(struct lk_core *core, uint64_t *bound, size_t count);

/* ---- heap.c ---- */

bool lk_timed_reserve(struct lk_core *core, size_t count);
void lk_timed_set(struct lk_core *core, struct lk_timed *timed, int64_t due_us);
struct lk_timed *lk_timed_first(const struct lk_core *core);

/* ---- blocked.c ---- */

/* Room for one more blocked call of the session; else it is answered. */
bool lk_blocked_reserve(struct lk_core *core, struct lk_session *session,
                        const struct lk_call *call);

/* The reserved one, in the session's list. */
struct lk_blocked *lk_blocked_new(struct lk_core *core, struct lk_session *session,
                                  const struct lk_call *call);

/* The ask stands in line, and its call waits. */
void lk_blocked_ask(struct lk_core *core, struct lk_session *session, const struct lk_call *call,
                    const struct lk_answer *answer);

/* What a change means to those who wait for its request. */
void lk_blocked_heed(struct lk_core *core, const struct lk_effects *effects,
                     const struct lk_change *change);

/* Its instant has come: refreshes it, or ends the wait. */
void lk_blocked_due(struct lk_core *core, struct lk_blocked *blocked);

/* Nobody waits any more: `is_withdrawn`: and what it put in line goes. */
void lk_blocked_cancel(struct lk_core *core, struct lk_blocked *blocked, bool is_withdrawn);

/* Takes it out of everything, and frees it. */
void lk_blocked_free(struct lk_core *core, struct lk_blocked *blocked);

/* Answers every blocked call with this outcome. */
void lk_blocked_refuse_all(struct lk_core *core, lk_outcome outcome, const char *text);

/* ---- takers.c ---- */

/* The take was BUSY, and its call waits. false: memory is exhausted. */
bool lk_taker_block(struct lk_core *core, struct lk_session *session, const struct lk_call *call);

/* What a change means to those who wait for work. */
void lk_takers_heed(struct lk_core *core, const struct lk_change *change);
void lk_queue_due(struct lk_core *core, struct lk_waiting_queue *queue);

/* Lets those claim who may be able to, until nobody is. */
void lk_takers_drain(struct lk_core *core);

/* A blocked claim leaves its queue, which goes with the last of them. */
void lk_taker_leave(struct lk_core *core, struct lk_waiting_queue *queue);

/* Nobody waits any more: forgets what is stirred. */
void lk_takers_forget(struct lk_core *core);

/* ---- history.c ---- */

/* Keeps what a step did, if somebody wants to know, or a bound says so. */
void lk_history_tell(struct lk_core *core, const struct lk_event *event,
                     const struct lk_effects *effects);

/* Tells those who follow, once whatever led to it is over. */
void lk_history_settle(struct lk_core *core);

/* Somebody asks for events, and `stays`: until lk_history_unfollow(). */
void lk_history_follow(struct lk_core *core, bool stays);
void lk_history_unfollow(struct lk_core *core);

/* So many are kept at all times; 0: only while somebody follows. */
void lk_history_bound(struct lk_core *core, size_t kept_max);

/* What a batch says of events. */
void lk_history_fill(const struct lk_core *core, struct lk_batch_events *ret_events);
void lk_history_durable(struct lk_core *core, uint64_t batch);

/* What is not durable has not happened. */
void lk_history_void(struct lk_core *core);

/* Takes over what was loaded. false: memory is exhausted. */
bool lk_history_restore(struct lk_core *core, struct lk_history_image *image);

/* The service ends. */
void lk_history_stop(struct lk_core *core);
void lk_history_done(struct lk_history *history);

/* Whether there is anything for the query behind *looked, which moves on over what is not. */
bool lk_history_has(const struct lk_core *core, const struct lk_event_query *query,
                    uint64_t *looked);

/* The answer to a query, for lk_happenings_free(). NULL: memory is exhausted. */
struct lk_happenings *lk_history_ask(const struct lk_core *core,
                                     const struct lk_event_query *query);

/* ---- follow.c ---- */

void lk_core_events(struct lk_core *core, struct lk_session *session, const struct lk_call *call);
void lk_core_limits(struct lk_core *core, struct lk_session *session, const struct lk_call *call);

/* Answers a blocked call for events with what there is, which may be nothing. */
void lk_follower_answer(struct lk_core *core, struct lk_blocked *blocked);

/* Answers those for whom there is something. */
void lk_followers_drain(struct lk_core *core);

#endif
