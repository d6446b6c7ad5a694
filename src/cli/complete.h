/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a shell may put where the cursor stands: `lk __complete WORD... CURRENT` with the words
 * behind `lk` up to the cursor, the last of which may be empty. Prints one candidate a line, with
 * a tab and some words about it. The shells' own files (completion/) only carry it back and forth.
 */
#ifndef LK_CLI_COMPLETE_H
#define LK_CLI_COMPLETE_H

#include <stdio.h>

/* The first word of such a call. It is in no list of commands. */
#define LK_COMPLETE_COMMAND "__complete"

/*
 * `words` is ended by NULL. Never fails, never makes a store, and ends the program after two
 * seconds: a shell that completes waits for nobody.
 */
void lk_complete(char *const *words, FILE *out);

#endif
