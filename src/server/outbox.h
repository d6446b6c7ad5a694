/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers and notices of a session, in order, and how many of them may leave. An answer leaves
 * after the batch that it depends on is durable, and after every answer before it.
 */
#ifndef LK_SERVER_OUTBOX_H
#define LK_SERVER_OUTBOX_H

#include "base/buffer.h"

/* An answer or notice that is held back. */
struct lk_outbox_mark {
    uint64_t batch;
    size_t end; /* in bytes */
    bool is_answer;
};

/* Zeroed but for the bound of its bytes, it is empty; freed by lk_outbox_done(). */
struct lk_outbox {
    struct lk_buffer bytes;       /* written to between lk_outbox_begin() and lk_outbox_end() */
    size_t leaving;               /* this many bytes may leave */
    size_t gone;                  /* ... and this many of them have been sent */
    uint64_t durable;             /* the last batch that is durable */
    struct lk_outbox_mark *marks; /* `count` from `first` on, in order */
    size_t first;
    size_t count;
    size_t room;
    size_t began;
};

void lk_outbox_done(struct lk_outbox *box);

/*
 * Called before and after an answer or notice is written to box->bytes. Bytes that exceed the bound
 * are cut off where the answer began, so only whole answers leave. lk_outbox_fits() says whether it
 * fits, and makes room for a smaller answer in its place.
 */
void lk_outbox_begin(struct lk_outbox *box);
bool lk_outbox_fits(struct lk_outbox *box);
void lk_outbox_end(struct lk_outbox *box, uint64_t batch, bool is_answer);

/* Every answer that depends on this batch, or an earlier one, may leave. */
void lk_outbox_release(struct lk_outbox *box, uint64_t batch);

/* Voids what is held back: each answer becomes `instead`, notices are dropped. */
void lk_outbox_void(struct lk_outbox *box, struct lk_slice instead);

/* The bytes that may leave now, valid until the box changes; and reports that so many were sent. */
struct lk_slice lk_outbox_leaving(const struct lk_outbox *box);
void lk_outbox_consume(struct lk_outbox *box, size_t size);

#endif
