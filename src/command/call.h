/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a service can be asked, and what it came to: the commands of docs/wire.md once they are
 * understood, whichever door they came through. Decided by server/core.h.
 */
#ifndef LK_COMMAND_CALL_H
#define LK_COMMAND_CALL_H

#include "engine/happening.h"
#include "lockkeeper/lockkeeper.h"
#include "model/model.h"

enum lk_call_kind {
    LK_CALL_ASK,     /* .ask; with style LK_WAIT it blocks for up to wait_ms */
    LK_CALL_RENEW,   /* .renew */
    LK_CALL_RELEASE, /* .release */
    LK_CALL_BREAK,   /* .broken, and `by` and `reason` for the record */
    LK_CALL_PUT,     /* .put: also deletes a value */
    LK_CALL_PUSH,    /* .push */
    LK_CALL_TAKE,    /* .take; blocks for up to wait_ms; 0: a try */
    LK_CALL_FINISH,  /* .finish */
    LK_CALL_UNPARK,  /* .unpark */
    LK_CALL_LIMITS,  /* .limits: sets those that are not LK_LIMIT_AS_IS; R22 */

    /* These change nothing but what is overdue. The answer is read from the reply's model. */
    LK_CALL_GET,   /* .path: a value */
    LK_CALL_LIST,  /* .path, or everything */
    LK_CALL_SHOW,  /* .path */
    LK_CALL_ITEMS, /* .path: a queue */
    LK_CALL_STATS, /* .path: a queue */
    LK_CALL_AUDIT, /* .path, or everything: from the reply's audit */
    LK_CALL_INFO,  /* the reply's model, and lk_core_stats() */

    /* R21: what has happened behind `after` (0: from now on) at or below .path, or everywhere;
     * blocks for up to wait_ms until there is any. */
    LK_CALL_EVENTS,
};

struct lk_call {
    enum lk_call_kind kind;
    uint64_t tag;        /* the door's own: comes back with the answer */
    int64_t wait_ms;     /* ASK with LK_WAIT, TAKE, EVENTS; LK_NEVER: for ever */
    bool is_bound;       /* ASK, TAKE: what is granted or queued ends with the session (R18) */
    uint64_t ticket;     /* ASK: not 0: only if it lives under this ticket already; else LOST */
    bool ends_withdrawn; /* ASK with LK_WAIT: closing the session while it blocks withdraws what it
                            put in line, as TIMEOUT does. false: it stays until its ttl, for the
                            client who reconnects and asks again (R3) */
    uint64_t after;      /* EVENTS */
    size_t count;        /* EVENTS: so many in one answer, at least 1 */
    struct lk_slice by;  /* BREAK */
    struct lk_slice reason;
    union {
        struct lk_ask ask;
        struct lk_renew renew;
        struct lk_release release;
        struct lk_break broken;
        struct lk_put put;
        struct lk_push push;
        struct lk_take take;
        struct lk_finish finish;
        struct lk_unpark unpark;
        lk_limits limits;
        struct {
            bool has_path; /* false: everything */
            struct lk_path path;
        };
    };
};

/*
 * What a call came to. Model, references and texts are valid during the callback only; so the door
 * encodes at once, straight from the model or with engine/reply.h:
 *     lk_result_from_effects(reply->model, &(struct lk_effects){.answer = *reply->answer}, ...)
 */
struct lk_reply {
    enum lk_call_kind kind;
    const struct lk_answer *answer; /* its outcome is LK_TIMEOUT too where a wait was over */
    const struct lk_model *model;   /* NULL: there is none just now (UNAVAILABLE, FULL) */
    const struct lk_times *times;   /* of the decision */
    const lk_audit *audit;          /* LK_CALL_AUDIT: all of it, oldest first */
    const struct lk_happenings *happenings; /* LK_CALL_EVENTS */
    const lk_limits *limits;                /* LK_CALL_LIMITS: that hold now */
};

#endif
