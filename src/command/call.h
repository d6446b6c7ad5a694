/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a service and their replies: the commands of docs/wire.md after parsing, the same
 * for every listener. Handled by server/core/core.h.
 */
#ifndef LK_COMMAND_CALL_H
#define LK_COMMAND_CALL_H

#include "access/users.h"
#include "engine/event.h"
#include "lockkeeper/lockkeeper.h"
#include "model/model.h"

enum lk_call_kind {
    LK_CALL_COMMAND, /* .command: decided by the model */
    LK_CALL_LIMITS,  /* .limits: sets those that are not LK_LIMIT_AS_IS; R22 */

    /* These only apply what is overdue. The answer is read from the reply's model. */
    LK_CALL_GET,    /* .selection: a value */
    LK_CALL_LIST,   /* .selection: requests at or below a path, or everywhere */
    LK_CALL_SHOW,   /* .selection: requests related to a path */
    LK_CALL_ITEMS,  /* .selection: a queue */
    LK_CALL_STATS,  /* .selection: a queue */
    LK_CALL_QUEUES, /* .selection: queues at or below a path, or everywhere */
    LK_CALL_VALUES, /* .selection: values at or below a path, or everywhere */
    LK_CALL_DOUBTS, /* .selection: values in doubt at or below a path, or everywhere */
    LK_CALL_AUDIT,  /* .selection: a path, or everything; from the reply's audit */
    LK_CALL_INFO,   /* the reply's model, and lk_core_stats() */

    /* R12: .selection: the tokens of leases that were broken after the break of number `after`;
     * blocks for up to wait_ms until there is such a break. From the reply's audit. */
    LK_CALL_REVOKED,

    /* R21: .selection: events after `after` at or below a path, or everywhere; blocks for up to
     * wait_ms until there are any. */
    LK_CALL_EVENTS,
};

/* Which records are read, and how many at a time. */
struct lk_selection {
    bool has_path; /* false: all paths */
    struct lk_path path;
    bool is_paged;               /* a COUNT or a CURSOR was given */
    size_t count;                /* records in one answer, at least 1 */
    struct lk_standing behind;   /* the page begins after it */
    uint64_t after;              /* EVENTS: after this number; 0: from now on. REVOKED: the
                                  * same of breaks; 0: some of the last */
    bool is_parked;              /* ITEMS: parked ones only */
    struct lk_slice only_id;     /* ITEMS: the one with this id; empty: all; the draft's */
    struct lk_slice behind_path; /* QUEUES, VALUES, DOUBTS: in place of `behind`; the draft's */
};

struct lk_call {
    enum lk_call_kind kind;
    enum lk_right right;        /* that it needs, as its command declares */
    const struct lk_user *user; /* whose call it is; NULL: the service has no users, or the client
                                 * is none of them */
    uint64_t tag;               /* chosen by the listener; comes back with the answer */
    int64_t wait_ms;            /* an ask with LK_WAIT: blocks for so long, more than 0; LK_NEVER:
                          * without limit. A take, EVENTS, REVOKED: the same; 0: answered at once */
    bool is_bound;    /* the request that an ask or a take makes ends with the session (R18) */
    uint64_t ticket;  /* an ask: if not 0, only if its request already lives under this
                          * ticket; else LOST */
    bool is_by_token; /* a renewal or release that names no owner: it is that of the lease
                          * with its token, if there is one */
    size_t claims;    /* a take: claims up to so many items in one decision; 0: one, which
                          * is answered as such */
    const struct lk_slice *ids; /* a finish as done or a drop of several items: all their ids; */
    size_t id_count;            /* the command has the first. 0: it is about one */
    bool ends_withdrawn; /* an ask with LK_WAIT: closing the session while it blocks withdraws
                          * the request that it queued, as TIMEOUT does. false: the request stays
                          * until its ttl, for a client that reconnects and asks again (R3) */
    union {
        struct lk_command command; /* the core sets its times */
        lk_limits limits;
        struct lk_selection selection;
    };
};

/* Whether the call is a command of this kind. */
static inline bool lk_call_is(const struct lk_call *call, enum lk_command_kind kind) {
    return call->kind == LK_CALL_COMMAND && call->command.kind == kind;
}

/*
 * The reply to a call. Model, references and texts are valid during the callback only, so the
 * listener encodes them at once, straight from the model or with engine/reply/reply.h.
 */
struct lk_reply {
    const struct lk_answer *answer;   /* its outcome is LK_TIMEOUT also when a wait was over */
    const struct lk_model *model;     /* NULL: there is none now (UNAVAILABLE, FULL) */
    const struct lk_times *times;     /* the time of the decision */
    const lk_audit *audit;            /* the whole audit, oldest first */
    uint64_t audit_first;             /* ... and the number of its first entry, from 1 on */
    const struct lk_event_page *page; /* LK_CALL_EVENTS */
    const lk_limits *limits;          /* LK_CALL_LIMITS: those now in force */
    const struct lk_answer *claims;   /* a take of several: each that is granted; `answer` is the
                                       * first, or says why there is none */
    size_t claim_count;
    const char *leader; /* UNAVAILABLE, because another service leads: where it is, as the store has
                         * it; NULL: for another reason */
    const struct lk_answer *refusal; /* ... and why there are not more; NULL: as many as asked */
    size_t ended; /* a finish or drop of several: how many were; `answer` is LOST if one was not */
};

#endif
