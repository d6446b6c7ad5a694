/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The candidates for the word at the cursor: `lk __complete WORD... CURRENT` with the words behind
 * `lk` up to the cursor, the last of which may be empty. Prints one candidate a line, with a tab
 * and a description. The shells' own files (completion/) only pass the words and the candidates.
 */
#ifndef LK_CLI_COMPLETE_H
#define LK_CLI_COMPLETE_H

#include <stdio.h>

/* The first word of such a call. It is in no list of commands. */
#define LK_COMPLETE_COMMAND "__complete"

/*
 * `words` is ended by NULL. Never fails, never creates a store, and ends the program after two
 * seconds, because the shell blocks until it ends.
 */
void lk_complete(char *const *words, FILE *out);

#endif
