/* SPDX-License-Identifier: Apache-2.0 */
/* Text that is built in a buffer of a fixed size, and copies of texts on the heap. */
#ifndef LK_BASE_TEXT_H
#define LK_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

/* Always terminated. Text that does not fit is cut off, and is_cut is set. */
struct lk_text {
    char *bytes; /* borrowed */
    size_t size; /* without the terminator */
    size_t capacity;
    bool is_cut;
};

/* Starts an empty text in `buffer`, which has room for capacity > 0 bytes with the terminator. */
struct lk_text lk_text_in(char *buffer, size_t capacity);

void lk_text_add(struct lk_text *text, struct lk_slice piece);
void lk_text_format(struct lk_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A terminated copy, for free(); NULL when memory is exhausted. */
char *lk_text_copy(struct lk_slice source);

/* A text as long as it needs to be, for free(); NULL when memory is exhausted. */
char *lk_text_make(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- text with bytes written as hexadecimal digits, as in URLs ------------------------------- */

/* 0 to 15; -1: no such digit. */
int lk_hexadecimal(char digit);

/*
 * Copies `text` with each %XX decoded, and a terminator. false, with `ret_text` undefined: the
 * result does not fit into `capacity` bytes or contains a byte 0, or a percent sign is not followed
 * by two digits.
 */
bool lk_percent_decode(struct lk_slice text, char *ret_text, size_t capacity);

/* ---- how alike words are --------------------------------------------------------------------- */

/* How similar a mistyped word is to a known one, for "did you mean". */

#define LK_LIKENESS_NONE SIZE_MAX

/*
 * How many characters must be put in, left out or replaced to make `known` of the first `size`
 * bytes of `word`; a known word that only goes on where `word` ends counts as one. LK_LIKENESS_NONE
 * when they are too different for a suggestion.
 */
size_t lk_likeness(const char *word, size_t size, const char *known);

#endif
