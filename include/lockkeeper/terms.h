/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lockkeeper/terms.h - the styles of a request, the outcomes of a call, and the kinds of events.
 *
 * Every call returns exactly one outcome, and every outcome has exactly one cause (rule R23 of
 * docs/rules.md). Included by lockkeeper/lockkeeper.h; an application includes only that header.
 */
#ifndef LOCKKEEPER_TERMS_H
#define LOCKKEEPER_TERMS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LK_PUBLIC __attribute__((visibility("default")))
#else
#define LK_PUBLIC
#endif

/* The three styles of a request (rule R10). */
typedef enum lk_style {
    LK_TRY = 0,   /* granted now, or BUSY and nothing new stays in the queue */
    LK_QUEUE = 1, /* granted now, or WAITING: queued until it perishes; repeat the call to stay */
    LK_WAIT = 2   /* blocks until granted, or for a given time */
} lk_style;

/* The values are part of the ABI: new ones are added at the end only. */
typedef enum lk_outcome {
    LK_OK = 0,           /* done; a call that grants nothing (renew, release, break, ...) */
    LK_GRANTED = 1,      /* the request is held: a lease */
    LK_WAITING = 2,      /* the request is in the queue; repeat the call to stay there */
    LK_BUSY = 3,         /* not granted, and nothing new stays in the queue */
    LK_TIMEOUT = 4,      /* not granted within the time given */
    LK_LOST = 5,         /* not held (any more); nothing was changed */
    LK_DEADLOCK = 6,     /* waiting would close a cycle of owners; nothing stays in the queue */
    LK_INVALID = 7,      /* the arguments of the call are wrong; the text says what and where */
    LK_DENIED = 8,       /* not allowed */
    LK_FULL = 9,         /* a configured bound is reached */
    LK_UNSUPPORTED = 10, /* this store cannot do that */
    LK_UNAVAILABLE = 11, /* the store cannot be reached; unknown whether the call took effect */
    LK_INTERNAL = 12,    /* a defect or exhausted memory; the text says where */
    LK_NONE = 13,        /* there is none (reading a value) */
    LK_CANCELLED = 14    /* lk_cancel_now() ended the wait; what the call had queued is withdrawn */
} lk_outcome;

enum { LK_OUTCOME_COUNT = 15, LK_ERROR_TEXT_MAX = 384 };

/* The kinds of events of a store (rule R21; watch.h). The values are part of the ABI: new ones are
 * added at the end only. */
typedef enum lk_watch_kind {
    LK_WATCH_QUEUED = 0,    /* a new request is in the queue */
    LK_WATCH_GRANTED = 1,   /* it is held */
    LK_WATCH_CONVERTED = 2, /* other modes, limits or units, or another place in the queue (R9) */
    LK_WATCH_RELEASED = 3,
    LK_WATCH_WITHDRAWN = 4, /* a waiting request, by its owner or by a deadlock */
    LK_WATCH_PERISHED = 5,
    LK_WATCH_BROKEN = 6,  /* by an administrator; a lease may still be held until its deadline */
    LK_WATCH_REFUSED = 7, /* a request, a put or a claim; `refusal` is the outcome */
    LK_WATCH_VALUE_WRITTEN = 8,
    LK_WATCH_PUSHED = 9,
    LK_WATCH_CLAIMED = 10, /* stands for the grant of the claim */
    LK_WATCH_STOLEN = 11,  /* claimed, where the former claim had perished */
    LK_WATCH_DONE = 12,    /* stands for the release of the claim, as RETRIED does */
    LK_WATCH_RETRIED = 13, /* given back by its claimant, to be claimed again */
    LK_WATCH_PARKED = 14,  /* given back or perished for the last time */
    LK_WATCH_UNPARKED = 15,
    LK_WATCH_GAP = 16,    /* the events up to `sequence` are not known (any more) */
    LK_WATCH_DROPPED = 17 /* removed without being claimed; not done */
} lk_watch_kind;

enum { LK_WATCH_KIND_COUNT = 18 };

/* The lower-case name: "queued", "value_written", "gap". Static storage; never NULL. */
LK_PUBLIC const char *lk_watch_kind_name(lk_watch_kind kind);

/* An outcome with an explanation. The text is empty when there is nothing to add. */
typedef struct lk_error {
    lk_outcome outcome;
    char text[LK_ERROR_TEXT_MAX];
} lk_error;

/* The lower-case name: "granted", "waiting", ... Static storage; never NULL. */
LK_PUBLIC const char *lk_outcome_name(lk_outcome outcome);

/* One sentence that explains the outcome in general. Static storage; never NULL. */
LK_PUBLIC const char *lk_outcome_text(lk_outcome outcome);

/* The exit code of the program `lk` for this outcome. */
LK_PUBLIC int lk_outcome_exit_code(lk_outcome outcome);

#ifdef __cplusplus
}
#endif
#endif
