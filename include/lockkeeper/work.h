/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lockkeeper/work.h - queues of work: items that are pushed, claimed by one worker at a time under
 * a lease, and done (rule R16).
 *
 * The shortest correct worker (examples/worker.c is the whole of it):
 *
 *     static int handle(void *context, const lk_claim_info *claim, lk_lease *lease) {
 *         return work_on(claim->id, claim->value) ? 0 : 1;  // 0: done; else it is retried
 *     }
 *
 *     lk_work_options options = {.size = sizeof options, .queue = "mail", .handle = handle};
 *     lk_work(store, &options, NULL, &error);
 *
 * What is promised: an item has one claim at a time, and only the current claim can end it as done.
 * What is not promised: that an item is worked on only once. A worker that dies, or is stopped past
 * its deadline, leaves its work half done, and another worker claims the item. Make the work
 * repeatable, or let the resource that it writes to refuse smaller tokens.
 *
 * A queue is a path, and the claim on an item is an exclusive lease on QUEUE/ID. A lock that covers
 * that path keeps the item from being claimed, and an exclusive lock on the queue pauses all
 * claiming. Every call here can also return LK_INVALID, LK_UNSUPPORTED (the store keeps no work),
 * LK_UNAVAILABLE, LK_DENIED and LK_INTERNAL. Conventions are those of lockkeeper.h, which includes
 * this header.
 */
#ifndef LOCKKEEPER_WORK_H
#define LOCKKEEPER_WORK_H

#include "lockkeeper/lockkeeper.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- items ----------------------------------------------------------------------------------- */

/* Zero the fields you do not set, and set `size`. */
typedef struct lk_push_request {
    size_t size;       /* sizeof(lk_push_request) */
    const char *queue; /* a path */
    const char *id;    /* one segment of a path */
    const void *value; /* up to LK_VALUE_MAX bytes; NULL: none */
    size_t value_size;
    int64_t delay_ms;         /* not claimed before this time has passed; up to 366 days */
    const char *const *needs; /* parts that a claim locks as well, up to 15. `PATH?strict`: in the
                                 order of the items that have it (R16) */
    size_t need_count;
    int32_t priority; /* -32768 to 32767: the greatest is claimed first; 0: the default */
    /* What happens to an item that is there already; not both. Neither: it stays as it is. */
    bool again;      /* it is to be worked on once more: see lk_push_item() */
    bool replaces;   /* it is replaced while no claim has begun: see lk_push_item() */
    int64_t keep_ms; /* how long it is kept with its result once it is done; up to 366 days; 0: not.
                        See lk_item_wait() */
} lk_push_request;

/*
 * Adds an item. Returns LK_OK. *ret_added (may be NULL) is false when the queue already has an item
 * with this id, claimed or not: unless the request says otherwise, that item stays as it is, and
 * the duplicate is counted. So a push can be repeated, also after LK_UNAVAILABLE.
 */
LK_PUBLIC lk_outcome lk_push(lk_store *store, const lk_push_request *request, bool *ret_added,
                             lk_error *error);

/* What a push has found and done. */
typedef struct lk_push_result {
    bool added;      /* the queue had no item with this id */
    bool changed;    /* the item that was there has what the request says now */
    const char *was; /* the state that it was in, as in lk_item_info; static. NULL: added */
} lk_push_result;

/*
 * lk_push() that tells what it has found. Returns LK_OK with *ret_result (may be NULL).
 *
 * With `again`, an item that is there gets the request's value, priority and needs. If it is not
 * claimed, it is ready, or due after `delay_ms`, with 0 attempts, in its old place; also if it was
 * parked. If it is claimed, it stays so, in the state "again": when that claim ends, by whatever
 * call or at its deadline, the item is not removed or parked, but is ready, or due after `delay_ms`
 * from this call on, as if it were pushed then. So a worker may finish with what it has read, and
 * the news are worked on behind it; of several pushes the last one counts. The claim of a cancelled
 * item is such a claim, too.
 * With `replaces`, only an item that waits to be claimed is changed in that way: one that is ready,
 * delayed, or in the state "again".
 * Repeating either after LK_UNAVAILABLE may cause one run more than was asked for.
 */
LK_PUBLIC lk_outcome lk_push_item(lk_store *store, const lk_push_request *request,
                                  lk_push_result *ret_result, lk_error *error);

#define LK_MANY_MAX 1000 /* items of one call that is about several */

/* Of one lk_push_many(). */
typedef struct lk_push_counts {
    uint64_t added;
    uint64_t duplicates; /* pushes of items that the queue already had */
    uint64_t changed;    /* of these: with `again` or `replaces`, and the item has changed */
} lk_push_counts;

/*
 * Adds several items to one queue: 1 to LK_MANY_MAX requests in an array, all with the same queue
 * and the same `size`. The store decides on all of them in one transaction. Returns LK_OK, also
 * when some are duplicates; LK_FULL (a configured bound): those for which there was room are added.
 * *ret_counts (may be NULL) is set in both cases. After LK_UNAVAILABLE all are added or none is
 * (over lk://: perhaps some), and the call can be repeated. LK_INVALID, when any request is: none
 * is added. LK_UNSUPPORTED: the store does not decide on several items together.
 */
LK_PUBLIC lk_outcome lk_push_many(lk_store *store, const lk_push_request *requests, size_t count,
                                  lk_push_counts *ret_counts, lk_error *error);

/* Zero the fields you do not set, and set `size`. */
typedef struct lk_claim_request {
    size_t size; /* sizeof(lk_claim_request) */
    const char *queue;
    const char *owner;     /* NULL: a fresh unique one, named in the claim */
    int64_t wait_ms;       /* 0: a try; LK_FOREVER */
    int64_t ttl_ms;        /* 50 ms to 366 days; 0: 60 s */
    uint32_t max_attempts; /* 0: none; else an item is parked after this many; up to 1000000 */
    const char *note;      /* up to 255 bytes; NULL: none */
    lk_cancel *cancel;     /* lets another thread end the wait; NULL: none */
    int64_t patience_ms;   /* how long to retry an unreachable store before LK_UNAVAILABLE;
                              0: 10 s, and in a wait as long as the wait lasts */
    /* R17: the queue's source; `queue` may be NULL then. An item whose row does not match any more
     * is dropped. NULL: none. */
    const struct lk_work_table *table;
} lk_claim_request;

/* A claimed item. Free with lk_claim_free(). */
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
    /* Of lk_claim_next() and lk_claim_many(): how long the caller may rely on the claim from their
     * return on. Less than the ttl by what the answer took, and by a two-thousandth for the drift
     * of two clocks. In a handler: what was left when the store answered; ask the lease there. */
    int64_t expires_in_ms;
    char *row_id; /* R17: the id as the table has it; NULL: the queue has no table */
} lk_claim_info;

LK_PUBLIC void lk_claim_free(lk_claim_info *claim); /* accepts NULL */

/*
 * Claims the first item that is due and can be locked: of those with the greatest priority the
 * oldest. Returns LK_GRANTED with *ret_claim; LK_BUSY (a try) or LK_TIMEOUT: nothing to claim;
 * LK_CANCELLED; LK_FULL (a configured bound).
 * Blocks for wait_ms at most, and for an unreachable store as patience_ms says. If an answer is
 * lost, the call repeats its question and never claims a second item. If it ends without an answer,
 * a thread of the store gives back what it may have claimed, as soon as the store answers: until
 * then, or until the ttl is over, an item can be claimed that no worker knows of. With an owner
 * that the caller names, this may claim and give back another item. Neither counts an attempt.
 * Keep the claim alive with lk_renew() on the part QUEUE/ID, or use lk_work(), which does that too.
 * A claim is ended by lk_done() or lk_retry(), not by lk_release().
 */
LK_PUBLIC lk_outcome lk_claim_next(lk_store *store, const lk_claim_request *request,
                                   lk_claim_info **ret_claim, lk_error *error);

#define LK_CLAIMS_MAX 256 /* of one lk_claim_many() */

typedef struct lk_claim_list {
    lk_claim_info **claims; /* in the order in which their items were claimed */
    size_t count;
} lk_claim_list;

LK_PUBLIC void lk_claim_list_free(lk_claim_list *list); /* accepts NULL; frees the claims, too */

/*
 * Claims up to `max` items (1 to LK_CLAIMS_MAX) in one decision: as many calls of lk_claim_next()
 * at one moment. Their claims have one owner and one token, but each is a lease of its own, to be
 * kept alive and ended by itself. Returns LK_GRANTED with *ret_list, which has one claim at least;
 * the other outcomes are those of lk_claim_next(). Does not wait for `max` items: LK_GRANTED comes
 * as soon as there is one. The request must not have a table: LK_UNSUPPORTED, as in a store that
 * does not decide on several items together.
 */
LK_PUBLIC lk_outcome lk_claim_many(lk_store *store, const lk_claim_request *request, size_t max,
                                   lk_claim_list **ret_list, lk_error *error);

/*
 * Ends a claim and removes the item. Returns LK_OK; LK_LOST: the item is not claimed by this owner
 * (any more), or with another token; nothing changed. token 0: any token. A call repeated within
 * five minutes, with the token of the claim that it ended, returns LK_OK again.
 */
LK_PUBLIC lk_outcome lk_done(lk_store *store, const char *queue, const char *id, const char *owner,
                             uint64_t token, lk_error *error);

/*
 * Ends 1 to LK_MANY_MAX claims of one owner as lk_done() does, in one decision. token 0: any token.
 * Returns LK_OK; LK_LOST: some are not claimed by this owner (any more), or with another token; the
 * others are done all the same. *ret_done (may be NULL) is set in both cases to how many are done.
 * After LK_UNAVAILABLE all have ended or none has (over lk://: perhaps some). LK_UNSUPPORTED: the
 * store does not decide on several items together.
 */
LK_PUBLIC lk_outcome lk_done_many(lk_store *store, const char *queue, const char *const *ids,
                                  size_t count, const char *owner, uint64_t token,
                                  uint64_t *ret_done, lk_error *error);

/* Zero the fields you do not set, and set `size`. */
typedef struct lk_done_request {
    size_t size; /* sizeof(lk_done_request) */
    const char *queue;
    const char *id;
    const char *owner;
    uint64_t token;     /* 0: any */
    const void *result; /* up to LK_VALUE_MAX bytes, which take the place of the item's value if the
                           item is kept; NULL: none */
    size_t result_size;
    int64_t keep_ms; /* as in lk_push_request; the longer of the two times counts */
} lk_done_request;

/*
 * lk_done() with a result. The item is kept with it, in the state "done", for the time that its
 * push or this request names; lk_item_get() returns it. Without any time the item is removed, and
 * the result with it, as are those of an item that was cancelled, or pushed again. Outcomes as of
 * lk_done(). A call that is repeated with its token leaves the result of the first one.
 */
LK_PUBLIC lk_outcome lk_done_item(lk_store *store, const lk_done_request *request, lk_error *error);

/*
 * Says how far the work on a claimed item is: up to 1024 bytes of any kind, which listings show.
 * The last one is kept until the item's next claim, or until it is done. NULL: none any more. The
 * claim stays as it is. Outcomes as of lk_done(). token 0: any.
 */
LK_PUBLIC lk_outcome lk_progress(lk_store *store, const char *queue, const char *id,
                                 const char *owner, uint64_t token, const void *text,
                                 size_t text_size, lk_error *error);

/*
 * Gives an item back. It can be claimed again after `delay_ms` (0: at once; up to 366 days), in its
 * old place; or it is parked, if the claim's maximum of attempts is reached. Outcomes as of
 * lk_done().
 */
LK_PUBLIC lk_outcome lk_retry(lk_store *store, const char *queue, const char *id, const char *owner,
                              uint64_t token, int64_t delay_ms, lk_error *error);

/* Zero the fields you do not set, and set `size`. */
typedef struct lk_retry_request {
    size_t size; /* sizeof(lk_retry_request) */
    const char *queue;
    const char *id;
    const char *owner;
    uint64_t token;   /* 0: any */
    int64_t delay_ms; /* as in lk_retry() */
    bool has_exit;    /* the work ended with `exit_code` */
    int32_t exit_code;
    const void *error; /* why it failed: up to 1024 bytes of any kind; NULL: not said */
    size_t error_size;
    bool uncounted; /* the attempt does not count: the item has as many as before the claim, and is
                       not parked by it. For work that was stopped, or cannot be done now */
    bool parks;     /* the item is parked, whatever its attempts: for work that cannot succeed.
                       `delay_ms` must be 0 */
} lk_retry_request;

/*
 * lk_retry() that also says why, does not count, or parks. Exit code and error are kept with the
 * item (lk_item_info) until another call gives either. Outcomes as of lk_retry(); LK_UNSUPPORTED:
 * the store does not keep failures, and nothing has changed.
 */
LK_PUBLIC lk_outcome lk_retry_failed(lk_store *store, const lk_retry_request *request,
                                     lk_error *error);

/* Makes a parked item ready again, with 0 attempts. LK_LOST: there is no such parked item. */
LK_PUBLIC lk_outcome lk_unpark(lk_store *store, const char *queue, const char *id, lk_error *error);

/*
 * Unparks all parked items of a queue, many in one decision. Returns LK_OK. *ret_unparked (may be
 * NULL) is set in every case, also when a later decision fails, to how many are unparked.
 */
LK_PUBLIC lk_outcome lk_unpark_all(lk_store *store, const char *queue, uint64_t *ret_unparked,
                                   lk_error *error);

/*
 * Removes 1 to LK_MANY_MAX items that are not claimed, in one decision. They do not count as done.
 * Returns LK_OK; LK_LOST: some are claimed, or not there; the others are removed all the same.
 * *ret_dropped (may be NULL) is set in both cases to how many are removed. After LK_UNAVAILABLE all
 * are removed or none is (over lk://: perhaps some).
 */
LK_PUBLIC lk_outcome lk_drop(lk_store *store, const char *queue, const char *const *ids,
                             size_t count, uint64_t *ret_dropped, lk_error *error);

/* Removes all parked items of a queue, many in one decision. Otherwise as lk_unpark_all(). */
LK_PUBLIC lk_outcome lk_drop_parked(lk_store *store, const char *queue, uint64_t *ret_dropped,
                                    lk_error *error);

/* Zero the fields you do not set, and set `size`. */
typedef struct lk_cancel_request {
    size_t size; /* sizeof(lk_cancel_request) */
    const char *queue;
    const char *id;
    const char *reason; /* required; 1 to 1024 bytes */
    const char *by;     /* the name of the person or program, for the record; required */
    bool at_once;       /* ends the claim now: unsafe while its worker may still be at it */
} lk_cancel_request;

/*
 * Removes an item for good (rule R16). One that is not claimed is removed at once. The claim of one
 * that is claimed is revoked, as lk_break() does, so its worker ends; the item is in the state
 * "cancelled" until then, and is removed when the claim ends, by whatever call, or at its deadline.
 * No worker gets it again. `reason` and `by` are recorded (lk_audit_read()).
 * Returns LK_OK, and in *ret_is_claimed (may be NULL) whether a worker has, or had, the item;
 * LK_LOST: there is no such item. A call that is repeated may be LK_LOST because the first one has
 * removed the item. LK_UNSUPPORTED: the store keeps no work, or cannot break.
 */
LK_PUBLIC lk_outcome lk_cancel_item(lk_store *store, const lk_cancel_request *request,
                                    bool *ret_is_claimed, lk_error *error);

typedef struct lk_item_info {
    char *id;
    char *owner; /* of the claim; NULL unless claimed */
    void *value; /* `value_size` bytes and a terminating 0; NULL: none */
    size_t value_size;
    const char *state; /* "ready", "delayed", "claimed", "parked", "cancelled", "again", "done";
                          static. "cancelled" and "again" are claimed: the first is removed when its
                          claim ends, the second is ready then, or after a delay. It has the value
                          of the last push. One that is "done" has its result as its value */
    uint32_t attempts;
    int64_t due_in_ms; /* until it can be claimed: -1 unless delayed; until it is forgotten: done */
    int64_t expires_in_ms; /* of the claim; -1 unless claimed */
    char **needs;          /* parts, as text */
    size_t need_count;
    int32_t priority;
    bool has_last_exit; /* lk_retry_failed() gave `last_exit`... */
    int32_t last_exit;
    char *last_error; /* ...and this: `last_error_size` bytes and a terminating 0; NULL: none */
    size_t last_error_size;
    char *user;     /* of a service with users: whose the claim's owner is; else NULL */
    char *progress; /* of the last claim: `progress_size` bytes and a terminating 0; NULL: none */
    size_t progress_size;
} lk_item_info;

typedef struct lk_item_list {
    lk_item_info *items; /* oldest first */
    size_t count;
} lk_item_list;

LK_PUBLIC void lk_item_list_free(lk_item_list *list); /* accepts NULL */

/* Lists all items of a queue, in any state. Returns LK_OK with *ret_list, also when it is empty. */
LK_PUBLIC lk_outcome lk_items(lk_store *store, const char *queue, lk_item_list **ret_list,
                              lk_error *error);

/*
 * Finds one item. Returns LK_OK with *ret_list, which has it alone; LK_NONE: the queue has no such
 * item, or it was done and its time is over.
 */
LK_PUBLIC lk_outcome lk_item_get(lk_store *store, const char *queue, const char *id,
                                 lk_item_list **ret_list, lk_error *error);

/*
 * Waits until an item is done or parked. Blocks for wait_ms at most (0: looks once; LK_FOREVER),
 * and while the store is unreachable. It looks again after pauses that grow from 10 to 500 ms.
 * Returns LK_OK with *ret_list, which has the item alone, in the state "done", with its result as
 * its value, or "parked"; LK_TIMEOUT: it is neither so far; LK_NONE: there is no such item: it was
 * done and is not kept (any more), dropped or cancelled, or never was; LK_CANCELLED. For this the
 * push names a keep_ms that is longer than the pauses.
 */
LK_PUBLIC lk_outcome lk_item_wait(lk_store *store, const char *queue, const char *id,
                                  int64_t wait_ms, lk_cancel *cancel, lk_item_list **ret_list,
                                  lk_error *error);

/* Counts over the life of the store; those named `..._now` are numbers of items at this moment. */
typedef struct lk_queue_stats {
    uint64_t pushed;
    uint64_t duplicates; /* pushes of items that the queue already had */
    uint64_t claims;
    uint64_t steals; /* claims of an item whose former claim perished */
    uint64_t done;
    uint64_t retried;
    uint64_t parked;
    uint64_t ready_now;
    uint64_t delayed_now;
    uint64_t claimed_now;
    uint64_t parked_now;
    uint64_t done_now;       /* kept with their results */
    int64_t oldest_ready_ms; /* for how long the oldest of the ready ones has been; -1: none is */
} lk_queue_stats;

typedef struct lk_queue_info {
    char *queue;
    lk_queue_stats counts;
} lk_queue_info;

typedef struct lk_queue_list {
    lk_queue_info *queues; /* ordered by the bytes of their paths */
    size_t count;
} lk_queue_list;

LK_PUBLIC void lk_queue_list_free(lk_queue_list *list); /* accepts NULL */

/*
 * Lists the queues at or below `prefix` (NULL: all), with their counts. Returns LK_OK with
 * *ret_list. It is read in pages: a queue that is made or forgotten meanwhile may be missing.
 */
LK_PUBLIC lk_outcome lk_queues(lk_store *store, const char *prefix, lk_queue_list **ret_list,
                               lk_error *error);

/*
 * Returns LK_OK with *ret_stats: zeros, and -1 for the oldest, for a queue that never had an item.
 */
LK_PUBLIC lk_outcome lk_stats(lk_store *store, const char *queue, lk_queue_stats *ret_stats,
                              lk_error *error);

/*
 * Returns a warning when the counts indicate a problem: claims that are often stolen, or work that
 * is announced many times over, as with too many workers. NULL: no warning. Static storage.
 */
LK_PUBLIC const char *lk_stats_hint(const lk_queue_stats *stats);

/* ---- work in a table of your own ------------------------------------------------------------- */

/*
 * R17: a table or view in the store's own database as the source of a queue. A row that matches the
 * query, and is neither an item of the queue nor done, is pushed (announced). A claim checks again
 * whether its row still matches. Names are quoted. `where`, `order` and `done` are your own SQL and
 * run unchanged; `where` and `order` must not write. An id is a whole number or a text without a
 * byte 0 that makes a path with the queue's (R1); rows with other ids are skipped, counted and
 * reported. In paths ids are percent-encoded where R1 requires it. What is known of a row, that it
 * is done or parked, is forgotten by a finder (lk_announce(), lk_work()) that sees that it does not
 * match any more. Zero the fields you do not set, and set `size`.
 */
typedef struct lk_work_table {
    size_t size; /* sizeof(lk_work_table) */
    const char *name;
    const char *id;    /* the column that identifies a row; NULL: "id". It should have an index */
    const char *where; /* a condition on rows; NULL: every row matches */
    const char *order; /* an argument of ORDER BY; NULL: the order of the database */
    const char *done;  /* one statement, run in the same transaction that ends a claim as done:
                          `:id`, `:token`, `:owner` and `:attempt` are the claim's. NULL: none; a
                          done row is then remembered until it does not match any more */
} lk_work_table;

/* Bytes of the path of a queue, with its terminating 0. */
#define LK_QUEUE_TEXT_MAX 513

/*
 * Checks whether a table can be the source of a queue. queue NULL: the table's name. Returns LK_OK
 * with the queue's path in ret_queue, which may be NULL; LK_INVALID: the table or its SQL is wrong,
 * as the error text says.
 */
LK_PUBLIC lk_outcome lk_table_check(lk_store *store, const char *queue, const lk_work_table *table,
                                    char ret_queue[LK_QUEUE_TEXT_MAX], lk_error *error);

/*
 * lk_done() of an item of a table's queue (queue NULL: the table's name): table->done runs in the
 * transaction that ends the claim; without it the row is remembered until it does not match any
 * more. `id` is lk_claim_info.id, and `token` must be that of the claim. Outcomes as of lk_done(),
 * and LK_INVALID: there is no token, the table or its SQL is wrong, or the statement failed;
 * nothing has changed, and the claim is held as before.
 */
LK_PUBLIC lk_outcome lk_done_row(lk_store *store, const char *queue, const lk_work_table *table,
                                 const char *id, const char *owner, uint64_t token,
                                 lk_error *error);

/* The counts of one round of announcing. */
typedef struct lk_announced {
    uint64_t pushed;
    uint64_t duplicates; /* found here, but pushed by another process meanwhile */
    bool has_more;       /* there may be more rows to announce now */
    uint64_t skipped;    /* rows that match, but whose ids cannot be items'; 1000 or more: 1000.
                            0 while there may be more rows to announce */
} lk_announced;

/*
 * Looks for rows and announces them, a thousand at most; lk_work() does this itself. queue NULL:
 * the table's name. Returns LK_OK with *ret_announced (may be NULL); LK_INVALID: the table or its
 * SQL is wrong, as the error text says.
 */
LK_PUBLIC lk_outcome lk_announce(lk_store *store, const char *queue, const lk_work_table *table,
                                 lk_announced *ret_announced, lk_error *error);

/* The loops of a pool over a table can run in different processes. */
typedef enum lk_work_loops {
    LK_WORK_ALL = 0,
    LK_WORK_ANNOUNCES = 1, /* finds and pushes rows; needs no handler */
    LK_WORK_CLAIMS = 2     /* claims and handles rows that another process announces */
} lk_work_loops;

/* ---- a pool of workers ----------------------------------------------------------------------- */

#define LK_WORKERS_MAX 256

/* The counts of a pool of workers so far. */
typedef struct lk_work_counts {
    uint64_t claims;
    uint64_t steals; /* of these: the former claim had perished */
    uint64_t done;
    uint64_t retried; /* given back; `parked` of these were parked */
    uint64_t parked;
    uint64_t lost;       /* worked on, but the claim was lost before the end */
    uint64_t unknown;    /* the store was unreachable at the end, until the claim perished */
    uint64_t announced;  /* R17: rows pushed */
    uint64_t duplicates; /* R17: rows found after another process had pushed them */
    uint64_t left;       /* in the queue when last announced: ready, delayed or claimed */
    uint64_t skipped;    /* R17: rows that match, but whose ids cannot be items', when the finder
                            last had announced all others; 1000 or more: 1000 */
} lk_work_counts;

typedef enum lk_work_step {
    LK_WORK_CLAIMED = 0, /* just before it is handled */
    LK_WORK_DONE = 1,
    LK_WORK_RETRIED = 2,
    LK_WORK_PARKED = 3, /* given back for the last time */
    LK_WORK_LOST = 4,
    LK_WORK_UNKNOWN = 5,
    LK_WORK_ANNOUNCED = 6, /* rows were pushed; not about a claim */
    LK_WORK_SKIPPED = 7    /* a row was skipped; not about a claim. Once for each row, and for the
                              first few only */
} lk_work_step;

/* One step of a pool, with its counts. Valid during the callback. */
typedef struct lk_work_progress {
    lk_work_step step;
    const lk_claim_info *claim; /* NULL: LK_WORK_ANNOUNCED, LK_WORK_SKIPPED */
    int64_t delay_ms;           /* LK_WORK_RETRIED: when it may be claimed again; else 0 */
    lk_work_counts counts;
    const char *text; /* why a handled item is not done: lk_work_table.done failed; which row is
                         skipped and why; else NULL */
} lk_work_progress;

/* Give the item back without a delay: it has not failed, and the attempt does not count. */
#define LK_WORK_GIVE_BACK (-1)

/*
 * Works on one item. Returns 0 when the item is done, any other value to give it back for later.
 * The claim is kept alive meanwhile. lk_lease_is_lost() and lk_lease_on_lost() report when it is
 * lost; the handler should then stop. The lease and the claim end after the handler returns: it
 * must not release or free them. Runs in the thread of its worker.
 */
typedef int lk_work_handle(void *context, const lk_claim_info *claim, lk_lease *lease);

/* One item of a batch. */
typedef struct lk_work_item {
    const lk_claim_info *claim;
    lk_lease *lease;
    int status; /* to be set, as lk_work_handle() returns it; it is 0 when the handler is called */
} lk_work_item;

/*
 * lk_work_handle() for up to lk_work_options.batch items, which were claimed in one decision: as
 * many as there were. Each has a lease of its own, which may be lost by itself. Those that are done
 * are ended in one decision.
 */
typedef void lk_work_handle_batch(void *context, lk_work_item *items, size_t count);

/* Why an item is given back, and until when. All zero when lk_work() asks, but for `size`. */
typedef struct lk_work_failure {
    size_t size;   /* sizeof(lk_work_failure) of the library */
    bool has_exit; /* the work ended with `exit_code` */
    int32_t exit_code;
    const char *text; /* `text_size` bytes, up to 1024; borrowed until the item's next step */
    size_t text_size;
    bool has_delay; /* it is claimed again after `delay_ms`, in place of the pool's delay; cut to 0
                       and 366 days */
    bool uncounted; /* as in lk_retry_request: the attempt does not count */
    bool parks;     /* ...: the item is parked; there is no delay */
    int64_t delay_ms;
} lk_work_failure;

/* Zero the fields you do not set, and set `size`. Everything it points to is borrowed. */
typedef struct lk_work_options {
    size_t size; /* sizeof(lk_work_options) */
    const char *queue;
    lk_work_handle *handle;
    /* Called for every step, one call at a time, from the workers' threads; NULL: none. */
    void (*progress)(void *context, const lk_work_progress *progress);
    void *context;         /* passed to both callbacks */
    size_t workers;        /* how many at once, up to LK_WORKERS_MAX; 0: 1 */
    int64_t ttl_ms;        /* of a claim; 0: 60 s */
    uint32_t max_attempts; /* as in lk_claim_request */
    const char *note;      /* of each claim; NULL: none */
    int64_t retry_min_ms;  /* the delay of an item after its first failed attempt; 0: 1 s */
    int64_t retry_max_ms;  /* it doubles with each attempt up to this; 0: 5 min. Every delay is
                              cut by up to a half at random */
    bool drain;            /* end when nothing is left: nothing ready, delayed or claimed, and
                              no row to announce; LK_WORK_ANNOUNCES: no row to announce. Ready
                              items that wait for the order of a parked one are left (R16) */
    lk_cancel *cancel;     /* ends the pool: no more claims; running handlers finish; NULL: none */
    int64_t patience_ms;   /* how long to retry an unreachable store; 0: without limit */
    const lk_work_table
        *table;          /* R17: the source of the queue (`queue` may be NULL); NULL: no table */
    lk_work_loops loops; /* only with a table */
    /* Asked why, and until when, if the handler has given an item back as failed; the reason is
     * kept with the item (lk_item_info), if the store keeps failures. From the worker's thread.
     * NULL: not said, but for a statement of the table's that failed */
    void (*explain)(void *context, const lk_claim_info *claim, lk_work_failure *ret_failure);
    size_t batch; /* up to LK_CLAIMS_MAX: items that `handle_batch` gets in one call, in place of
                     `handle`; not with a table; 0: one item at a time */
    lk_work_handle_batch *handle_batch;
} lk_work_options;

/*
 * Claims and handles items of a queue until it is cancelled or drained. It runs a pool of workers.
 * Each worker is a thread (the caller's is one of them) with a fresh unique owner. A handled item
 * is done, or given back for later. A claim that is lost meanwhile is counted; the item is left to
 * its next claim.
 * Returns LK_OK: drained; LK_CANCELLED; or the failure of one worker, which ends all of them:
 * LK_INVALID, LK_UNSUPPORTED, LK_DENIED, LK_UNAVAILABLE, LK_INTERNAL. In every case all threads and
 * claims have ended on return. ret_counts may be NULL; otherwise *ret_counts is always set.
 */
LK_PUBLIC lk_outcome lk_work(lk_store *store, const lk_work_options *options,
                             lk_work_counts *ret_counts, lk_error *error);

#ifdef __cplusplus
}
#endif
#endif
