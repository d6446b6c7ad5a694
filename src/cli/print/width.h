/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many columns text takes on a terminal. Independent of the locale: a small table has the wide
 * characters and those without a column of their own, coarse for rare scripts. Text is visible text
 * (human.h): no control characters; a byte that is not UTF-8 counts as one column.
 */
#ifndef LK_CLI_PRINT_WIDTH_H
#define LK_CLI_PRINT_WIDTH_H

#include <stddef.h>
#include <stdint.h>

/* 0 for what is put onto the character before it, 2 for wide ones, else 1. */
int lk_width_of_character(uint32_t character);

int lk_width_of(const char *text);

/*
 * How many bytes of `text` fit into `columns`: whole characters, each with the marks on it.
 * *ret_used is how many columns they take.
 */
size_t lk_width_fit(const char *text, int columns, int *ret_used);

#endif
