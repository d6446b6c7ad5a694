/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that stand as hexadecimal digits, as in URLs. */
#ifndef LK_BASE_PERCENT_H
#define LK_BASE_PERCENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"

/* 0 to 15; -1: no such digit. */
int lk_hexadecimal(char digit);

/*
 * Copies `text` with each %XX resolved, and a terminator. false, with anything in `ret_text`: it
 * does not fit into `capacity` bytes, has a byte 0, or a percent sign that means nothing.
 */
bool lk_percent_decode(struct lk_slice text, char *ret_text, size_t capacity);

#endif
