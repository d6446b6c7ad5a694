/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lockkeeper/terms.h - how one asks, and what a call can end in.
 *
 * Every call answers with exactly one outcome, and every outcome has exactly one cause (rule R23
 * of docs/rules.md). Included by lockkeeper/lockkeeper.h; an application needs only that one.
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

/* Three ways to ask (rule R10). */
typedef enum lk_style {
    LK_TRY = 0,   /* granted now, or BUSY and nothing new stays in line */
    LK_QUEUE = 1, /* granted now, or WAITING: in line until it perishes; ask again to stay */
    LK_WAIT = 2   /* blocks until granted, or for a given time */
} lk_style;

/* The values are part of the ABI: new ones are added at the end only. */
typedef enum lk_outcome {
    LK_OK = 0,           /* done; nothing was granted by it (renew, release, break, ...) */
    LK_GRANTED = 1,      /* the request is held: a lease */
    LK_WAITING = 2,      /* the request is in line; ask again to stay there */
    LK_BUSY = 3,         /* not granted, and nothing new stays in line */
    LK_TIMEOUT = 4,      /* not granted within the time given */
    LK_LOST = 5,         /* not held (any more); nothing was changed */
    LK_DEADLOCK = 6,     /* waiting would close a cycle of owners; nothing stays in line */
    LK_INVALID = 7,      /* the call itself is wrong; the text says what and where */
    LK_DENIED = 8,       /* not allowed */
    LK_FULL = 9,         /* a configured bound is reached */
    LK_UNSUPPORTED = 10, /* this store cannot do that */
    LK_UNAVAILABLE = 11, /* the store cannot be reached; unknown whether it took effect */
    LK_INTERNAL = 12,    /* a defect or exhausted memory; the text names its place */
    LK_NONE = 13,        /* nothing there (reading a value) */
    LK_CANCELLED = 14    /* lk_cancel_now() ended the wait; what it had put in line is withdrawn */
} lk_outcome;

enum { LK_OUTCOME_COUNT = 15, LK_ERROR_TEXT_MAX = 384 };

/* An outcome with a sentence for people. The text is empty when there is nothing to add. */
typedef struct lk_error {
    lk_outcome outcome;
    char text[LK_ERROR_TEXT_MAX];
} lk_error;

/* The lower-case name: "granted", "waiting", ... Static storage; never NULL. */
LK_PUBLIC const char *lk_outcome_name(lk_outcome outcome);

/* One sentence that explains the outcome in general. Static storage; never NULL. */
LK_PUBLIC const char *lk_outcome_text(lk_outcome outcome);

/* The exit code that the program `lk` gives for it. */
LK_PUBLIC int lk_outcome_exit_code(lk_outcome outcome);

#ifdef __cplusplus
}
#endif
#endif
