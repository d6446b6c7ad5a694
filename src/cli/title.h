/* SPDX-License-Identifier: Apache-2.0 */
/* What others see of a command line: the title of the process, and the note of a request. */
#ifndef LK_CLI_TITLE_H
#define LK_CLI_TITLE_H

#include <stdbool.h>

/* ---- the title ------------------------------------------------------------------------------- */

/* Passwords are hidden in the command line that ps(1) shows to other users. */

/*
 * Puts a copy in the place of each word that is a URL with a password in it, up to `--`, and takes
 * the password out of the original, which is what others see. The copies last as long as the
 * process. False when memory is exhausted.
 */
bool lk_title_hide_passwords(char **argv);

/* ---- the note of a command ------------------------------------------------------------------- */

/* The note of a request whose user gave none: the command that it is for (R19). */

enum { LK_COMMAND_NOTE_BYTES_MAX = 60 };

/*
 * Writes the words of a command (ended by NULL), separated by blanks, and cut at a character.
 * Control characters become blanks, and passwords in URLs are left out. What is no UTF-8 becomes
 * '?'.
 */
void lk_command_note(char *const *words, char ret_note[LK_COMMAND_NOTE_BYTES_MAX + 1]);

#endif
