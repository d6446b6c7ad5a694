/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lockkeeper/lockkeeper.h - locks, semaphores and batches with leases, for processes and machines.
 *
 * The shortest correct program (examples/mutex.c is the whole of it):
 *
 *     lk_store *store;
 *     lk_lease *lease;
 *     lk_error error;
 *     const char *parts[] = {"mydatabase/mytest"};
 *     lk_request request = lk_request_init(parts, 1);
 *
 *     if (lk_open(NULL, &store, &error) == LK_OK) {
 *         if (lk_acquire(store, &request, &lease, NULL, &error) == LK_GRANTED) {
 *             write_somewhere(lk_lease_token(lease), ...);  // the resource refuses smaller tokens
 *             lk_lease_release(lease, &error);  // LK_UNAVAILABLE: unknown; it can be called again
 *         }
 *         lk_close(store);
 *     }
 *
 * What is promised. Between the grant and the deadline of a lease no other owner holds a lease that
 * conflicts with it, in any process that uses the same store. First come, first served. Every grant
 * has a fencing token greater than all tokens drawn before it at its roots.
 *
 * What is not promised (read this once):
 *  - A lease ends at its deadline, whether or not its holder has noticed. A process that is
 *    stopped, swapped out or suspended past its deadline continues as if it held the lease.
 *    Keep-alive, the lost callback and lk_lease_is_lost() make that rare and short. Only the token
 *    makes it harmless: pass it to the resource, and let the resource refuse smaller ones.
 *  - LK_UNAVAILABLE means unknown: the call may have taken effect. Repeat it. Repeating is safe if
 *    the request names its owner (a request without one gets a fresh owner each time).
 *  - Stores and leases do not survive fork(): the child opens its own store. Calls of the child on
 *    the parent's store return LK_INTERNAL, and the parent's leases are lost to the child.
 *  - Steps of the wall clock move no deadline. `until_unix_ms` is compared with the wall clock
 *    once, when the request arrives.
 *
 * Conventions. Durations are milliseconds in `_ms`; instants of Unix time are `_unix_ms`. Outputs
 * are named `ret_*` and are set only on success, unless a function says otherwise. "Borrowed" means
 * for the duration of the call. Strings are UTF-8, terminated. A `lk_error *error` may be NULL;
 * otherwise it always gets the outcome, and an explanation where there is one.
 * Threads: every function may be called from any thread at any time, also on the same store or
 * lease, except that close, release and free end the object they are given: no other call may be
 * using it. Only lk_acquire() and lk_ask() with LK_WAIT (and lk_claim_next(), lk_work() and
 * lk_watch_next() of the other headers) block for longer than the store takes to answer.
 */
#ifndef LOCKKEEPER_H
#define LOCKKEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lockkeeper/terms.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LK_VERSION_MAJOR 0
#define LK_VERSION_MINOR 1
#define LK_VERSION_PATCH 0
#define LK_VERSION "0.1.0"

/* The version of the library that is running, e.g. "0.1.0". */
LK_PUBLIC const char *lk_version(void);

/* ---- stores ---------------------------------------------------------------------------------- */

typedef struct lk_store lk_store;

/*
 * Opens the store named by `url`. The schemes (lk(1) describes their options):
 *   sqlite:PATH                 a file on this machine, without a server
 *   postgresql://HOST/DATABASE  a PostgreSQL database
 *   mysql://HOST/DATABASE       a MySQL or MariaDB database; mariadb: is the same
 *   redis://HOST                a Redis server or cluster; rediss://HOST: over TLS
 *   lk://HOST[,HOST...]         a service, lk-serve(1); lks://HOST: over TLS
 *   lk+unix:PATH                a service, by its socket on this machine
 *   shm:NAME                    shared memory of this machine; limits only
 *   mem:                        the memory of this process, for tests
 * A scheme that this build does not contain is LK_UNSUPPORTED. `url` NULL means $LK_STORE, else the
 * store that lockkeeper.conf(5) names: the user's in ${XDG_CONFIG_HOME:-~/.config}, else /etc's;
 * else a SQLite file of this user, ${XDG_STATE_HOME:-~/.local/state}/lockkeeper/locks.db, created
 * on first use.
 * Blocks while the store is set up. A server that is silent has 10 s: then LK_UNAVAILABLE, with the
 * server and the time in *error. That covers the look-up of its name, with which a thread of the
 * library may go on: exit() waits for that thread, at most a second. Once the server has let the
 * program in, its answers are waited for, such as that the store is made. Nothing cancels it: a
 * program with less time opens in a thread.
 * Returns LK_OK with *ret_store, to be closed with lk_close(); or
 * LK_INVALID (the URL, or a line of a configuration file), LK_UNSUPPORTED (no such engine here, or
 * not on this file system),
 * LK_DENIED (rights), LK_UNAVAILABLE or LK_INTERNAL, with nothing opened and nothing changed.
 */
LK_PUBLIC lk_outcome lk_open(const char *url, lk_store **ret_store, lk_error *error);

/*
 * Closes the store; accepts NULL. Leases that are still open are no longer kept alive. They perish
 * by their ttl, and their lost callback is not called. Their handles may still be queried, and must
 * still be freed, with lk_lease_abandon(). Calls of other threads on this store must have ended
 * before (cancel their waits), except calls on its leases. Blocks for up to 3 s from the moment at
 * which a call was given up, if what it may have made is still to be taken back: see lk_ask().
 */
LK_PUBLIC void lk_close(lk_store *store);

/* The URL of the store, without any password. Valid until lk_close(). */
LK_PUBLIC const char *lk_store_url(const lk_store *store);

/*
 * How long the store has not answered: milliseconds since the first ask, wait or renewal of this
 * handle that is still unanswered was sent, one that is under way included; 0 while there is none.
 * The reason is in *error (may be NULL), empty until an attempt has failed. Asks nothing and does
 * not block; any thread may call it, also while others wait.
 */
LK_PUBLIC int64_t lk_away_ms(lk_store *store, lk_error *error);

/* ---- requests -------------------------------------------------------------------------------- */

#define LK_FOREVER INT64_MAX

typedef struct lk_cancel lk_cancel;

/* A request. Start from lk_request_init(); everything it points to is borrowed. */
typedef struct lk_request {
    size_t size;              /* sizeof(lk_request), so that later versions can grow it */
    const char *const *parts; /* 1 to 16 of PATH[?shared][?limit=N[&units=U]] */
    size_t part_count;
    const char *owner;     /* NULL: a fresh unique one, named in the result */
    lk_style style;        /* LK_WAIT unless set */
    int64_t wait_ms;       /* LK_WAIT: for how long, then LK_TIMEOUT; LK_FOREVER unless set;
                              0 is a try */
    int64_t ttl_ms;        /* 50 ms to 366 days; 0: 60 s */
    int64_t until_unix_ms; /* a fixed end in place of ttl_ms, within 366 days; 0: none */
    bool shared;           /* for every part that names no mode */
    uint32_t limit;        /* for every part that names none; 0: none */
    uint32_t units;        /* for every part that names none; 0: not given */
    const char *note;      /* up to 255 bytes, shown with the request; NULL: none, or unchanged */
    size_t blockers_max;   /* how many blockers the result names, up to 1024; 16 unless set */
    lk_cancel *cancel;     /* lets another thread end the wait; NULL: none */
    int64_t patience_ms;   /* how long to retry an unreachable store before LK_UNAVAILABLE;
                              0: 10 s, and with LK_WAIT as long as the wait lasts */
    bool value;            /* return the values of all parts with the grant (rule R15) */
    bool outlives;         /* the lease must outlive this process, or was taken by another one:
                              refused where leases are bound to processes (shm:) */
    bool bound;            /* services only, else LK_UNSUPPORTED: the request, or lease, also ends
                              with the connection that made it (rule R18), at the latest when the
                              store is closed or the process ends. ttl_ms 0 is then 366 days.
                              With lk_acquire() the lease has a connection of its own, and is lost
                              as soon as that has ended, or 20 s after the service was last heard
                              on it; abandoning it ends it. With lk_ask() nothing watches it */
    int64_t at_least_ms;   /* lk_acquire() only: lk_lease_release() leaves the lease held until this
                              long after the grant, so that another machine does not do a quick job
                              once more. 50 ms to 366 days; 0: none. LK_INVALID with until_unix_ms,
                              bound or value; LK_UNSUPPORTED where leases are bound to processes
                              (shm:) */
} lk_request;

static inline lk_request lk_request_init(const char *const *parts, size_t part_count) {
    lk_request request;
    memset(&request, 0, sizeof request);
    request.size = sizeof request;
    request.parts = parts;
    request.part_count = part_count;
    request.style = LK_WAIT;
    request.wait_ms = LK_FOREVER;
    request.blockers_max = 16;
    return request;
}

/* One request that blocks another (rule R20). */
typedef struct lk_blocker_info {
    char *path;
    char *owner;
    char *note; /* NULL: none */
    uint64_t ticket;
    bool held; /* else waiting, ahead in the queue */
    int64_t expires_in_ms;
    char *user; /* of a service with users: whose owner it is; else NULL */
} lk_blocker_info;

/* A `position` is exact up to here. If more requests block one, a store may count fewer (R20). */
#define LK_POSITION_EXACT 16

/* The value at the path of one part (rule R15). */
typedef struct lk_part_value {
    void *value; /* value_size bytes and a 0; NULL: there is none */
    size_t value_size;
    bool in_doubt; /* its last holder perished; what it describes may be half done */
} lk_part_value;

/* The result of a request, renewal or release. Free with lk_result_free(). */
typedef struct lk_result {
    lk_outcome outcome;
    char *error;  /* NULL: nothing to add */
    char **paths; /* as requested, normalised */
    size_t path_count;
    char *owner;
    uint64_t ticket; /* 0: none */
    uint64_t token;  /* the fencing token; 0 unless held */
    int64_t ttl_ms;
    int64_t expires_in_ms; /* -1: there is no live request */
    uint64_t in_use;       /* units held at the first part's path, own included */
    size_t position;       /* how many requests block it; 0 when granted; LK_POSITION_EXACT */
    bool created;          /* this call created the request */
    bool fixed;            /* the deadline is an `until` and does not move */
    lk_blocker_info *blockers;
    size_t blocker_count;
    char **cycle; /* LK_DEADLOCK: owners, the caller first; of a service with users the others as
                     USER//OWNER */
    size_t cycle_count;
    void *value; /* the first part's, if requested and present (rule R15): value_size bytes and
                    a 0; else NULL */
    size_t value_size;
    bool in_doubt; /* the first part's value */
    uint64_t
        *tokens; /* of a batch over several nodes (rule R14): a token for each part; else NULL */
    size_t token_count;
    bool requeued;         /* the store lost the request while it waited, and it was queued again */
    lk_part_value *values; /* if requested, with the grant: one for each part, as in `paths`; else
                              NULL */
    size_t value_count;
} lk_result;

LK_PUBLIC void lk_result_free(lk_result *result); /* accepts NULL */

/*
 * Makes a request without keep-alive: the caller renews the lease with lk_renew(), or it perishes
 * after its ttl. Returns LK_GRANTED; LK_WAITING (LK_QUEUE only: in the queue); LK_BUSY, LK_TIMEOUT,
 * LK_CANCELLED (what this call had queued is withdrawn; an earlier request of the same owner and
 * paths stays); LK_DEADLOCK; LK_LOST (an administrator has revoked this lease, or another call
 * ended the request while this one waited: nothing of it is left in the queue. Where the store
 * itself has lost the request, the call makes it again and continues to wait); LK_INVALID; LK_FULL;
 * LK_DENIED; LK_UNSUPPORTED; LK_UNAVAILABLE (unknown: repeat the call); LK_INTERNAL.
 * A call that ends with LK_TIMEOUT, LK_CANCELLED or LK_UNAVAILABLE leaves nothing that it has made,
 * also when its first ask was on its way: a cancelled call waits for that answer, for up to 3 s in
 * all. What the store does not answer in time is taken back by a thread of the store as soon as it
 * answers, unless the request is asked for again, or perishes before. A request that was there
 * before the call stays as it was.
 * ret_result may be NULL; otherwise *ret_result is always set (NULL only if memory is exhausted).
 */
LK_PUBLIC lk_outcome lk_ask(lk_store *store, const lk_request *request, lk_result **ret_result,
                            lk_error *error);

/*
 * Renews a lease: its deadline is ttl_ms from now. Uses the request's parts (modes are ignored),
 * owner and ttl_ms (0: the previous one). token 0: any token of that owner's. owner NULL: the lease
 * that has this token at the first part's path, of any owner; the result names it. Returns LK_OK;
 * LK_LOST: not held, or revoked; nothing changed; LK_INVALID: neither owner nor token.
 */
LK_PUBLIC lk_outcome lk_renew(lk_store *store, const lk_request *request, uint64_t token,
                              lk_result **ret_result, lk_error *error);

/*
 * Ends a lease, or withdraws a waiting request. Uses the request's parts (modes are ignored) and
 * owner; owner NULL as for lk_renew(). Returns LK_OK; LK_LOST: there is none, or it has another
 * token; nothing changed; LK_INVALID: neither owner nor token. A call repeated within five minutes,
 * with the owner and the token of the lease that it ended, returns LK_OK again.
 */
LK_PUBLIC lk_outcome lk_release(lk_store *store, const lk_request *request, uint64_t token,
                                lk_result **ret_result, lk_error *error);

/* Writes a fresh owner, unique in place and time, to ret_owner (128 bytes and a terminating 0). */
LK_PUBLIC void lk_owner_make(char ret_owner[129]);

/* ---- values (rule R15) ----------------------------------------------------------------------- */

/*
 * A path can keep a value of up to LK_VALUE_MAX bytes, of any kind. The value outlives leases. A
 * request can return the values of its parts with the grant (lk_request.value), and a release can
 * write them. When an exclusive lease that requested values perishes or is broken at once, the
 * values of its exclusive parts are in doubt until the next put: the holder may have died half-way
 * through what they describe.
 */
#define LK_VALUE_MAX 65536

/*
 * Like lk_release(), and writes a value to the first part's path in the same operation; value_size
 * 0 writes an empty one. Returns LK_OK: released and written; LK_LOST: the lease was not held, or
 * its first part is not exclusive: nothing was written, and an existing lease stays; LK_INVALID:
 * too large. A call repeated within five minutes, with the owner and the token of the lease that it
 * ended, returns LK_OK and does not write again.
 */
LK_PUBLIC lk_outcome lk_release_put(lk_store *store, const lk_request *request, uint64_t token,
                                    const void *value, size_t value_size, lk_result **ret_result,
                                    lk_error *error);

/* What a release writes to the path of one of its parts. Everything is borrowed. */
typedef struct lk_part_put {
    const char *path;  /* of a part of the request; NULL: of the first one */
    const void *value; /* up to LK_VALUE_MAX bytes; NULL with size 0: an empty one */
    size_t value_size;
} lk_part_put;

/*
 * The same for several parts, each of which is named at most once; a part that is not named keeps
 * its value. All values are written, or none: each named part must be exclusive, else LK_LOST.
 * LK_INVALID, with nothing done: too large, or a path that is no part of the request or is named
 * twice. Where parts lie on several nodes (rule R14), each node decides about its own parts: on any
 * other outcome than LK_OK some of them may have been released with their values written.
 */
LK_PUBLIC lk_outcome lk_release_put_all(lk_store *store, const lk_request *request, uint64_t token,
                                        const lk_part_put *puts, size_t put_count,
                                        lk_result **ret_result, lk_error *error);

typedef struct lk_value {
    void *bytes; /* `size` bytes and a terminating 0 */
    size_t size;
    bool in_doubt; /* a holder that had requested it perished since it was written */
} lk_value;

LK_PUBLIC void lk_value_free(lk_value *value); /* accepts NULL */

/*
 * Reads a value; never refused because of a lock. Returns LK_OK with *ret_value, to be freed with
 * lk_value_free(); LK_NONE: there is none; or LK_INVALID, LK_UNSUPPORTED, LK_UNAVAILABLE,
 * LK_INTERNAL.
 */
LK_PUBLIC lk_outcome lk_value_get(lk_store *store, const char *path, lk_value **ret_value,
                                  lk_error *error);

/*
 * Writes a value, which ends any doubt. `bytes` NULL deletes it (LK_OK also if there is none). An
 * empty value is size 0 with `bytes` not NULL. owner NULL: the caller holds no lease. Returns
 * LK_OK; LK_BUSY: another owner holds an exclusive lease that covers the path (the call does not
 * wait for it). With a token, which requires the owner, the value is written only while that lease
 * covers the path; else LK_LOST. Or LK_INVALID (too large, or a token without its owner),
 * LK_UNSUPPORTED, LK_UNAVAILABLE (unknown whether it was written), LK_INTERNAL.
 */
LK_PUBLIC lk_outcome lk_value_put(lk_store *store, const char *path, const char *owner,
                                  uint64_t token, const void *bytes, size_t size, lk_error *error);

/* A value of a list, without its bytes. */
typedef struct lk_value_info {
    char *path;
    size_t size; /* in bytes */
    bool in_doubt;
} lk_value_info;

typedef struct lk_value_list {
    lk_value_info *values; /* ordered by the bytes of their paths */
    size_t count;
    char *reached; /* the page ends here: `behind` for the next one; NULL: it was the last */
} lk_value_list;

LK_PUBLIC void lk_value_list_free(lk_value_list *list); /* accepts NULL */

/*
 * Lists values at or below `prefix` (NULL: all) whose paths are greater than `behind`, byte by
 * byte (NULL: from the first): a page of up to 1000. What it costs depends on the page alone.
 * Returns LK_OK with *ret_list, to be freed with lk_value_list_free(); LK_INVALID; LK_UNSUPPORTED:
 * the store cannot list values (redis:) or keeps none; LK_DENIED, LK_UNAVAILABLE or LK_INTERNAL.
 * Each page shows one moment: of several pages, a value that is written or deleted meanwhile may
 * be missing or be gone.
 */
LK_PUBLIC lk_outcome lk_values(lk_store *store, const char *prefix, const char *behind,
                               lk_value_list **ret_list, lk_error *error);

/* ---- leases that are kept alive -------------------------------------------------------------- */

typedef struct lk_lease lk_lease;

/*
 * Makes a request as lk_ask() does and, when it is granted, keeps the lease alive in the
 * background: the lease is renewed every third of its ttl until it is released or lost. (A lease
 * with until_unix_ms needs no renewal; only its end is watched.) On LK_GRANTED *ret_lease is set,
 * and must be ended with lk_lease_release() or lk_lease_abandon(); on every other outcome it is
 * untouched.
 * One owner and one set of paths are one lease, however many handles there are. Releasing it by
 * one handle ends it for all handles. A conversion that draws a new token ends it for all older
 * handles.
 */
LK_PUBLIC lk_outcome lk_acquire(lk_store *store, const lk_request *request, lk_lease **ret_lease,
                                lk_result **ret_result, lk_error *error);

/*
 * Ends the lease. Waits first for its lost callback to return, if that is running. By outcome:
 *   LK_OK           the lease was held all the time, and has ended. The handle is freed
 *   LK_LOST         it was not held any more. The handle is freed
 *   LK_UNAVAILABLE  unknown: the lease may have ended, or ends at its deadline. The handle stays,
 *                   for another release; of a store that is closed every one ends so
 *   LK_DENIED, LK_INTERNAL
 *                   the store or the library has refused the call. The handle stays
 * A handle that stays is freed by a later release, or by lk_lease_abandon(). Nothing renews its
 * lease any more, lk_lease_is_lost() is true of it, and its lost callback is not called. A further
 * release asks the store again. If the first one was carried out, and its answer lost, it returns
 * LK_OK within five minutes; LK_LOST later, or if the ttl has ended meanwhile.
 * Before lk_request.at_least_ms is over, the lease does not end: its deadline is set to that long
 * after the grant, and the handle is freed. The lease perishes then (rule R11), or is released by
 * lk_release() with its token. A lease that was revoked ends at once.
 */
LK_PUBLIC lk_outcome lk_lease_release(lk_lease *lease, lk_error *error);

/*
 * The same at once, also before the time of lk_request.at_least_ms: for a lease under which nothing
 * was done.
 */
LK_PUBLIC lk_outcome lk_lease_release_now(lk_lease *lease, lk_error *error);

/*
 * Like lk_lease_release(), and writes a value to the first part's path in the same operation.
 * Returns LK_OK: released and written; LK_LOST: nothing was written; LK_UNAVAILABLE: unknown both;
 * LK_INVALID: the value is too large, or the first part is not exclusive, or the request had an
 * at_least_ms; LK_UNSUPPORTED: the store keeps no values. On LK_INVALID and LK_UNSUPPORTED nothing
 * is done, and the lease is held as before; after all other outcomes handle and lease are as after
 * lk_lease_release(). To be repeated with the same value, or by lk_lease_release(), which then says
 * nothing of the value: with another one it is LK_INVALID.
 */
LK_PUBLIC lk_outcome lk_lease_release_put(lk_lease *lease, const void *value, size_t value_size,
                                          lk_error *error);

/*
 * The same for several parts, as lk_release_put_all(). LK_INVALID also: a named part is not
 * exclusive. To be repeated with the same values.
 */
LK_PUBLIC lk_outcome lk_lease_release_put_all(lk_lease *lease, const lk_part_put *puts,
                                              size_t put_count, lk_error *error);

/*
 * Stops the keep-alive and frees the handle; asks nothing. The lease stays held until its deadline;
 * one that is bound ends (rule R18).
 */
LK_PUBLIC void lk_lease_abandon(lk_lease *lease); /* accepts NULL */

LK_PUBLIC uint64_t lk_lease_token(const lk_lease *lease);
LK_PUBLIC const char *lk_lease_owner(const lk_lease *lease); /* valid as long as the lease */

/*
 * Returns whether the lease is lost, or must be taken as lost: the store has reported it, or the
 * deadline last confirmed has passed on this machine's clock (which counts suspended time). Once
 * true it stays true. Never blocks, whatever the state of the store.
 */
LK_PUBLIC bool lk_lease_is_lost(const lk_lease *lease);

/*
 * Returns the milliseconds left of the ttl that the store last confirmed. They count from the
 * moment at which the successful renewal was sent, less a two-thousandth of the ttl, because the
 * clocks of two machines may drift apart by that much (500 ppm). 0 when lost.
 */
LK_PUBLIC int64_t lk_lease_remaining_ms(const lk_lease *lease);

/*
 * Sets a callback, which a thread of the store calls once, when the lease is found lost; at once if
 * it already is. The callback must not release or abandon a lease or close the store. It should
 * return soon: renewals of other leases of this store may be delayed while it runs. No lock is held
 * while it runs. NULL unsets it. When this function returns, the previous callback does not run any
 * more, unless the function was called from that callback.
 */
LK_PUBLIC void lk_lease_on_lost(lk_lease *lease, void (*callback)(void *context, lk_lease *lease),
                                void *context);

/* ---- cancelling a wait ----------------------------------------------------------------------- */

LK_PUBLIC lk_cancel *lk_cancel_new(void);         /* NULL when memory is exhausted */
LK_PUBLIC void lk_cancel_free(lk_cancel *cancel); /* accepts NULL; no wait may be using it */

/*
 * Ends every present and future wait that names it with LK_CANCELLED. A call that has asked the
 * store takes up to 3 s to take back what it has made. Must not be called from a signal handler.
 */
LK_PUBLIC void lk_cancel_now(lk_cancel *cancel);

/* ---- listing and administration -------------------------------------------------------------- */

/* One part of a live request. */
typedef struct lk_entry {
    char *path;
    char *owner;
    char *note; /* NULL: none */
    uint64_t ticket;
    uint64_t token; /* 0 while waiting */
    bool held;
    bool shared;
    bool revoked;
    uint32_t limit; /* 0: none */
    uint32_t units; /* shared: at least 1 */
    int64_t ttl_ms;
    int64_t expires_in_ms;
    int64_t age_ms;
    size_t request_index;      /* the same for all parts of one request */
    lk_blocker_info *blockers; /* lk_show() only: what blocks a waiting request */
    size_t blocker_count;
    size_t position; /* how many block it; LK_POSITION_EXACT */
    char *user;      /* of a service with users: whose owner it is; else NULL */
} lk_entry;

typedef struct lk_listing {
    lk_entry *entries; /* in the order of their tickets */
    size_t count;
} lk_listing;

LK_PUBLIC void lk_listing_free(lk_listing *listing); /* accepts NULL */

/* Every part at or below `prefix` (NULL: everywhere) of every live request. LK_OK or an error. */
LK_PUBLIC lk_outcome lk_list(lk_store *store, const char *prefix, lk_listing **ret_listing,
                             lk_error *error);

/* All parts of every live request with a part related to `path`, with blockers (rule R20). */
LK_PUBLIC lk_outcome lk_show(lk_store *store, const char *path, lk_listing **ret_listing,
                             lk_error *error);

typedef struct lk_break_request {
    size_t size;        /* sizeof(lk_break_request) */
    const char *path;   /* requests with a part at exactly this path */
    const char *reason; /* required; 1 to 1024 bytes */
    const char *by;     /* the administrator's name, for the record; required */
    const char *owner;  /* only requests of this owner; NULL: of any. With users, where several of
                           them have it, as USER//OWNER */
    bool at_once;       /* unsafe unless the holder is known to be dead */
} lk_break_request;

/*
 * Ends requests on behalf of an administrator (rule R12). Waiting requests are withdrawn. A lease
 * is revoked: it cannot be renewed, and ends at its deadline, or at once with `at_once`. `reason`
 * and `by` are recorded. Returns LK_OK with *ret_count, also when there was no such request.
 */
LK_PUBLIC lk_outcome lk_break(lk_store *store, const lk_break_request *request, size_t *ret_count,
                              lk_error *error);

typedef struct lk_audit_entry {
    int64_t at_unix_ms;
    char *by;
    char *reason;
    char *path;
    char *owner;
    char *note; /* NULL: none */
    uint64_t ticket;
    uint64_t token;
    bool held;
    char *user; /* of a service with users: whose owner it was; else NULL */
} lk_audit_entry;

typedef struct lk_audit {
    lk_audit_entry *entries; /* oldest first */
    size_t count;
} lk_audit;

LK_PUBLIC void lk_audit_free(lk_audit *audit); /* accepts NULL */

/* Past breaks at or below `prefix` (NULL: everywhere). */
LK_PUBLIC lk_outcome lk_audit_read(lk_store *store, const char *prefix, lk_audit **ret_audit,
                                   lk_error *error);

/* ---- bounds that a store keeps (rule R22) ---------------------------------------------------- */

#define LK_LIMIT_AS_IS UINT64_MAX /* lk_limits_set(): this one stays as it is */
#define LK_EVENTS_KEPT_MAX 1000000

/* 0: no bound. What is there already stays when a bound is set below it. */
typedef struct lk_limits {
    size_t size; /* sizeof(lk_limits) */
    /* A request or claim beyond one of these four returns LK_FULL. At most 2147483647. */
    uint64_t live;             /* live requests in all */
    uint64_t live_per_owner;   /* of one owner */
    uint64_t live_per_root;    /* with a part under one root */
    uint64_t waiters_per_path; /* requests waiting at exactly one path */
    /* How many events are kept at all times (watch.h). 0: kept only while a watch is open. */
    uint64_t events;
} lk_limits;

/* Returns LK_OK with *ret_limits, whose `size` the caller sets before; or an error. */
LK_PUBLIC lk_outcome lk_limits_get(lk_store *store, lk_limits *ret_limits, lk_error *error);

/*
 * Sets all bounds that are not LK_LIMIT_AS_IS, in one step, for all users of the store. Returns
 * LK_OK; LK_INVALID (too large); LK_UNSUPPORTED (bounds of this store are set elsewhere);
 * LK_DENIED; LK_UNAVAILABLE; LK_INTERNAL.
 */
LK_PUBLIC lk_outcome lk_limits_set(lk_store *store, const lk_limits *limits, lk_error *error);

/* A description of a store and its state, to be read by people. */
typedef struct lk_report {
    char *text;     /* one "name: value" a line */
    char *warnings; /* one a line; empty: none */
    int64_t round_trip_us;
    int64_t clock_offset_us; /* the store's wall clock less this machine's */
} lk_report;

LK_PUBLIC void lk_report_free(lk_report *report); /* accepts NULL */
LK_PUBLIC lk_outcome lk_examine(lk_store *store, lk_report **ret_report, lk_error *error);

/*
 * Copies the whole store, as it is at one moment, to the new file `path`, which only this user can
 * read. The file has that name only once it is complete and flushed, and is a store itself:
 * `sqlite:PATH`. Of a service this is a copy of its file, for which its users need the right
 * `admin` at `/`. Blocks for as long as the disk and the network take; other processes use the
 * store meanwhile, other threads' calls of this lk_store wait. Returns LK_OK; LK_INVALID (there is
 * such a file); LK_UNSUPPORTED (this store is copied by its server's own tools, or a service keeps
 * no file); LK_FULL (a service makes one copy at a time); LK_DENIED or LK_UNAVAILABLE (the copy
 * cannot be written, or the store not read); LK_INTERNAL. Unless LK_OK is returned, nothing stays
 * of the copy.
 */
LK_PUBLIC lk_outcome lk_backup(lk_store *store, const char *path, lk_error *error);

#ifdef __cplusplus
}
#endif

#include "lockkeeper/watch.h" /* events */
#include "lockkeeper/work.h"  /* queues of work, built on the above */

#endif
