/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes written as hexadecimal digits, as in URLs. */
#ifndef LK_BASE_PERCENT_H
#define LK_BASE_PERCENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"

/* 0 to 15; -1: no such digit. */
int lk_hexadecimal(char digit);

/*
 * Copies `text` with each %XX decoded, and a terminator. false, with `ret_text` undefined: the
 * result does not fit into `capacity` bytes or contains a byte 0, or a percent sign is not followed
 * by two digits.
 */
bool lk_percent_decode(struct lk_slice text, char *ret_text, size_t capacity);

#endif
