/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session is told, in its order, and how much of it may leave: nothing leaves before the
 * batch that it depends on is durable, nor before what stands in front of it.
 */
#ifndef LK_SERVER_DOORS_OUTBOX_H
#define LK_SERVER_DOORS_OUTBOX_H

#include "base/buffer.h"

/* One answer or notice that is held back. */
struct lk_outbox_mark {
    uint64_t batch;
    size_t end; /* in bytes */
    bool is_answer;
};

/* Zeroed but for the bound of its bytes it is empty; ends with lk_outbox_done(). */
struct lk_outbox {
    struct lk_buffer bytes;       /* written to between begin and end */
    size_t leaving;               /* the first so many may leave */
    size_t gone;                  /* ... and so many of them have left */
    uint64_t durable;             /* the last batch that is */
    struct lk_outbox_mark *marks; /* from `first` on, in order */
    size_t first;
    size_t count;
    size_t room;
    size_t began;
};

void lk_outbox_done(struct lk_outbox *box);

/* Around what is written to box->bytes for one answer or notice. */
void lk_outbox_begin(struct lk_outbox *box);
void lk_outbox_end(struct lk_outbox *box, uint64_t batch, bool is_answer);

/* All that depends on this batch, or an earlier one, may leave. */
void lk_outbox_release(struct lk_outbox *box, uint64_t batch);

/* All that is held back is void: each answer becomes `instead`, notices are dropped. */
void lk_outbox_void(struct lk_outbox *box, struct lk_slice instead);

/* What may leave now, valid until the box is touched; and that so much of it has left. */
struct lk_slice lk_outbox_leaving(const struct lk_outbox *box);
void lk_outbox_consume(struct lk_outbox *box, size_t size);

#endif
