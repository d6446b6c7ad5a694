/* SPDX-License-Identifier: Apache-2.0 */
/* A cancellation: a switch that throws the wakers of all the waits that name it. */
#ifndef LK_CLIENT_CANCEL_H
#define LK_CLIENT_CANCEL_H

#include "base/waker.h"
#include "lockkeeper/lockkeeper.h"

/* One wait that a cancellation ends; lives as long as the wait. */
struct lk_cancel_link {
    struct lk_waker *waker;
    struct lk_cancel_link *next;
    struct lk_cancel_link *previous;
};

/* From here to lk_cancel_leave() the waker is thrown when the cancellation is; at once if it is
 * already. */
void lk_cancel_join(lk_cancel *cancel, struct lk_cancel_link *link, struct lk_waker *waker);
void lk_cancel_leave(lk_cancel *cancel, struct lk_cancel_link *link);

#endif
