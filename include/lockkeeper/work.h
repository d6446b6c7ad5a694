/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lockkeeper/work.h - queues of work: items that are pushed, claimed by one worker at a time under
 * a lease, and done (rule R16).
 *
 * The shortest correct worker (examples/worker.c is the whole of it):
 *
 *     static int handle(void *context, const lk_claim_info *claim, lk_lease *lease) {
 *         return work_on(claim->id, claim->value) ? 0 : 1;  // 0: done; else it is tried again
 *     }
 *
 *     lk_work_options options = {.size = sizeof options, .queue = "mail", .handle = handle};
 *     lk_work(store, &options, NULL, &error);
 *
 * What is promised: one claim on an item at a time, and done only by who still holds it. What is
 * not: that an item is worked on once. A worker that dies, or is stopped past its deadline, leaves
 * its work half done, and another one claims the item again: make the work repeatable, or let what
 * it writes to refuse smaller tokens.
 *
 * A queue is a path, and the claim on an item an exclusive lease on QUEUE/ID: what covers that path
 * keeps it from being claimed, and an exclusive lock on the queue pauses all claiming. Every call
 * here can also end in LK_INVALID, LK_UNSUPPORTED (the store keeps no work), LK_UNAVAILABLE,
 * LK_DENIED and LK_INTERNAL. Conventions are those of lockkeeper.h, which includes this.
 */
#ifndef LOCKKEEPER_WORK_H
#define LOCKKEEPER_WORK_H

#include "lockkeeper/lockkeeper.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- items ----------------------------------------------------------------------------------- */

/* Zero what is not named, and set `size`. */
typedef struct lk_push_request {
    size_t size;       /* sizeof(lk_push_request) */
    const char *queue; /* a path */
    const char *id;    /* one segment of a path */
    const void *value; /* up to LK_VALUE_MAX bytes; NULL: none */
    size_t value_size;
    int64_t delay_ms;         /* not claimed before so long; up to 366 days */
    const char *const *needs; /* parts that its work locks as well, up to 15 */
    size_t need_count;
} lk_push_request;

/*
 * Adds an item. LK_OK, with *ret_added (may be NULL) false when one with this id was there, claimed
 * or not: it stays as it is, and the duplicate is counted. So announcing twice is harmless, also
 * after LK_UNAVAILABLE.
 */
LK_PUBLIC lk_outcome lk_push(lk_store *store, const lk_push_request *request, bool *ret_added,
                             lk_error *error);

/* Zero what is not named, and set `size`. */
typedef struct lk_claim_request {
    size_t size; /* sizeof(lk_claim_request) */
    const char *queue;
    const char *owner;     /* NULL: a fresh unique one, which the claim names */
    int64_t wait_ms;       /* 0: a try; LK_FOREVER */
    int64_t ttl_ms;        /* 50 ms to 366 days; 0: 60 s */
    uint32_t max_attempts; /* 0: no maximum; else an item is parked after so many; up to 1000000 */
    const char *note;      /* up to 255 bytes; NULL: none */
    lk_cancel *cancel;     /* lets another thread end the wait; NULL: none */
    int64_t patience_ms;   /* how long the store itself is waited for before LK_UNAVAILABLE;
                              0: 10 s, and in a wait as long as the wait lasts */
} lk_claim_request;

/* One item that was claimed. Free with lk_claim_free(). */
typedef struct lk_claim_info {
    char *queue;
    char *id;
    char *owner;
    void *value; /* `value_size` bytes and a terminating 0; NULL: none */
    size_t value_size;
    uint64_t token;
    uint32_t attempt; /* 1: the first */
    bool is_stolen;   /* its former claim perished */
    int64_t ttl_ms;
    int64_t expires_in_ms;
    char *row_id; /* R17: the id as the table has it; NULL: the queue is no table */
} lk_claim_info;

LK_PUBLIC void lk_claim_free(lk_claim_info *claim); /* accepts NULL */

/*
 * Leases the oldest item that is due and free to be locked. LK_GRANTED with *ret_claim; LK_BUSY (a
 * try) or LK_TIMEOUT: nothing to claim; LK_CANCELLED; LK_FULL (a configured bound).
 * Blocks for wait_ms at most, and for a store that is away as patience_ms says. A lost answer is
 * asked for again within the call, and never becomes a second item; after LK_UNAVAILABLE, or
 * LK_CANCELLED while the store is away, an item may be claimed that nobody learns of, until its ttl
 * is over.
 * Keep it alive with lk_renew() on the part QUEUE/ID, or let lk_work() do all of it. A claim does
 * not end by lk_release(), but by lk_done() or lk_retry().
 */
LK_PUBLIC lk_outcome lk_claim_next(lk_store *store, const lk_claim_request *request,
                                   lk_claim_info **ret_claim, lk_error *error);

/*
 * Ends a claim: the item is removed. LK_OK; LK_LOST: it is not claimed by this owner (any more), or
 * by another token; nothing changed. token 0: whatever it is. Repeated with a token that this very
 * call ended within five minutes: LK_OK again.
 */
LK_PUBLIC lk_outcome lk_done(lk_store *store, const char *queue, const char *id, const char *owner,
                             uint64_t token, lk_error *error);

/*
 * Gives an item back, to be claimed again after `delay_ms` (0: at once; up to 366 days), in its old
 * place; or parked, where the claim named a maximum of attempts. Outcomes as of lk_done().
 */
LK_PUBLIC lk_outcome lk_retry(lk_store *store, const char *queue, const char *id, const char *owner,
                              uint64_t token, int64_t delay_ms, lk_error *error);

/* Makes a parked item ready again, its attempts forgotten. LK_LOST: there is no such one. */
LK_PUBLIC lk_outcome lk_unpark(lk_store *store, const char *queue, const char *id, lk_error *error);

typedef struct lk_item_info {
    char *id;
    char *owner; /* claimant; NULL unless claimed */
    void *value; /* `value_size` bytes and a terminating 0; NULL: none */
    size_t value_size;
    const char *state; /* "ready", "delayed", "claimed", "parked"; static */
    uint32_t attempts;
    int64_t due_in_ms;     /* -1 unless delayed */
    int64_t expires_in_ms; /* of the claim; -1 unless claimed */
    char **needs;          /* parts, as text */
    size_t need_count;
} lk_item_info;

typedef struct lk_item_list {
    lk_item_info *items; /* oldest first */
    size_t count;
} lk_item_list;

LK_PUBLIC void lk_item_list_free(lk_item_list *list); /* accepts NULL */

/* Every item of a queue, of any state. LK_OK with *ret_list, also when it is empty. */
LK_PUBLIC lk_outcome lk_items(lk_store *store, const char *queue, lk_item_list **ret_list,
                              lk_error *error);

/* Counted as long as the store lives; the last four are how many items there are just now. */
typedef struct lk_queue_stats {
    uint64_t pushed;
    uint64_t duplicates; /* pushes of what was there */
    uint64_t claims;
    uint64_t steals; /* claims of an item whose former claim perished */
    uint64_t done;
    uint64_t retried;
    uint64_t parked;
    uint64_t ready_now;
    uint64_t delayed_now;
    uint64_t claimed_now;
    uint64_t parked_now;
} lk_queue_stats;

/* LK_OK with *ret_stats: zeros where nothing was ever pushed. */
LK_PUBLIC lk_outcome lk_stats(lk_store *store, const char *queue, lk_queue_stats *ret_stats,
                              lk_error *error);

/*
 * A sentence for people when the counts tell of trouble: claims that are often stolen, or work that
 * is announced many times over, as when there are too many workers. NULL: nothing to say. Static
 * storage.
 */
LK_PUBLIC const char *lk_stats_hint(const lk_queue_stats *stats);

/* ---- work that lives in a table of yours ----------------------------------------------------- */

/*
 * R17: a table or view in the store's own database as the source of a queue. What fits its query
 * and is neither an item of the queue nor done is pushed (announced); a claim looks again whether
 * its row still fits. Names are quoted; `where`, `order` and `done` are SQL of yours and run as
 * such, the first two without writing. An id is a whole number or a text without a byte 0; rows
 * with others are left alone. In the queue's paths ids are percent-encoded where R1 demands it.
 * Zero what is not named, and set `size`.
 */
typedef struct lk_work_table {
    size_t size; /* sizeof(lk_work_table) */
    const char *name;
    const char *id;    /* the column that tells one row from another; NULL: "id". Have an index */
    const char *where; /* a condition on rows; NULL: every row fits */
    const char *order; /* what ORDER BY takes; NULL: as the database has them */
    const char *done;  /* one statement, run in the very transaction that ends a claim as done, and
                          only then: `:id`, `:token`, `:owner` and `:attempt` are the claim's.
                          NULL: none; what is done is remembered until its row fits no more */
} lk_work_table;

/* Room for the path of a queue, and its end. */
#define LK_QUEUE_TEXT_MAX 513

/*
 * Whether a table can be worked with. queue NULL: one of the table's name. LK_OK with the queue's
 * path in ret_queue, which may be NULL; LK_INVALID: what is wrong with the table or its SQL.
 */
LK_PUBLIC lk_outcome lk_table_check(lk_store *store, const char *queue, const lk_work_table *table,
                                    char ret_queue[LK_QUEUE_TEXT_MAX], lk_error *error);

/* What one round of announcing came to. */
typedef struct lk_announced {
    uint64_t pushed;
    uint64_t duplicates; /* found here, but pushed by somebody else meanwhile */
    bool has_more;       /* there may be more to announce just now */
} lk_announced;

/*
 * Looks for rows and announces them, a thousand at most; lk_work() does so by itself. queue NULL:
 * the table's name. LK_OK with *ret_announced (may be NULL); LK_INVALID: what is wrong with the
 * table or its SQL.
 */
LK_PUBLIC lk_outcome lk_announce(lk_store *store, const char *queue, const lk_work_table *table,
                                 lk_announced *ret_announced, lk_error *error);

/* The loops of a pool over a table may run apart, in several processes. */
typedef enum lk_work_loops {
    LK_WORK_ALL = 0,
    LK_WORK_ANNOUNCES = 1, /* finds and pushes, and needs no handler */
    LK_WORK_CLAIMS = 2     /* claims and handles what others announce */
} lk_work_loops;

/* ---- a pool of workers ----------------------------------------------------------------------- */

#define LK_WORKERS_MAX 256

/* What a pool of workers has done so far. */
typedef struct lk_work_counts {
    uint64_t claims;
    uint64_t steals; /* of these: the former claim had perished */
    uint64_t done;
    uint64_t retried; /* given back; `parked` of these for good */
    uint64_t parked;
    uint64_t lost;       /* worked on, but not held any more at the end: somebody else has it */
    uint64_t unknown;    /* the store was away at the end, until the claim perished */
    uint64_t announced;  /* R17: rows pushed */
    uint64_t duplicates; /* and found when somebody else had pushed them */
    uint64_t left;       /* in the queue when last announced: ready, delayed or claimed */
} lk_work_counts;

typedef enum lk_work_step {
    LK_WORK_CLAIMED = 0, /* just before it is handled */
    LK_WORK_DONE = 1,
    LK_WORK_RETRIED = 2,
    LK_WORK_PARKED = 3, /* given back for the last time */
    LK_WORK_LOST = 4,
    LK_WORK_UNKNOWN = 5,
    LK_WORK_ANNOUNCED = 6 /* rows were pushed; of no claim */
} lk_work_step;

/* One step of a pool, and its counts with it. Valid during the callback. */
typedef struct lk_work_progress {
    lk_work_step step;
    const lk_claim_info *claim; /* NULL: LK_WORK_ANNOUNCED */
    int64_t delay_ms;           /* LK_WORK_RETRIED: when it may be claimed again; else 0 */
    lk_work_counts counts;
    const char
        *text; /* why what was handled could not be done: lk_work_table.done failed; else NULL */
} lk_work_progress;

#define LK_WORK_GIVE_BACK (-1) /* given back without a delay: it has not failed */

/*
 * Works on one item: 0 when it is done, anything else to give it back for later. The claim is kept
 * alive meanwhile; lk_lease_is_lost() and lk_lease_on_lost() tell when it is gone, and the work had
 * better stop. The lease and the claim end with the handler: it must not release or free them.
 * Runs in the thread of its worker.
 */
typedef int lk_work_handle(void *context, const lk_claim_info *claim, lk_lease *lease);

/* Zero what is not named, and set `size`. Everything it points to is borrowed. */
typedef struct lk_work_options {
    size_t size; /* sizeof(lk_work_options) */
    const char *queue;
    lk_work_handle *handle;
    /* Told of every step, one at a time, from the workers' threads; NULL: nobody. */
    void (*progress)(void *context, const lk_work_progress *progress);
    void *context;         /* of both */
    size_t workers;        /* how many at once, up to LK_WORKERS_MAX; 0: 1 */
    int64_t ttl_ms;        /* of a claim; 0: 60 s */
    uint32_t max_attempts; /* as in lk_claim_request */
    const char *note;      /* of each claim; NULL: none */
    int64_t retry_min_ms;  /* the delay of an item after its first failed attempt; 0: 1 s */
    int64_t retry_max_ms;  /* it doubles with each attempt up to this; 0: 5 min. Every delay is
                              cut by up to a half at random */
    bool drain;            /* end when nothing is left: nothing ready, delayed or claimed, and
                              no row to announce */
    lk_cancel *cancel;     /* ends it: claims nothing more, and lets the handlers end; NULL: none */
    int64_t patience_ms;   /* how long a store that is away is waited for; 0: for ever */
    const lk_work_table
        *table;          /* R17: the queue is this table's (and may be NULL); NULL: no table */
    lk_work_loops loops; /* of a table */
} lk_work_options;

/*
 * Claims and handles items of a queue until it is cancelled, or drained: a pool of workers, each of
 * them a thread (the caller's is one of them) and a fresh unique owner. What is handled is done,
 * or given back for later; what is lost meanwhile is counted and harmless.
 * LK_OK: drained; LK_CANCELLED; or what made one worker, and so all, give up: LK_INVALID,
 * LK_UNSUPPORTED, LK_DENIED, LK_UNAVAILABLE, LK_INTERNAL. All threads and claims have ended then
 * in every case. *ret_counts, which may be NULL, is always set.
 */
LK_PUBLIC lk_outcome lk_work(lk_store *store, const lk_work_options *options,
                             lk_work_counts *ret_counts, lk_error *error);

#ifdef __cplusplus
}
#endif
#endif
