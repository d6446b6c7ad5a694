/* SPDX-License-Identifier: Apache-2.0 */
/* Reply buffers. A failed buffer means that an answer is missing: the connection is then closed. */
#include <stdlib.h>

#include "server/resp/resp.h"

enum { MARKS_MIN = 8, IDLE_BYTES_MAX = 16384 };

void lk_reply_buffer_done(struct lk_reply_buffer *buffer) {
    lk_buffer_done(&buffer->bytes);
    free(buffer->marks);
    *buffer = (struct lk_reply_buffer){.bytes.max = buffer->bytes.max};
}

void lk_reply_buffer_begin(struct lk_reply_buffer *buffer) {
    buffer->answer_begin = buffer->bytes.size;
}

bool lk_reply_buffer_fits(struct lk_reply_buffer *buffer) {
    bool fits = !buffer->bytes.failed;

    if (!fits) {
        lk_buffer_cut(&buffer->bytes, buffer->answer_begin);
        buffer->bytes.failed = false;
    }
    return fits;
}

static bool reserve_mark(struct lk_reply_buffer *buffer) {
    size_t capacity = buffer->capacity != 0 ? buffer->capacity * 2 : MARKS_MIN;
    struct lk_reply_mark *marks;

    if (buffer->first + buffer->count < buffer->capacity) {
        return true;
    }
    if (buffer->first > 0) {
        memmove(buffer->marks, buffer->marks + buffer->first,
                buffer->count * sizeof *buffer->marks);
        buffer->first = 0;
        return true;
    }
    marks = realloc(buffer->marks, capacity * sizeof *marks);
    if (marks == NULL) {
        return false;
    }
    buffer->marks = marks;
    buffer->capacity = capacity;
    return true;
}

void lk_reply_buffer_end(struct lk_reply_buffer *buffer, uint64_t batch, bool is_answer) {
    if (buffer->bytes.failed) {
        lk_buffer_cut(&buffer->bytes, buffer->answer_begin);
    }
    if (buffer->bytes.size == buffer->answer_begin) {
        return;
    }
    if (buffer->count == 0 && batch <= buffer->durable) {
        buffer->sendable = buffer->bytes.size;
        return;
    }
    if (!reserve_mark(buffer)) {
        buffer->bytes.failed = true;
        lk_buffer_cut(&buffer->bytes, buffer->answer_begin);
        return;
    }
    buffer->marks[buffer->first + buffer->count++] =
        (struct lk_reply_mark){.batch = batch, .end = buffer->bytes.size, .is_answer = is_answer};
}

void lk_reply_buffer_release(struct lk_reply_buffer *buffer, uint64_t batch) {
    if (batch > buffer->durable) {
        buffer->durable = batch;
    }
    while (buffer->count > 0 && buffer->marks[buffer->first].batch <= buffer->durable) {
        buffer->sendable = buffer->marks[buffer->first].end;
        buffer->first++;
        buffer->count--;
    }
    if (buffer->count == 0) {
        buffer->first = 0;
    }
}

void lk_reply_buffer_void(struct lk_reply_buffer *buffer, struct lk_slice instead) {
    size_t answers = 0;

    for (size_t i = 0; i < buffer->count; i++) {
        answers += buffer->marks[buffer->first + i].is_answer ? 1 : 0;
    }
    lk_buffer_cut(&buffer->bytes, buffer->sendable);
    for (size_t i = 0; i < answers; i++) {
        lk_buffer_add_slice(&buffer->bytes, instead);
    }
    buffer->sendable = buffer->bytes.size;
    buffer->first = 0;
    buffer->count = 0;
}

struct lk_slice lk_reply_buffer_sendable(const struct lk_reply_buffer *buffer) {
    if (buffer->bytes.bytes == NULL) {
        return (struct lk_slice){.size = 0}; /* nothing may be added to NULL, not even 0 */
    }
    return (struct lk_slice){.bytes = buffer->bytes.bytes + buffer->sent,
                             .size = buffer->sendable - buffer->sent};
}

/* Drops the bytes that were sent: at once when they are all, else when they are more than half. */
static void forget(struct lk_reply_buffer *buffer) {
    size_t sent = buffer->sent;

    lk_buffer_consume(&buffer->bytes, sent);
    buffer->sendable -= sent;
    for (size_t i = 0; i < buffer->count; i++) {
        buffer->marks[buffer->first + i].end -= sent;
    }
    buffer->sent = 0;
    if (buffer->bytes.size == 0 && buffer->bytes.capacity > IDLE_BYTES_MAX) {
        lk_buffer_done(&buffer->bytes);
    }
}

void lk_reply_buffer_consume(struct lk_reply_buffer *buffer, size_t size) {
    buffer->sent += size;
    if (buffer->sent == buffer->bytes.size
        || (buffer->sent > IDLE_BYTES_MAX && buffer->sent > buffer->bytes.size / 2)) {
        forget(buffer);
    }
}
