/* SPDX-License-Identifier: Apache-2.0 */
/* The end of what a command has written: the last lines of it, as text. */
#ifndef LK_CLI_WORK_TAIL_H
#define LK_CLI_WORK_TAIL_H

#include <stdbool.h>
#include <stddef.h>

enum { LK_POOL_TAIL_MAX = 1024 }; /* as much as is kept with an item */

/* All zero: nothing was written. */
struct lk_pool_tail {
    char bytes[LK_POOL_TAIL_MAX]; /* in the order of writing, but for where it begins */
    size_t begin;                 /* index of the oldest byte, when it is full */
    size_t size;
    bool is_cut; /* more was written before */
};

void lk_pool_tail_add(struct lk_pool_tail *tail, const char *bytes, size_t size);

/*
 * Fills `text`, ended by 0, and returns its size. Valid UTF-8: other bytes, and 0, become '?'.
 * Without the end of the last line; if more was written than is kept, from the beginning of a line,
 * where there is one.
 */
size_t lk_pool_tail_text(const struct lk_pool_tail *tail, char text[LK_POOL_TAIL_MAX + 1]);

#endif
