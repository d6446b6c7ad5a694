/* SPDX-License-Identifier: Apache-2.0 */
/* A cancellation: a switch that throws the wakers of all the waits that name it. */
#ifndef LK_CLIENT_CANCEL_H
#define LK_CLIENT_CANCEL_H

#include "base/waker.h"
#include "lockkeeper/lockkeeper.h"

/* One wait, with the waker that ends it; lives as long as the wait and does not move. */
struct lk_cancel_link {
    struct lk_waker waker;
    lk_cancel *cancel; /* NULL: none can come */
    struct lk_cancel_link *next;
    struct lk_cancel_link *previous;
};

/*
 * From here to lk_cancel_leave() the link has a waker, which lk_cancel_now() throws; it is thrown
 * at once if that was called before. cancel NULL: a waker alone. LK_OK, or LK_INTERNAL when the
 * system is exhausted: then there is nothing to leave.
 */
lk_outcome lk_cancel_join(lk_cancel *cancel, struct lk_cancel_link *link, lk_error *error);
void lk_cancel_leave(struct lk_cancel_link *link);

#endif
