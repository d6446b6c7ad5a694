/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands that go into a step of the model, with their times and bounds.
 *
 * Everything that a command refers to is borrowed for the step.
 */
#ifndef LK_MODEL_COMMAND_H
#define LK_MODEL_COMMAND_H

#include <stdint.h>

#include "base/owner.h"
#include "model/part.h"

enum {
    /* What the model takes as an owner: a service with users puts the user in front of the owner
     * that it was given (access/identity.h). Callers of other stores check their own bound. */
    LK_IDENTITY_BYTES_MAX = LK_OWNER_BYTES_MAX + 66,
    LK_NOTE_BYTES_MAX = 255,
    LK_REASON_BYTES_MAX = 1024,
    LK_BREAKER_BYTES_MAX = 255,
    LK_AUDITS_MAX = 65536,           /* R12: breaks that a store keeps on record */
    LK_VALUE_BYTES_MAX = 65536,      /* R15, R16 */
    LK_NEEDS_MAX = LK_PARTS_MAX - 1, /* R16: what an item's work needs, beside the item itself */
    LK_ATTEMPTS_MAX = 1000000,
    LK_PRIORITY_MIN = -32768,
    LK_PRIORITY_MAX = 32767,
    LK_FAILURE_BYTES_MAX = 1024, /* R16: of the text of a failure */
    LK_TAKES_MAX = 256,          /* R16: claims of one decision */
    LK_BLOCKERS_MAX = 1024,      /* R20: named in one answer at most, whatever store gives it */
    LK_COUNTED_MIN = 64, /* R20: how many in the way of one request are counted if few are named */
    LK_COUNTED_MAX = LK_BLOCKERS_MAX, /* ... and if as many as possible are */
};

#define LK_TTL_MIN_MS INT64_C(50)
#define LK_TTL_MAX_DAYS 366
#define LK_TTL_MAX_MS (INT64_C(24) * 60 * 60 * 1000 * LK_TTL_MAX_DAYS)
#define LK_TTL_DEFAULT_MS INT64_C(60000)
#define LK_GRACE_MAX_MS INT64_C(60000) /* R11: after a restart, a holder has time to renew */
#define LK_NEVER INT64_MAX             /* an instant that does not come */

/*
 * Both clock readings of one step. Deadlines are on `now_us`, draws (R4) and `until` on `wall_us`.
 */
struct lk_times {
    int64_t now_us;  /* the store's clock (R11); never runs backwards */
    int64_t wall_us; /* microseconds of Unix time */
};

/* An owner and the paths of one of its requests (R3). Modes and limits are ignored. */
struct lk_target {
    struct lk_slice owner;
    const struct lk_part *parts;
    size_t part_count;
    uint64_t token; /* 0: not named */
    /* R14: of each part, where nodes have drawn one each; NULL: not known. Only src/client/batch.c
     * reads them, which names to a node its own. */
    const uint64_t *tokens;
    struct lk_slice batch; /* as in lk_ask */
};

struct lk_ask {
    struct lk_slice owner;
    const struct lk_part *parts;
    size_t part_count;
    lk_style style;   /* LK_WAIT: a call is blocked on it; its grant sets the deadline (R10) */
    int64_t ttl_ms;   /* 0: LK_TTL_DEFAULT_MS */
    int64_t until_us; /* wall clock; 0: none. Fixes the deadline (R11) */
    bool note_given;  /* false: a repeated ask keeps the note it has */
    struct lk_slice note;
    size_t blockers_max; /* how many blockers to name in the answer (R20), of LK_BLOCKERS_MAX;
                            0: none */
    bool wants_value;    /* R15: the values of all parts come with the grant */
    bool is_bound;       /* R18: for a service; the model does not read it */
    /*
     * R14: for stores that are asked root by root: all paths of the batch, which tell its parts
     * from other requests for the same paths. Empty: none. The model decides all parts together,
     * and is never given a batch.
     */
    struct lk_slice batch;
};

/* R15: what a release writes to the path of one of its parts. */
struct lk_release_put {
    size_t part; /* its index in the target */
    struct lk_slice bytes;
};

struct lk_release {
    struct lk_target target;
    /* R15: in the order of the parts, at most one a part. All are written, or none. */
    const struct lk_release_put *puts;
    size_t put_count;
};

/* R15: writes or deletes a value. Refused while another owner holds a lease that covers it. */
struct lk_put {
    struct lk_path path;
    struct lk_slice owner; /* empty: no owner of a lease */
    uint64_t token;        /* not 0: only while the owner's lease with this token covers the path */
    bool deletes;
    struct lk_slice bytes; /* unless it deletes */
};

/* What a push does with an item that is there already. */
enum lk_push_kind {
    LK_PUSH_NEW,     /* nothing: a duplicate */
    LK_PUSH_REPLACE, /* replaces it if it waits to be claimed */
    LK_PUSH_AGAIN,   /* replaces it unless it is claimed, else lets it follow its claim */
};

/* R16: adds an item, or does with one that has its id what its kind says. */
struct lk_push {
    enum lk_push_kind kind;
    struct lk_path queue;
    struct lk_slice id; /* one segment */
    struct lk_slice value;
    int64_t delay_ms;
    const struct lk_part *needs;
    size_t need_count;
    int32_t priority; /* the greater, the earlier it is claimed; then the oldest */
    int64_t keep_ms;  /* how long the item and its result are kept once it is done; 0: not */
};

/*
 * R16: leases the first item, by priority and then by age, that is due, not claimed and free to be
 * locked. A try.
 */
struct lk_take {
    struct lk_path queue;
    struct lk_slice owner;
    int64_t ttl_ms;        /* 0: LK_TTL_DEFAULT_MS */
    uint32_t max_attempts; /* 0: no maximum */
    uint64_t ask_number;   /* not 0: repeated with the same number it gives the same item */
    bool note_given;
    struct lk_slice note;
    bool is_try; /* a hint: its caller will not wait for an item, and need not be woken for one */
    /*
     * Not 0: the token of the first claim of the same decision, which this claim gets in place of a
     * draw. If a root of the item's parts has drawn a greater number (R4), nothing is claimed.
     */
    uint64_t share_token;
};

/*
 * The ask number of the take at this index, below LK_TAKES_MAX, of one ask for one or several
 * items. Clients and listeners number all takes so.
 */
static inline uint64_t lk_take_number(uint64_t ask_number, size_t index) {
    return ask_number * LK_TAKES_MAX + index;
}

enum lk_finish_kind {
    LK_FINISH_DONE,     /* the item is removed, or kept with its result */
    LK_FINISH_RETRY,    /* it is given back, after a delay */
    LK_FINISH_PROGRESS, /* it stays claimed, and has another progress */
};

/* R16: why an item is given back. Zeroed: it is not said. */
struct lk_item_failure {
    bool has_exit;
    int32_t exit_code;
    struct lk_slice text; /* any bytes; empty: none */
};

static inline bool lk_item_failure_is_given(const struct lk_item_failure *failure) {
    return failure->has_exit || failure->text.size > 0;
}

/* R16: ends a claim that is still held, or says how far its work is. */
struct lk_finish {
    struct lk_path queue;
    struct lk_slice id;
    struct lk_slice owner;
    uint64_t token; /* 0: not named */
    enum lk_finish_kind kind;
    /* These are of LK_FINISH_RETRY: */
    int64_t delay_ms;               /* not of an item that is parked */
    bool is_uncounted;              /* the attempt does not count, nor parks the item */
    bool parks;                     /* the item is parked, whatever its attempts */
    struct lk_item_failure failure; /* replaces the item's last one, if it is given */
    /* These are of LK_FINISH_DONE: */
    struct lk_slice result; /* takes the place of the item's value, if the item is kept */
    int64_t keep_ms;        /* as of a push; the longer of the two counts */
    /* This is of LK_FINISH_PROGRESS: */
    struct lk_slice progress; /* any bytes; empty: none any more */
};

/* R16: a parked item becomes ready again, its attempts forgotten. */
struct lk_unpark {
    struct lk_path queue;
    struct lk_slice id;
};

/* R16: removes an item that is not claimed. It does not count as done. */
struct lk_drop {
    struct lk_path queue;
    struct lk_slice id;
    bool only_parked; /* one in another state is left alone */
};

struct lk_renew {
    struct lk_target target;
    int64_t ttl_ms; /* 0: the request's own */
};

struct lk_break {
    struct lk_path path;   /* requests with a part at exactly this path */
    struct lk_slice owner; /* empty: of any owner */
    bool at_once;          /* R12 break now */
    /*
     * R16: `path` is that of an item, which is cancelled. Of the requests there only its claim is
     * broken. The item is removed when its claim ends, or now if it has none. LK_LOST: there is no
     * such item.
     */
    bool cancels;

    /* For the audit record of a store (R12); the model does not read them. */
    struct lk_slice by;
    struct lk_slice reason;
};

/*
 * R18: the connection that a request was bound to has closed. The request ends as if its deadline
 * were now. A claim is named by the path of its item, alone or with all needs. Or only the wait
 * that kept a request alive has ended (R10): its deadline stays, and a grant sets none.
 */
struct lk_leave {
    struct lk_target target;
    bool is_claim;
    bool is_of_wait;
};

enum lk_command_kind {
    LK_COMMAND_ASK,     /* R3, R7-R10, R13 */
    LK_COMMAND_RENEW,   /* R11: only what is held and not revoked; else LK_LOST */
    LK_COMMAND_RELEASE, /* R12: release or withdraw */
    LK_COMMAND_BREAK,   /* R12; R16: cancel */
    LK_COMMAND_TICK,    /* only lets time pass */
    LK_COMMAND_PUT,     /* R15: LK_OK, LK_BUSY, or LK_LOST where a token was named */
    LK_COMMAND_PUSH,    /* R16: LK_OK; answer.created says whether it was added */
    LK_COMMAND_TAKE,    /* R16: LK_GRANTED, or LK_BUSY: nothing to claim */
    LK_COMMAND_FINISH,  /* R16: LK_OK or LK_LOST */
    LK_COMMAND_UNPARK,  /* R16: LK_OK, or LK_LOST: no such parked item */
    LK_COMMAND_DROP,    /* R16: LK_OK, or LK_LOST: no such item, or it is claimed */
    LK_COMMAND_LEAVE,   /* R10, R18: LK_OK, or LK_LOST: there is no such request */
};

struct lk_command {
    enum lk_command_kind kind;
    struct lk_times times;
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
        struct lk_drop drop;
        struct lk_leave leave;
    };
};

#endif
