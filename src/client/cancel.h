/* SPDX-License-Identifier: Apache-2.0 */
/* A cancellation: a switch that throws the wakers of all the waits that name it. */
#ifndef LK_CLIENT_CANCEL_H
#define LK_CLIENT_CANCEL_H

#include "base/waker.h"
#include "lockkeeper/lockkeeper.h"

/*
 * A call that is cancelled has LK_CANCEL_US to leave the store as it was. In most of that time it
 * waits for the answer to what it has sent: only that tells what there is to take back. A store
 * that has failed to answer before is not waited for as long.
 */
#define LK_CANCEL_US INT64_C(3000000)
#define LK_CANCEL_ANSWER_US INT64_C(2500000)
#define LK_CANCEL_ANSWER_AWAY_US INT64_C(500000)

/* One wait, with the wakers that end it; lives as long as the wait and does not move. */
struct lk_cancel_link {
    struct lk_waker waker; /* ends sleeps, and the wait for what may come at any time */
    struct lk_waker late;  /* the same, but an answer that is due is waited for */
    lk_cancel *cancel;     /* NULL: none can come */
    struct lk_cancel_link *next;
    struct lk_cancel_link *previous;
};

/* Throws both. */
void lk_cancel_link_throw(struct lk_cancel_link *link);

/*
 * From here to lk_cancel_leave() the link has wakers, which lk_cancel_now() throws; they are thrown
 * at once if that was called before. cancel NULL: wakers alone. LK_OK, or LK_INTERNAL when the
 * system is exhausted: then there is nothing to leave.
 */
lk_outcome lk_cancel_join(lk_cancel *cancel, struct lk_cancel_link *link, lk_error *error);
void lk_cancel_leave(struct lk_cancel_link *link);

#endif
