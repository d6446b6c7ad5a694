/* SPDX-License-Identifier: Apache-2.0 */
/* An open store, for the files of this folder. */
#ifndef LK_CLIENT_STORE_H
#define LK_CLIENT_STORE_H

#include <sys/types.h>

#include "client/contact.h"
#include "client/leftover.h"
#include "engine/engine.h"

/* ---- opening an engine ----------------------------------------------------------------------- */

/*
 * Within a time, or until it is cancelled, whatever blocks below.
 *
 * Engines heed their patience and its waker, but not everything below them does: getaddrinfo()
 * blocks for as long as name servers are silent, also inside client libraries. So a thread opens
 * what is remote. If it does not end soon after its time, it is abandoned, and closes what it has
 * opened by then.
 */

struct lk_opening_order {
    const struct lk_engine_ops *ops;
    struct lk_slice rest; /* of the URL, after its scheme */
    const char *name;     /* the URL without a password, for messages */
    bool must_exist;
    int64_t contact_ms; /* within which the server must answer; at most LK_PATIENCE_DEFAULT_MS */
    lk_cancel *cancel;  /* NULL: none can come */
};

/*
 * As open() or open_existing() of the engine. A server that has answered has more time, for making
 * the store. LK_CANCELLED: it was cancelled. A silence is LK_UNAVAILABLE, with its length.
 */
lk_outcome lk_opening_carry_out(const struct lk_opening_order *order, struct lk_engine **ret_engine,
                                lk_error *error);

/*
 * Whether a thread that was abandoned is still at work in this process. Then exit() waits for it,
 * at most a second, before the libraries that it uses are taken down. A program that need not wait
 * ends by _exit().
 */
bool lk_opening_is_abandoned(void);

/* ---- stores ---------------------------------------------------------------------------------- */

struct lk_keepalive;
struct lk_pool_leader;
struct lk_queue_leader;

struct lk_store {
    struct lk_engine *engine;
    struct lk_keepalive *keepalive;
    struct lk_contact contact;
    struct lk_leftovers leftovers;
    bool has_leftovers; /* they have been initialised */
    char *url;          /* without any password */
    pid_t opened_by;    /* a child of fork() may not use it */
    /* client/work/leader.h: of a pool of processes, each with one lk_work() of one worker, of which
     * this is the member; NULL: there is none. And of pools in this process. */
    struct lk_pool_leader *leader;
    uint32_t member;
    struct lk_queue_leader *queue_leaders;
};

#define LK_PATIENCE_DEFAULT_MS INT64_C(10000) /* for a store that does not answer */

/*
 * The engine for a URL, and the rest of the URL, for that engine. LK_OK; LK_INVALID;
 * LK_UNSUPPORTED: this build has none.
 */
lk_outcome lk_store_engine_of(const char *url, const struct lk_engine_ops **ret_ops,
                              struct lk_slice *ret_rest, lk_error *error);

/* LK_OK, or LK_INVALID, LK_UNSUPPORTED: no store can have this URL. Opens nothing. */
lk_outcome lk_store_check_url(const char *url, lk_error *error);

/*
 * As lk_open(), for a caller that waits so long (0: not, LK_FOREVER: for ever) for what it asks of
 * the store: the server must have answered by then and a little more, at most the patience of
 * lk_open(). Making the store is not bounded by it. LK_CANCELLED when it is cancelled; `cancel` may
 * be NULL.
 */
lk_outcome lk_store_open_within(const char *url, int64_t wait_ms, lk_cancel *cancel,
                                lk_store **ret_store, lk_error *error);

/*
 * How long a server may take to answer a caller that waits so long: a little more, and at most the
 * patience of lk_open().
 */
int64_t lk_store_contact_ms(int64_t wait_ms);

/* As lk_examine(), for a caller that waits so long. */
lk_outcome lk_store_examine_within(lk_store *store, int64_t wait_ms, lk_report **ret_report,
                                   lk_error *error);

/*
 * As lk_open(), of a store that its engine need not make first: else LK_NONE, and nothing is made.
 * An engine whose stores are files makes them all the same. LK_CANCELLED as above.
 */
lk_outcome lk_store_open_existing(const char *url, lk_cancel *cancel, lk_store **ret_store,
                                  lk_error *error);

/*
 * LK_OK when the store may be used by this process. After fork() it may not: its locks, files and
 * threads are the parent's, and LK_INTERNAL says so in *error.
 */
lk_outcome lk_store_check(const struct lk_store *store, lk_error *error);

/* The same, where the engine must be capable of something; else LK_UNSUPPORTED names it (R23). */
lk_outcome lk_store_check_can(const struct lk_store *store, enum lk_capability needed,
                              lk_error *error);

/* What this store can: enum lk_capability. */
unsigned lk_store_capabilities(const struct lk_store *store);

#endif
