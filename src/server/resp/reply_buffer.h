/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers and notices of a session, in order, and how many of them may leave. An answer leaves
 * after the batch that it depends on is durable, and after every answer before it.
 */
#ifndef LK_SERVER_RESP_REPLY_BUFFER_H
#define LK_SERVER_RESP_REPLY_BUFFER_H

#include "base/buffer.h"

/* An answer or notice that is held back. */
struct lk_reply_mark {
    uint64_t batch;
    size_t end; /* in bytes */
    bool is_answer;
};

/* Zeroed but for the bound of its bytes, it is empty; freed by lk_reply_buffer_done(). */
struct lk_reply_buffer {
    struct lk_buffer
        bytes;        /* written to between lk_reply_buffer_begin() and lk_reply_buffer_end() */
    size_t sendable;  /* this many bytes may leave */
    size_t sent;      /* ... and this many of them have been sent */
    uint64_t durable; /* the last batch that is durable */
    struct lk_reply_mark *marks; /* `count` from `first` on, in order */
    size_t first;
    size_t count;
    size_t capacity;
    size_t answer_begin;
};

void lk_reply_buffer_done(struct lk_reply_buffer *buffer);

/*
 * Called before and after an answer or notice is written to buffer->bytes. Bytes that exceed the
 * bound are cut off where the answer began, so only whole answers leave. lk_reply_buffer_fits()
 * says whether it fits, and makes room for a smaller answer in its place.
 */
void lk_reply_buffer_begin(struct lk_reply_buffer *buffer);
bool lk_reply_buffer_fits(struct lk_reply_buffer *buffer);
void lk_reply_buffer_end(struct lk_reply_buffer *buffer, uint64_t batch, bool is_answer);

/* Every answer that depends on this batch, or an earlier one, may leave. */
void lk_reply_buffer_release(struct lk_reply_buffer *buffer, uint64_t batch);

/* Voids what is held back: each answer becomes `instead`, notices are dropped. */
void lk_reply_buffer_void(struct lk_reply_buffer *buffer, struct lk_slice instead);

/*
 * The bytes that may leave now, valid until the buffer changes; and reports that so many were sent.
 */
struct lk_slice lk_reply_buffer_sendable(const struct lk_reply_buffer *buffer);
void lk_reply_buffer_consume(struct lk_reply_buffer *buffer, size_t size);

#endif
