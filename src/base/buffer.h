/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing run of bytes with a bound. It remembers that an addition failed, so that a function can
 * add the fields of a record one by one and check once at the end. An addition that fails adds
 * nothing.
 */
#ifndef LK_BASE_BUFFER_H
#define LK_BASE_BUFFER_H

#include <stdint.h>

#include "base/slice.h"

struct lk_buffer {
    char *bytes; /* owned; NULL as long as nothing was ever added */
    size_t size;
    size_t capacity;
    size_t max;  /* bytes at most; 0: no bound but memory's */
    bool failed; /* something was left out: the bound was reached, or memory is exhausted */
};

/* Zeroed but for its bound, a buffer is empty and needs no opening. */
void lk_buffer_done(struct lk_buffer *buffer);

/* Room for `size` more bytes behind the present ones; NULL: there is none, and it has failed. */
char *lk_buffer_make_room(struct lk_buffer *buffer, size_t size);
static inline char *lk_buffer_reserve(struct lk_buffer *buffer, size_t size) {
    bool has_room = !buffer->failed && size < buffer->capacity - buffer->size
                    && (buffer->max == 0 || size <= buffer->max - buffer->size);

    return has_room ? buffer->bytes + buffer->size : lk_buffer_make_room(buffer, size);
}

void lk_buffer_add(struct lk_buffer *buffer, const void *bytes, size_t size);
void lk_buffer_add_slice(struct lk_buffer *buffer, struct lk_slice slice);
void lk_buffer_add_text(struct lk_buffer *buffer, const char *text);
void lk_buffer_add_number(struct lk_buffer *buffer, int64_t number);

/* Inserts bytes at the offset `at`. */
void lk_buffer_insert(struct lk_buffer *buffer, size_t at, const void *bytes, size_t size);

/* Drops the first `size` bytes, or all behind the first `size`. */
void lk_buffer_consume(struct lk_buffer *buffer, size_t size);
void lk_buffer_cut(struct lk_buffer *buffer, size_t size);

/* A number in decimal into `text`, which has room for LK_NUMBER_BYTES_MAX; returns its size. */
enum { LK_NUMBER_BYTES_MAX = 20 };
size_t lk_number_write(char *text, int64_t number);

#endif
