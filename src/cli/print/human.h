/* SPDX-License-Identifier: Apache-2.0 */
/* Text for a terminal: durations, untrusted text made safe, and how wide text is. */
#ifndef LK_CLI_PRINT_HUMAN_H
#define LK_CLI_PRINT_HUMAN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { LK_HUMAN_DURATION_SIZE = 32 };

/* The two greatest units that matter, rounded: "850ms", "12s", "3m20s", "2h5m", "4d". */
void lk_human_duration(int64_t duration_ms, char ret_text[LK_HUMAN_DURATION_SIZE]);

/*
 * A copy of `text` that is one line of plain characters: what is no UTF-8, and control
 * characters, become \xHH. Free with free(); NULL when memory is exhausted.
 */
char *lk_human_visible(const char *text);

/*
 * The same of a message of the library, which names the rule that it follows from before its
 * sentence, or within it where it repeats another one: "part 1, \"a//b\": R1: a segment ...". Here
 * the rules come last: "part 1, \"a//b\": a segment ... (R1)".
 */
char *lk_human_sentence(const char *text);

/*
 * How many bytes of an owner are printed for people, for "%.*s": `user@host/pid` of one that lk
 * made, all of one that the user named. --json has all of both.
 */
int lk_human_owner_size(const char *owner);

/* That part, made visible. Free with free(); NULL when memory is exhausted. */
char *lk_human_owner(const char *owner);

/* The same with the user of a service whose owner it is; NULL: none. */
char *lk_human_owner_of(const char *owner, const char *user);

/* ---- how wide text is ------------------------------------------------------------------------ */

/*
 * How many columns text takes on a terminal. Independent of the locale: a small table has the wide
 * characters and those without a column of their own, coarse for rare scripts. Text is visible text
 * (see above): no control characters; a byte that is not UTF-8 counts as one column.
 */

/* 0 for what is put onto the character before it, 2 for wide ones, else 1. */
int lk_width_of_character(uint32_t character);

int lk_width_of(const char *text);

/*
 * How many bytes of `text` fit into `columns`: whole characters, each with the marks on it.
 * *ret_used is how many columns they take.
 */
size_t lk_width_fit(const char *text, int columns, int *ret_used);

#endif
