/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What calls that were given up may have left in a store, and a thread of the store that takes it
 * back.
 *
 * A call is given up when it is cancelled, when its time is over, or when the store stays away. The
 * store may then carry out, or have carried out, an ask whose answer no caller gets: a lease that
 * no program holds, a queued request that is granted later, or an item that no worker works on.
 * Such a leftover is noted here. The thread asks for its end, again and again while the store does
 * not answer, until it would have perished by its ttl.
 *
 * Only what the call has made is ended. An owner that was made for the call has nothing else. The
 * request of an owner that the caller named may be older: it is ended only if its age in the store
 * shows that it is younger than the call. Of the claims of such an owner the ask number of the call
 * finds its own. It is asked for only if one of them may be that young, since else it would claim
 * another item and count an attempt.
 */
#ifndef LK_CLIENT_LEFTOVER_H
#define LK_CLIENT_LEFTOVER_H

#include <pthread.h>

#include "base/waker.h"
#include "engine/engine.h"

#define LK_LEFTOVER_CLOSE_US INT64_C(2000000) /* how long lk_close() waits for most of them */

/* Borrows everything. */
struct lk_leftover {
    struct lk_slice owner;
    const struct lk_part *parts;
    size_t part_count;
    struct lk_slice batch; /* R14: as in struct lk_target; the parts are those at one node */
    int64_t began_us;      /* before the first ask was sent */
    int64_t ttl_ms;
    bool is_ours;           /* the call has made what there is; else its age decides */
    uint64_t token;         /* of a lease that was granted, the only one that is ended; 0: none */
    int64_t close_until_us; /* lk_close() waits for its end until then */

    const struct lk_take *take; /* R16: of a claim, whose queue is the one part; NULL: no claim */
    size_t take_count;          /* so many takes, with ask numbers in a row */
    const struct lk_source *source; /* R17: of the queue; NULL: it is no table */
};

/* Gives back an item that the owner of the take has claimed. LK_OK, LK_LOST, or as decide(). */
lk_outcome lk_leftover_return_item(struct lk_engine *engine, const struct lk_take *take,
                                   struct lk_slice id, uint64_t token,
                                   const struct lk_patience *patience, lk_error *error);

/* lk_leftover_end() of a claim. */
lk_outcome lk_leftover_end_claims(struct lk_engine *engine, const struct lk_leftover *leftover,
                                  const struct lk_patience *patience, lk_error *error);

/*
 * Ends it, if it is there. LK_OK: it is ended; LK_BUSY: it is older than the call, and stays;
 * LK_NONE: there is nothing, but an ask that is still on its way may make it; LK_LOST: the lease
 * with its token has ended; or another outcome of the engine.
 */
lk_outcome lk_leftover_end(struct lk_engine *engine, const struct lk_leftover *leftover,
                           const struct lk_patience *patience, lk_error *error);

struct lk_note;

struct lk_leftovers {
    pthread_mutex_t mutex;  /* guards the rest */
    pthread_cond_t changed; /* a note was added, is no longer busy, or is gone; or the closing */
    struct lk_engine *engine;
    struct lk_note *first;
    struct lk_waker waker; /* thrown by closing: ends the attempt under way */
    pthread_t thread;
    bool is_started;
    bool is_closed;
    const char *url;            /* of the store */
    struct lk_leftovers *other; /* the next store that this process has open */
};

/*
 * A call for a request whose owner its caller has named, while it is under way. Another call of
 * this process may ask for the same request, by this handle of the store or by another one of the
 * same URL.
 */
struct lk_asking {
    const char *url;
    struct lk_slice owner;
    const struct lk_part *parts;
    size_t part_count;
    bool is_shared; /* another one was under way meanwhile: what there is may be the other's */
    struct lk_asking *next;
};

/* Borrows the URL. false: the system has no more of what it needs. */
bool lk_leftovers_init(struct lk_leftovers *leftovers, struct lk_engine *engine, const char *url);

/*
 * Waits for the notes, each until its own moment, and ends the thread. What is left perishes by its
 * ttl.
 */
void lk_leftovers_close(struct lk_leftovers *leftovers);

/* Notes it: all is copied. Without memory or threads it perishes by its ttl. */
void lk_leftovers_add(struct lk_leftovers *leftovers, const struct lk_leftover *leftover);

/*
 * The call of *asking begins, whose first four fields are set. The same request may be asked for
 * again, so it is not to be ended: its notes are dropped, by all handles of this store in the
 * process, after the attempt under way. Returns when the first call began that has left one of
 * them; LK_NEVER: there was none. lk_leftovers_leave() must follow.
 */
int64_t lk_leftovers_enter(struct lk_asking *asking);
void lk_leftovers_leave(struct lk_asking *asking);

/* Whether what the call leaves may belong to another one; false for NULL. */
bool lk_leftovers_is_shared(const struct lk_asking *asking);

#endif
